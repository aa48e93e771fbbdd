"""Job logs as a flow: every log of a source to one canonical table, and what it says of its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import BaseModel, ConfigDict, Field

from schemas.errors import SourceError
from schemas.job_records import JobLogRecord, JobsManifest
from tasks.artifacts import findings_table, jobs_table, output_links
from tasks.joblog.discover import LogFile, discover_logs
from tasks.joblog.read import MOST_BAD_SHARE, LogOptions
from tasks.jobs import JobsListener, JobWork, characterise_jobs, publish_jobs, read_job_log, table_path
from tasks.outputs.jobs import begin_jobs
from tasks.progress import Reading, Silent
from tasks.series.clock import parse_zone
from tasks.storage.listing import absolute, kind_of
from tasks.storage.publish import local_folder
from tasks.storage.units import UnitStore

# What may be anything, unless its name is that of a job log.
NO_CONTENT = frozenset({"empty-file", "lfs-pointer", "html-page"})
LOGS_AT_ONCE = 2  # reading a log keeps a core and half a gigabyte busy


class JobsSettings(BaseModel):
    """Which logs are read, how, and where results go.

    `format` and `timezone` are for logs that do not tell; `gpus` has the GPUs of a cluster by its
    name. With `telemetry`, the folder of a finished run, the logs are held against its utilisation.
    `likely` leaves out files that are not named like a job log.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    out: str
    clusters: tuple[str, ...] = ()
    format: str | None = None
    timezone: str | None = None
    gpus: dict[str, int] = Field(default_factory=dict)
    telemetry: str | None = None
    max_bad_share: float = Field(default=MOST_BAD_SHARE, ge=0, le=1)
    force: bool = False
    likely: bool = False


@dataclass(frozen=True)
class JobsResult:
    """The output folder and its manifest."""

    out: str
    manifest: JobsManifest

    @property
    def failed(self) -> tuple[JobLogRecord, ...]:
        """The logs that were judged failed."""
        return tuple(record for record in self.manifest.logs if record.verdict == "failed")


@flow(
    name="jobs",
    flow_run_name="jobs of {settings.source}",
    task_runner=ThreadPoolTaskRunner(max_workers=LOGS_AT_ONCE),  # type: ignore[arg-type]
    persist_result=False,
)
def jobs(settings: JobsSettings, listener: JobsListener | None = None) -> JobsResult:
    """Read all job logs of `settings.source` and publish tables and analyses below `settings.out`/jobs.

    Raises:
        SourceError: there is no job log.
        UsageError: the settings are wrong, or the output cannot be written.
    """
    started = datetime.now(UTC)
    if settings.timezone is not None:
        parse_zone(settings.timezone)
    hearer = listener or Silent()
    source, out = absolute(settings.source), str(local_folder(settings.out) or settings.out)
    found = discover_logs(source, settings.clusters, likely=settings.likely)
    store = UnitStore(f"{out}/.state")
    if settings.force:
        store.discard("joblog/")
        store.discard("characterised/")
    root = source.rpartition("/")[0] if kind_of(source) == "file" else source
    options = LogOptions(settings.format, settings.timezone, settings.max_bad_share)
    work = JobWork(root, out, options, settings.gpus, settings.telemetry or out, store, hearer)
    known = {log.cluster: work.known(log) for log in found}
    unknown = [log for log in found if known[log.cluster] is None]
    stored = sum(log.file.size for log in found)
    hearer.found(Reading(settings.source, len(found), stored, sum(log.file.size for log in unknown), 0))
    if unknown:
        begin_jobs(out, [table_path(log) for log in found])
    records, skipped = _read(found, known, work, named=source != root)
    if not records:
        reasons = " ".join(f"{name}: {why}" for name, why in list(skipped.items())[:3])
        raise SourceError(f"{settings.source} holds no job log. {reasons}", hint="Known kinds: see --format.")
    logs = {log.cluster: log for log in found}
    # One after the other: each holds the jobs of a cluster and the minutes of its period.
    places = {
        record.cluster: characterise_jobs(logs[record.cluster], record, work)
        for record in records
        if record.table is not None and record.jobs
    }
    findings_table([finding for record in records for finding in record.findings])
    jobs_table(records)
    told = settings.model_dump(
        mode="json", include={"clusters", "format", "timezone", "gpus", "max_bad_share"}
    )
    manifest = publish_jobs(work, records, places, skipped, told, started)
    output_links(out)
    return JobsResult(out, manifest)


def _read(
    found: list[LogFile], known: dict[str, JobLogRecord | None], work: JobWork, *, named: bool
) -> tuple[list[JobLogRecord], dict[str, str]]:
    """The records of all logs, and what is none with the reason; a file that was `named` is taken for one."""
    running = {log.cluster: read_job_log.submit(log, work) for log in found if known[log.cluster] is None}
    records: list[JobLogRecord] = []
    skipped: dict[str, str] = {}
    for log in found:
        record = known[log.cluster] or running[log.cluster].result()
        rule = record.findings[0].rule if record.verdict == "failed" and not record.format else ""
        strange = rule == "not-a-job-log" or (rule in NO_CONTENT and not log.likely)
        if strange and not named:
            skipped[log.file.url.removeprefix(f"{work.source}/")] = record.findings[0].message
        else:
            records.append(record)
            work.listener.logged(record)
    return records, skipped
