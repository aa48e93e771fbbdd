"""The main job as a flow: every series of a source to exact summaries and validated schemas."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from prefect import flow
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.cluster import open_client
from flows.settings import RunSettings
from schemas.errors import AcmetraceError, IncompleteRun, UsageError
from schemas.manifest import RunManifest
from schemas.series import SeriesRecord
from tasks.artifacts import ProgressArtifact, findings_table, output_links, results_table
from tasks.outputs.finished import read_run
from tasks.progress import Listener, Several, Silent
from tasks.publish import publish
from tasks.scan import DaskExecutor
from tasks.series.summary import SeriesSummary
from tasks.storage.listing import fixed
from tasks.storage.units import UnitStore
from tasks.summarize import (
    SeriesGroup,
    Work,
    discover_groups,
    load_summaries,
    place_of,
    reading_of,
    summarize_group,
)

GROUPS_AT_ONCE = 3  # enough to read heads and merge while blocks of another series are scanned


@dataclass(frozen=True)
class RunResult:
    """What a run gave: the records of all series and the manifest of what was published."""

    out: str
    records: tuple[SeriesRecord, ...]
    manifest: RunManifest

    @property
    def failed(self) -> tuple[SeriesRecord, ...]:
        """The series that were judged failed."""
        return tuple(record for record in self.records if record.verdict == "failed")


def state_of(out: str) -> UnitStore:
    """Where finished units of work of the runs into `out` are kept."""
    return UnitStore(f"{out.rstrip('/')}/.state")


@flow(
    name="summarize",
    flow_run_name="summarize {settings.source}",
    task_runner=ThreadPoolTaskRunner(max_workers=GROUPS_AT_ONCE),  # type: ignore[arg-type]
    validate_parameters=True,
    persist_result=False,
)
def summarize(
    settings: RunSettings, mode: Literal["publish", "judge"] = "publish", listener: Listener | None = None
) -> RunResult:
    """Find, scan, judge and summarise all series of `settings.source`; publish them to `settings.out`.

    With mode "judge" nothing is published but the records, and never over the results of a run.

    Raises:
        SourceError, UsageError: the source or the settings are wrong.
    """
    started = datetime.now(UTC)
    store = state_of(settings.out)
    if mode == "judge":
        _refuse_results(settings.out)
    if settings.force:
        store.discard("")
    artifact = ProgressArtifact()
    hearers = Several([artifact, listener or Silent()])
    source = fixed(settings.source)
    groups = discover_groups(source, settings.clusters, settings.metrics, store)
    artifact.start()
    with open_client(settings.scheduler, settings.workers) as client:
        executor = DaskExecutor(client)
        threads = max(sum(client.nthreads().values()), 1)  # type: ignore[no-untyped-call]
        work = Work(settings.scan_options(threads), executor, store, hearers, judge_only=mode == "judge")
        try:
            summaries = _all_summaries(source, groups, work, force=settings.force)
        except BaseException:
            # Also an interrupt: without this the task runner would wait for all series to be read.
            executor.stop()
            raise
    artifact.finish()
    records = tuple(summary.record for summary in summaries)
    findings_table([finding for record in records for finding in record.findings])
    judging = mode == "judge"
    if not judging:
        results_table(records)
    manifest = publish(
        settings.out,
        summaries,
        groups,
        source,
        settings.recorded(),
        started,
        records_only=judging,
        factors=settings.factors,
    )
    output_links(settings.out)
    return RunResult(settings.out, records, manifest)


def _refuse_results(out: str) -> None:
    with contextlib.suppress(IncompleteRun):
        if any(output.path.startswith("summaries/") for output in read_run(out).outputs):
            raise UsageError(
                f"{out} holds the results of a run.", hint="Give another folder to validate into."
            )


def _all_summaries(source: str, groups: list[SeriesGroup], work: Work, *, force: bool) -> list[SeriesSummary]:
    """The summaries of all groups; one that cannot be read does not stop the others."""
    keyed = [(group, group.key(work.options, judge_only=work.judge_only)) for group in groups]
    unknown = [group for group, key in keyed if force or work.store.get(place_of(key)) is None]
    work.listener.found(reading_of(source, groups, unknown, work))
    running = {}
    for group, key in keyed:
        known = group not in unknown
        # Prefect's cached reference may outlive the summary it points to; then it is made again.
        future = summarize_group.with_options(refresh_cache=not known).submit(key, group, work)
        running[future] = group
    summaries: list[SeriesSummary] = []
    for future in as_completed(list(running)):
        try:
            found = load_summaries(future.result().place, work.store)
        except AcmetraceError:
            # Retries did not help. What the others of the group need is kept, so this reads little.
            found = work.summarise(running[future])
        for summary in found:
            work.listener.judged(summary.record)
        summaries += found
    return sorted(summaries, key=lambda summary: (summary.record.cluster, summary.record.series))
