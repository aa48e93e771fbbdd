"""The folder `jobs/` of a run: replaced as a whole, its manifest last.

Job tables are written while logs are read, the rest when all is known. Whoever is
killed in between leaves a folder without manifest, and a journal by which the next
publication cleans up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress

from schemas.errors import IncompleteRun, UsageError
from schemas.job_records import JOBS_MANIFEST_NAME, JobsManifest
from schemas.manifest import OutputFile
from tasks.outputs.finished import read_manifest
from tasks.storage.names import check_relative
from tasks.storage.publish import read_bytes, remove, remove_stale_temporaries, write_bytes

JOURNAL_NAME = "jobs/unfinished.json"


def read_jobs(out: str) -> JobsManifest:
    """The manifest of the finished job tables in `out`.

    Raises:
        IncompleteRun: there is none, or it is not one of ours.
    """
    return read_manifest(out, JOBS_MANIFEST_NAME, JobsManifest)


def begin_jobs(out: str, tables: Iterable[str]) -> set[str]:
    """Mark the folder as unfinished before tables are written; the files that may be there from before.

    Raises:
        UsageError, ReadFailed: `out` cannot be written.
    """
    earlier = _earlier(out)
    write_bytes(out, JOURNAL_NAME, json.dumps({"files": sorted(earlier | set(tables))}).encode())
    remove(out, JOBS_MANIFEST_NAME)
    return earlier | set(tables)


def finish_jobs(
    out: str, files: Mapping[str, bytes], tables: Iterable[OutputFile], earlier: set[str]
) -> tuple[OutputFile, ...]:
    """Write the other files, and remove what is no longer made; the descriptions of all, by path.

    Raises:
        UsageError, ReadFailed: `out` cannot be written.
    """
    written = [*tables, *(write_bytes(out, path, data) for path, data in sorted(files.items()))]
    for path in sorted(earlier - {output.path for output in written}):
        remove(out, path)
    remove_stale_temporaries(out)
    return tuple(sorted(written, key=lambda output: output.path))


def seal_jobs(out: str, manifest: JobsManifest) -> None:
    """Write the manifest: now the folder is complete."""
    write_bytes(out, JOBS_MANIFEST_NAME, manifest.model_dump_json(indent=2).encode() + b"\n")
    remove(out, JOURNAL_NAME)


def _earlier(out: str) -> set[str]:
    names: set[str] = set()
    with suppress(IncompleteRun):
        names.update(output.path for output in read_jobs(out).outputs)
    with suppress(ValueError, AttributeError, TypeError, UsageError):
        journal = json.loads(read_bytes(out, JOURNAL_NAME) or b"{}")
        names.update(check_relative(str(name)) for name in journal.get("files", ()))
    return {name for name in names if name.startswith("jobs/")} - {JOBS_MANIFEST_NAME, JOURNAL_NAME}
