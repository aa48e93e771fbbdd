"""The Prefect task that converts one series to Parquet, and the record of what is done."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from prefect import task
from prefect.cache_policies import NO_CACHE
from pydantic import ValidationError

from schemas.convert import ConvertedSeries
from schemas.errors import NotASeries
from schemas.metrics import CATALOGUE, inferred
from tasks.clean import transient
from tasks.columnar import is_parquet
from tasks.columnar.convert import convert_series, copy_series, failed
from tasks.longform import is_ipmi
from tasks.progress import Reading
from tasks.series.discover import SeriesFiles
from tasks.series.units import code_digest
from tasks.series.wide import heads_of
from tasks.storage.names import safe_name
from tasks.storage.publish import list_files
from tasks.storage.units import UnitStore, unit_key


@runtime_checkable
class ConvertListener(Protocol):
    """Is told of the work on series."""

    def found(self, reading: Reading) -> None:
        """What will be read; the first event."""

    def planned(self, label: str, number: int, size: int) -> None:
        """Work on `label` begins; `size` bytes are to be told of."""

    def read(self, label: str, size: int) -> None:
        """`size` bytes of it are done."""

    def converted(self, record: ConvertedSeries) -> None:
        """A series is done."""


@dataclass(frozen=True)
class Conversion:
    """What all series of a conversion share."""

    source: str
    dest: str
    timezone: str | None
    workers: int
    store: UnitStore
    listener: ConvertListener

    def place(self, series: SeriesFiles) -> str:
        """Where the store keeps the record of a series; of these files, converted by this code."""
        files = [[file.url, file.size, file.version] for file in series.files]
        return f"converted/{unit_key(files=files, timezone=self.timezone, code=code_digest(whole=True))}"

    def known(self, series: SeriesFiles) -> ConvertedSeries | None:
        """The record of an earlier run whose outputs are still there."""
        data = self.store.get(self.place(series))
        try:
            record = None if data is None else ConvertedSeries.model_validate_json(data)
        except ValidationError:
            return None
        there = set(list_files(self.dest))
        return record if record and all(output.path in there for output in record.outputs) else None

    def convert(self, series: SeriesFiles) -> ConvertedSeries:
        """Convert a series; one that cannot be read gives a record that says why.

        Raises:
            FileChanged, ReadFailed: trying again may help.
            UsageError: the destination cannot be written.
        """
        label, size = series.label, sum(file.size for file in series.files)
        on_bytes = functools.partial(self.listener.read, label)
        try:
            if any(is_parquet(file) for file in series.files):
                raise NotASeries(
                    f"{series.files[0].url} is Parquet already.",
                    hint="Summarize reads it as it is.",
                    rule="not-a-series",
                )
            heads = heads_of(series, self.store)
            self.listener.planned(label, 1, size)
            if all(is_ipmi(head) for head in heads):
                record = copy_series(series, self.dest, series.folder_below(self.source), on_bytes)
            else:
                relative = f"{series.folder_below(self.source)}/{safe_name(series.name)}.parquet".lstrip("/")
                record = convert_series(
                    series,
                    heads,
                    CATALOGUE.get(series.name) or inferred(series.name),
                    self.dest,
                    relative,
                    timezone=self.timezone,
                    workers=self.workers,
                    on_bytes=on_bytes,
                )
        except NotASeries as error:
            record = failed(series, error)
        inputs = tuple(
            file.model_copy(update={"path": file.path.removeprefix(f"{self.source}/")})
            for file in record.inputs
        )
        record = record.model_copy(update={"inputs": inputs})
        if record.status != "failed":
            self.store.put(self.place(series), record.model_dump_json().encode())
        return record


@task(
    name="convert",
    task_run_name="convert {series.label}",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=transient,
)
def convert_one(series: SeriesFiles, conversion: Conversion) -> ConvertedSeries:
    """Convert one series.

    Raises:
        FileChanged, ReadFailed: even the last try failed.
        UsageError: the destination cannot be written.
    """
    return conversion.convert(series)
