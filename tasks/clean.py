"""The Prefect task that cleans one raw series, and the record of what is done."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from prefect import task
from prefect.cache_policies import NO_CACHE
from pydantic import ValidationError

from schemas.cleaning import CleanedSeries
from schemas.errors import AcmetraceError, NotASeries
from schemas.metrics import Catalogue, inferred
from tasks.cleaning.output import clean_series, failed, inputs_of
from tasks.cleaning.rules import Rule, rule_of
from tasks.longform import is_ipmi
from tasks.progress import Reading
from tasks.series.discover import SeriesFiles
from tasks.series.units import code_digest
from tasks.series.wide import heads_of
from tasks.storage.names import safe_name
from tasks.storage.publish import list_files
from tasks.storage.units import UnitStore, unit_key


@runtime_checkable
class CleanListener(Protocol):
    """Is told of the work on raw series."""

    def found(self, reading: Reading) -> None:
        """What will be read; the first event."""

    def planned(self, label: str, number: int, size: int) -> None:
        """Work on `label` begins; `size` bytes are to be told of."""

    def read(self, label: str, size: int) -> None:
        """`size` bytes of it are done."""

    def cleaned(self, record: CleanedSeries) -> None:
        """A series is done."""


@dataclass(frozen=True)
class Cleaning:
    """What all series of a cleaning share."""

    source: str
    dest: str
    catalogue: Catalogue
    timezone: str
    workers: int
    store: UnitStore
    listener: CleanListener

    def rule(self, series: SeriesFiles) -> Rule:
        """The rule for a series, by its name."""
        return rule_of(self.catalogue.get(series.name) or inferred(series.name), self.timezone)

    def relative(self, series: SeriesFiles) -> str:
        """Where a cleaned series stands below the destination: as its files stand below the source."""
        return f"{series.folder_below(self.source)}/{safe_name(series.name)}.csv".lstrip("/")

    def place(self, series: SeriesFiles) -> str:
        """Where the store keeps the record of a series; of these files, cleaned by this rule and code."""
        rule = self.rule(series)
        key = unit_key(
            files=[[f.url, f.size, f.version] for f in series.files],
            rule=[getattr(rule, name) for name in rule.__dataclass_fields__],
            code=code_digest(whole=True),
        )
        return f"cleaned/{key}"

    def known(self, series: SeriesFiles) -> CleanedSeries | None:
        """The record of an earlier run whose output is still there."""
        data = self.store.get(self.place(series))
        try:
            record = None if data is None else CleanedSeries.model_validate_json(data)
        except ValidationError:
            return None
        there = record and record.output and record.output.path in list_files(self.dest)
        return record if there else None

    def clean(self, series: SeriesFiles) -> CleanedSeries:
        """Clean a series; one that cannot be read gives a record that says why."""
        return self._portable(self._clean(series))

    def _portable(self, record: CleanedSeries) -> CleanedSeries:
        """The same with inputs named relative to the source."""
        inputs = tuple(
            file.model_copy(update={"path": file.path.removeprefix(f"{self.source}/")})
            for file in record.inputs
        )
        return record.model_copy(update={"inputs": inputs})

    def _clean(self, series: SeriesFiles) -> CleanedSeries:
        label = series.label
        try:
            heads = heads_of(series, self.store)
            if all(is_ipmi(head) for head in heads):
                return CleanedSeries(
                    cluster=series.cluster, series=series.name, status="left out", inputs=inputs_of(series)
                )
            self.listener.planned(label, 1, 2 * sum(file.size for file in series.files))
            record = clean_series(
                series,
                heads,
                self.rule(series),
                self.dest,
                self.relative(series),
                workers=self.workers,
                on_bytes=functools.partial(self.listener.read, label),
            )
        except AcmetraceError as error:
            if error.transient or not isinstance(error, NotASeries):
                raise
            return failed(series, error)
        if record.status == "cleaned":
            self.store.put(self.place(series), record.model_dump_json().encode())
        return record


def transient(task_: Any, run: Any, state: Any) -> bool:
    """Whether a failed task is worth another try, for Prefect."""
    try:
        state.result()
    except AcmetraceError as error:
        return error.transient
    except Exception:
        return False
    return False


@task(
    name="clean",
    task_run_name="clean {series.label}",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=transient,
)
def clean_one(series: SeriesFiles, cleaning: Cleaning) -> CleanedSeries:
    """Clean one series.

    Raises:
        FileChanged, ReadFailed: even the last try failed.
        UsageError: the destination cannot be written.
    """
    return cleaning.clean(series)
