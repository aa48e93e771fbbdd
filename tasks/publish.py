"""The Prefect task that writes the outputs of a run, the manifest last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote

from schemas.manifest import InputFile, RunManifest
from tasks.hub.plan import read_dataset
from tasks.outputs.run import publish_run
from tasks.series.summary import SeriesSummary
from tasks.storage.source import is_local, local_path
from tasks.summarize import SeriesGroup
from tasks.telemetry.tables import Factors


@task(name="publish", task_run_name="publish {out}", cache_policy=NO_CACHE, persist_result=False)
def _publish(
    out: str,
    content: Any,
    source: str,
    parameters: dict[str, Any],
    started: datetime,
    records_only: bool,
    factors: Factors,
) -> RunManifest:
    root = _root_of(source)
    summaries: Sequence[SeriesSummary]
    groups: Sequence[SeriesGroup]
    summaries, groups = content  # quoted on the way in, so that Prefect does not search it for futures
    digests = {file: text for one in summaries for file, text in one.record.observed.digests.items()}
    inputs = {
        (series.cluster, series.name): tuple(
            InputFile(
                path=_below(root, file.url),
                size=file.size,
                version=file.version,
                digest=digests.get(file.url),
            )
            for file in series.files
        )
        for group in groups
        for series in group.members
    }
    return publish_run(
        out,
        [_portable(summary, root) for summary in summaries],
        inputs,
        source=source,
        dataset=_dataset_of(source, root, chain.from_iterable(inputs.values())),
        parameters=parameters,
        started=started,
        records_only=records_only,
        factors=factors,
    )


def _dataset_of(source: str, root: str, inputs: Iterable[InputFile]) -> str:
    """What `dataset.json` says of a folder that was pulled, or of the nearest one around it.

    Nothing where a file that was read is not one of its files by name and size: then the folder holds
    more than the dataset. A source of the hub names its commit itself.
    """
    if not is_local(source):
        return ""
    folder = Path(root)
    for place in (folder, *folder.parents):
        if (pulled := read_dataset(place)) is not None:
            known = {(place / file.path, file.size) for file in pulled.files}
            same = all((folder / file.path, file.size) in known for file in inputs)
            return f"{pulled.repo}@{pulled.commit}" if same else ""
    return ""


def _root_of(source: str) -> str:
    """The folder that published paths are relative to: the source, or the folder of a single file."""
    if not is_local(source):
        return source.rstrip("/")
    path = local_path(source).absolute()
    return str(path.parent if path.is_file() else path)


def _below(root: str, text: str) -> str:
    return text.replace(f"{root}/", "")


def _portable(summary: SeriesSummary, root: str) -> SeriesSummary:
    """The same with paths relative to the source: where it lies on this machine is nobody's business."""
    record = summary.record
    findings = tuple(
        finding.model_copy(
            update={
                "message": _below(root, finding.message),
                "examples": tuple(
                    example.model_copy(update={"file": _below(root, example.file)})
                    for example in finding.examples
                ),
            }
        )
        for finding in record.findings
    )
    files = tuple(_below(root, file) for file in record.observed.files)
    digests = {_below(root, file): text for file, text in record.observed.digests.items()}
    observed = record.observed.model_copy(update={"files": files, "digests": digests})
    return replace(summary, record=record.model_copy(update={"findings": findings, "observed": observed}))


def publish(
    out: str,
    summaries: Sequence[SeriesSummary],
    groups: Sequence[SeriesGroup],
    source: str,
    parameters: dict[str, Any],
    started: datetime,
    *,
    records_only: bool = False,
    factors: Factors = Factors(),
) -> RunManifest:
    """Write all outputs of a run to `out`, or its records only, with the files of `groups` as its inputs.

    Raises:
        UsageError, ReadFailed: as `publish_run`.
    """
    return _publish(out, quote((summaries, groups)), source, parameters, started, records_only, factors)
