"""Everything there is, in order: the flow behind `acmetrace run`."""

from __future__ import annotations

from dataclasses import dataclass

from prefect import flow

from flows.jobs import JobsResult, JobsSettings, jobs
from flows.settings import RunSettings
from flows.summarize import RunResult, summarize
from schemas.errors import SourceError
from tasks.joblog.discover import discover_logs
from tasks.jobs import JobsListener
from tasks.progress import Listener


@dataclass(frozen=True)
class PipelineResult:
    """What became of the telemetry and of the job logs; None where the source has none."""

    out: str
    telemetry: RunResult | None
    jobs: JobsResult | None

    @property
    def failed(self) -> bool:
        """Whether an input was judged failed."""
        return any(part is not None and bool(part.failed) for part in (self.telemetry, self.jobs))


@flow(name="pipeline", flow_run_name="pipeline {settings.source}", persist_result=False)
def pipeline(settings: RunSettings, listener: Listener | None = None) -> PipelineResult:
    """Summarise all series of the source, read its job logs, and hold these against the telemetry.

    With named metrics only these series are summarised. Job logs are read whole, whatever the period.

    Raises:
        SourceError, UsageError: the source or the settings are wrong.
    """
    logs = [] if settings.metrics else discover_logs(settings.source, settings.clusters, likely=True)
    try:
        telemetry = summarize(settings, listener=listener)
    except SourceError:
        if not logs:
            raise
        telemetry = None
    if not logs:
        return PipelineResult(settings.out, telemetry, None)
    told = JobsSettings(
        source=settings.source,
        out=settings.out,
        clusters=settings.clusters,
        force=settings.force,
        likely=True,
    )
    hearer = listener if isinstance(listener, JobsListener) else None
    return PipelineResult(settings.out, telemetry, jobs(told, hearer))
