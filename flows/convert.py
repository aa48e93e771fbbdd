"""Series to Parquet, as a flow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from prefect import flow
from pydantic import BaseModel, ConfigDict, Field

from flows.cluster import default_workers
from flows.rewriting import reading_of_files, refuse_itself
from schemas.convert import CONVERT_NAME, ConvertedSeries, ConvertManifest
from schemas.errors import AcmetraceError, UsageError
from schemas.version import code_version
from tasks.columnar.convert import failed
from tasks.convert import Conversion, ConvertListener, convert_one
from tasks.progress import Silent
from tasks.series.clock import parse_zone
from tasks.series.discover import SeriesFiles, discover
from tasks.storage.listing import absolute
from tasks.storage.publish import local_folder, remove_stale_temporaries, write_bytes
from tasks.storage.reference import is_local
from tasks.storage.units import UnitStore


class ConvertSettings(BaseModel):
    """What is converted, and where to. Times without a zone are read in `timezone`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    dest: str
    clusters: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    timezone: str | None = None
    workers: int | None = Field(default=None, ge=1)
    force: bool = False


@dataclass(frozen=True)
class ConvertResult:
    """The destination and the manifest that was written to it."""

    dest: str
    manifest: ConvertManifest

    @property
    def failed(self) -> tuple[ConvertedSeries, ...]:
        """The series that were not converted."""
        return tuple(record for record in self.manifest.series if record.status == "failed")


@flow(name="convert", flow_run_name="convert {settings.source}", persist_result=False)
def convert(settings: ConvertSettings, listener: ConvertListener | None = None) -> ConvertResult:
    """Convert all series of `settings.source` to Parquet below `settings.dest`; the manifest comes last.

    Raises:
        SourceError, UsageError: the source, the destination or the settings are wrong.
    """
    started = datetime.now(UTC)
    if settings.timezone is not None:
        parse_zone(settings.timezone)
    hearer = listener or Silent()
    source = absolute(settings.source)
    dest = str(local_folder(settings.dest) or settings.dest)
    found = discover(source, settings.clusters, settings.metrics)
    refuse_itself(dest, found)
    store = UnitStore(f"{dest}/.state")
    if settings.force:
        store.discard("")
    workers = settings.workers or default_workers()
    conversion = Conversion(source, dest, settings.timezone, workers, store, hearer)
    known = {series.label: conversion.known(series) for series in found}
    unknown = [series for series in found if known[series.label] is None]
    shown = settings.source if is_local(settings.source) else source
    hearer.found(reading_of_files(shown, found, unknown))
    records = []
    for series in found:
        record = known[series.label] or _converted(series, conversion)
        records.append(record)
        hearer.converted(record)
    remove_stale_temporaries(dest)
    manifest = ConvertManifest(
        code_version=code_version(),
        source=shown,
        started=started,
        finished=datetime.now(UTC),
        series=tuple(records),
    )
    write_bytes(dest, CONVERT_NAME, manifest.model_dump_json(indent=2).encode() + b"\n")
    return ConvertResult(dest, manifest)


def _converted(series: SeriesFiles, conversion: Conversion) -> ConvertedSeries:
    """One series, which stops no other."""
    try:
        return convert_one(series, conversion)
    except UsageError:
        raise
    except AcmetraceError as error:
        return failed(series, error)
