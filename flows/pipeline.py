"""Everything there is, in order: the flow behind `acmetrace run`."""

from __future__ import annotations

from prefect import flow

from flows.settings import RunSettings
from flows.summarize import RunResult, summarize
from tasks.progress import Listener


@flow(name="pipeline", flow_run_name="pipeline {settings.source}", persist_result=False)
def pipeline(settings: RunSettings, listener: Listener | None = None) -> RunResult:
    """Summarise all series of the source and publish the results.

    Raises:
        SourceError, UsageError: the source or the settings are wrong.
    """
    return summarize(settings, listener=listener)
