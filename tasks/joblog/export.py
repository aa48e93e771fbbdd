"""The jobs of a finished run in another form: which table goes where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.errors import UsageError
from schemas.job_records import JobLogRecord
from schemas.manifest import OutputFile
from tasks.joblog.forms import destination, export_csv, export_helios, export_parquet
from tasks.joblog.swf import export_swf
from tasks.outputs.jobs import read_jobs
from tasks.storage.names import safe_name

_SUFFIX = {"parquet": ".parquet", "csv": ".csv", "swf": ".swf", "helios": ".csv"}


@dataclass(frozen=True)
class ExportReport:
    """What was written of a cluster; `note` says what is not in it."""

    cluster: str
    path: str
    jobs: int
    note: str = ""

    def as_json(self) -> dict[str, object]:
        """The report for another program."""
        return {"cluster": self.cluster, "path": self.path, "jobs": self.jobs, "note": self.note}


def export_jobs(
    out: str, form: str, to: str, clusters: tuple[str, ...] = (), processors: str = "gpus"
) -> list[ExportReport]:
    """Write the jobs of the run in `out` as `form` (parquet, csv, swf, helios) to the file `to`.

    Of several clusters each gets a file in the folder `to`.

    Raises:
        IncompleteRun: no job logs were finished in `out`.
        UsageError: a cluster is not there, or the file cannot be written.
    """
    records = [record for record in read_jobs(out).logs if record.table is not None]
    there = {record.cluster for record in records}
    missing = sorted(set(clusters) - there)
    if missing or not records:
        raise UsageError(
            f"{out} has no jobs of {', '.join(missing) or 'any cluster'}.",
            hint=f"It has {', '.join(sorted(there)) or 'none'}.",
        )
    chosen = [record for record in records if not clusters or record.cluster in clusters]
    single = len(chosen) == 1 and not to.endswith("/")
    reports = []
    for record in chosen:
        folder, name = destination(to)
        if not single:
            folder, name = f"{folder}/{name}".rstrip("/"), f"{safe_name(record.cluster)}{_SUFFIX[form]}"
        reports.append(_export(record, out, form, folder, name, processors))
    return reports


def _export(
    record: JobLogRecord, out: str, form: str, folder: str, name: str, processors: str
) -> ExportReport:
    assert record.table is not None
    table, zone = f"{out}/{record.table.path}", record.timezone or "UTC"
    if form == "swf":
        report = export_swf(table, folder, name, cluster=record.cluster, processors=processors, timezone=zone)
        left = {
            "jobs without GPU": report.without_gpus,
            "jobs without a time of submission": report.without_submit,
        }
        note = ", ".join(f"{count:,} {what}" for what, count in left.items() if count)
        return ExportReport(
            record.cluster, f"{folder}/{name}", report.jobs, f"{note} are left out" if note else ""
        )
    writers: dict[str, Callable[[], OutputFile]] = {
        "parquet": lambda: export_parquet(table, folder, name),
        "csv": lambda: export_csv(table, folder, name),
        "helios": lambda: export_helios(table, folder, name, zone),
    }
    writers[form]()
    return ExportReport(record.cluster, f"{folder}/{name}", record.jobs)
