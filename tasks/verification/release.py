"""Whether a run has read all of the release of a cluster, or a part of it."""

from __future__ import annotations

from schemas.published.clusters import PUBLISHED_CLUSTERS
from schemas.series import Observed
from tasks.outputs.results import Results

_WHOLE = 0.99  # of the released hours: rows are missing at the edges of some series


def hours_of(observed: Observed) -> float:
    """The hours from the first to the last row of a series."""
    if observed.first_time is None or observed.last_time is None:
        return 0.0
    return (observed.last_time - observed.first_time).total_seconds() / 3600


def part_of_release(results: Results, cluster: str, *, jobs: bool) -> str:
    """What the run has of the released job log, or telemetry; empty where it has all, or none is released."""
    known = PUBLISHED_CLUSTERS.get(cluster)
    if known is None:
        return ""
    if jobs:
        read = next(
            (log.jobs for log in (results.jobs.logs if results.jobs else ()) if log.cluster == cluster), 0
        )
        whole = known.log_jobs
        return (
            f"{cluster}: the run has {read:,} of the {whole:,} released jobs"
            if whole and read < whole
            else ""
        )
    records = [record for record in results.records if record.cluster == cluster]
    gpus = max((len(record.entities) for record in records), default=0)
    if known.telemetry_gpus and gpus < known.telemetry_gpus:
        return f"{cluster}: the run has {gpus:,} of the {known.telemetry_gpus:,} released GPUs"
    hours = max((hours_of(record.observed) for record in records), default=0.0)
    if known.telemetry_hours and hours < known.telemetry_hours * _WHOLE:
        return f"{cluster}: the run has {hours:,.0f} of about {known.telemetry_hours:,} released hours"
    return ""
