"""An output folder as a whole: written so that it is complete or visibly not.

Order of a publication: everything is built; a journal names every file that may
be there; the old manifest goes; files are written; files of older runs that are
no longer made go; the new manifest is written; the journal goes. Whoever is
killed in between leaves a folder without a manifest, and the next publication
cleans up after it. What the files hold is in the other modules of this folder.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError

from schemas.errors import IncompleteRun, UsageError
from schemas.manifest import MANIFEST_NAME, InputFile, PickleEntry, RunManifest, SeriesEntry
from schemas.series import SeriesRecord
from schemas.version import code_version, package_versions
from tasks.outputs.finished import read_run
from tasks.outputs.package import PACKAGE_NAME, data_package, record_schemas
from tasks.outputs.pickles import build_pickles
from tasks.outputs.tables import build_tables
from tasks.series.summary import SeriesSummary
from tasks.storage.names import check_relative, safe_name
from tasks.storage.publish import read_bytes, remove, remove_stale_temporaries, write_bytes
from tasks.telemetry.tables import Factors

SeriesKey = tuple[str, str]

JOURNAL_NAME = "unfinished.json"


def publish_run(
    out: str | Path,
    summaries: Iterable[SeriesSummary],
    inputs: Mapping[SeriesKey, tuple[InputFile, ...]],
    *,
    source: str,
    parameters: dict[str, Any],
    started: datetime,
    dataset: str = "",
    records_only: bool = False,
    factors: Factors = Factors(),
) -> RunManifest:
    """Write all outputs of the summaries to the folder or URL `out`, the manifest last; the manifest.

    `inputs` holds the files of each (cluster, series), and `dataset` is the manifest's. With
    `records_only` the validated schemas are all that is written. Nothing is touched before all
    outputs are built, so that a defect in them leaves an older run as it was.

    Raises:
        UsageError: a series occurs twice, a parameter cannot be kept as JSON, or `out` cannot be written.
        ReadFailed: a remote store failed.
    """
    ordered = sorted(summaries, key=lambda summary: _key(summary.record))
    _check_unique([_key(summary.record) for summary in ordered])
    kept_parameters = _as_json(parameters)
    pickles = [] if records_only else build_pickles(curve for summary in ordered for curve in summary.curves)
    entries = tuple(_entry(summary.record, inputs) for summary in ordered)
    files = _records(ordered, entries) if records_only else _files(ordered, entries, pickles, factors)

    earlier = _earlier_files(out)
    planned = {*files, PACKAGE_NAME}
    write_bytes(out, JOURNAL_NAME, _json({"files": sorted(earlier | planned)}))
    remove(out, MANIFEST_NAME)
    outputs = [write_bytes(out, path, data) for path, data in sorted(files.items())]
    outputs.append(write_bytes(out, PACKAGE_NAME, _json(data_package(outputs, source=source))))
    for path in sorted(earlier - planned):
        remove(out, path)
    remove_stale_temporaries(out)
    manifest = RunManifest(
        code_version=code_version(),
        packages=package_versions(),
        source=source,
        dataset=dataset,
        parameters=kept_parameters,
        started=started.astimezone(UTC),
        finished=datetime.now(UTC),
        series=entries,
        pickles=tuple(entry for entry, _ in pickles),
        outputs=tuple(sorted(outputs, key=lambda output: output.path)),
    )
    write_bytes(out, MANIFEST_NAME, _model(manifest))
    remove(out, JOURNAL_NAME)
    return manifest


def _files(
    summaries: Sequence[SeriesSummary],
    entries: Sequence[SeriesEntry],
    pickles: Sequence[tuple[PickleEntry, bytes | None]],
    factors: Factors,
) -> dict[str, bytes]:
    files = {f"util_pkl/{entry.name}.pkl": data for entry, data in pickles if data is not None}
    return files | build_tables(summaries, factors) | _records(summaries, entries)


def _records(summaries: Sequence[SeriesSummary], entries: Sequence[SeriesEntry]) -> dict[str, bytes]:
    files = {f"schemas/{name}": _json(schema) for name, schema in record_schemas().items()}
    for summary, entry in zip(summaries, entries, strict=True):
        files[entry.schema_path] = _model(summary.record)
    return files


def _entry(record: SeriesRecord, inputs: Mapping[SeriesKey, tuple[InputFile, ...]]) -> SeriesEntry:
    return SeriesEntry(
        cluster=record.cluster,
        series=record.series,
        verdict=record.verdict,
        inputs=inputs.get(_key(record), ()),
        schema_path=f"schemas/{safe_name(record.cluster)}/{safe_name(record.series)}.json",
    )


def _key(record: SeriesRecord) -> SeriesKey:
    return record.cluster, record.series


def _check_unique(keys: Sequence[SeriesKey]) -> None:
    for (cluster, series), count in Counter(keys).items():
        if count > 1:
            raise UsageError(
                f"The series {series} of {cluster} occurs more than once in the run.",
                hint="Give each cluster its own name, or leave one of the files out.",
            )


def _earlier_files(out: str | Path) -> set[str]:
    """What a finished run (manifest) and unfinished ones (journal) may have left in `out`.

    A manifest or journal that cannot be read names nothing; a name that leaves the folder is dropped.
    """
    names: set[str] = set()
    with suppress(IncompleteRun):
        names.update(output.path for output in read_run(out).outputs)
    with suppress(ValueError, AttributeError, TypeError, UsageError):
        journal = json.loads(read_bytes(out, JOURNAL_NAME) or b"{}")
        names.update(check_relative(str(name)) for name in journal.get("files", ()))
    return names - {MANIFEST_NAME, JOURNAL_NAME}


def _as_json(parameters: dict[str, Any]) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(TypeAdapter(dict[str, Any]).dump_json(parameters))
    except (PydanticSerializationError, ValueError) as error:
        raise UsageError(f"The parameters of the run cannot be kept in its manifest: {error}.") from error
    return kept


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"


def _model(document: BaseModel) -> bytes:
    return document.model_dump_json(indent=2).encode() + b"\n"
