"""The Prefect task that writes the outputs of a run, the manifest last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote

from schemas.manifest import InputFile, RunManifest
from tasks.outputs.run import publish_run
from tasks.series.summary import SeriesSummary
from tasks.summarize import SeriesGroup


@task(name="publish", task_run_name="publish {out}", cache_policy=NO_CACHE, persist_result=False)
def _publish(
    out: str,
    content: Any,
    source: str,
    parameters: dict[str, Any],
    started: datetime,
    records_only: bool,
) -> RunManifest:
    summaries: Sequence[SeriesSummary]
    groups: Sequence[SeriesGroup]
    summaries, groups = content  # quoted on the way in, so that Prefect does not search it for futures
    inputs = {
        (series.cluster, series.name): tuple(
            InputFile(path=file.url, size=file.size, version=file.version) for file in series.files
        )
        for group in groups
        for series in group.members
    }
    return publish_run(
        out,
        summaries,
        inputs,
        source=source,
        parameters=parameters,
        started=started,
        records_only=records_only,
    )


def publish(
    out: str,
    summaries: Sequence[SeriesSummary],
    groups: Sequence[SeriesGroup],
    source: str,
    parameters: dict[str, Any],
    started: datetime,
    *,
    records_only: bool = False,
) -> RunManifest:
    """Write all outputs of a run to `out`, or its records only, with the files of `groups` as its inputs.

    Raises:
        UsageError, ReadFailed: as `publish_run`.
    """
    return _publish(out, quote((summaries, groups)), source, parameters, started, records_only)
