"""Raw exports to the released form, as a flow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from prefect import flow
from pydantic import BaseModel, ConfigDict, Field

from flows.cluster import default_workers
from flows.rewriting import reading_of_files, refuse_itself
from schemas.cleaning import CLEAN_NAME, CleanedSeries, CleanManifest
from schemas.errors import AcmetraceError, UsageError
from schemas.metrics import CATALOGUE, load_catalogue
from schemas.version import code_version
from tasks.clean import Cleaning, CleanListener, clean_one
from tasks.cleaning.output import failed
from tasks.cleaning.rules import RELEASE_ZONE
from tasks.progress import Silent
from tasks.series.clock import parse_zone
from tasks.series.discover import SeriesFiles, discover
from tasks.storage.listing import absolute
from tasks.storage.publish import local_folder, remove_stale_temporaries, write_bytes
from tasks.storage.reference import is_local
from tasks.storage.units import UnitStore


class CleanSettings(BaseModel):
    """What is cleaned, and where to. Times are written in `timezone`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    dest: str
    clusters: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    timezone: str = RELEASE_ZONE
    catalogue: str | None = None
    workers: int | None = Field(default=None, ge=1)
    force: bool = False


@dataclass(frozen=True)
class CleanResult:
    """The destination and the manifest that was written to it."""

    dest: str
    manifest: CleanManifest

    @property
    def failed(self) -> tuple[CleanedSeries, ...]:
        """The series that were not cleaned for what is wrong with them."""
        return tuple(record for record in self.manifest.series if record.status == "failed")


@flow(name="clean", flow_run_name="clean {settings.source}", persist_result=False)
def clean(settings: CleanSettings, listener: CleanListener | None = None) -> CleanResult:
    """Clean all series of `settings.source` to `settings.dest`; the manifest comes last.

    Raises:
        SourceError, UsageError: the source, the destination or the settings are wrong.
    """
    started = datetime.now(UTC)
    parse_zone(settings.timezone)
    hearer = listener or Silent()
    source = absolute(settings.source)
    dest = str(local_folder(settings.dest) or settings.dest)
    found = discover(source, settings.clusters, settings.metrics)
    refuse_itself(dest, found)
    store = UnitStore(f"{dest}/.state")
    if settings.force:
        store.discard("")
    catalogue = load_catalogue(settings.catalogue) if settings.catalogue else CATALOGUE
    workers = settings.workers or default_workers()
    cleaning = Cleaning(source, dest, catalogue, settings.timezone, workers, store, hearer)
    known = {series.label: cleaning.known(series) for series in found}
    unknown = [series for series in found if known[series.label] is None]
    shown = settings.source if is_local(settings.source) else source
    hearer.found(reading_of_files(shown, found, unknown))
    records = []
    for series in found:
        record = known[series.label] or _cleaned(series, cleaning)
        records.append(record)
        hearer.cleaned(record)
    remove_stale_temporaries(dest)
    manifest = CleanManifest(
        code_version=code_version(),
        source=shown,
        started=started,
        finished=datetime.now(UTC),
        series=tuple(records),
    )
    write_bytes(dest, CLEAN_NAME, manifest.model_dump_json(indent=2).encode() + b"\n")
    return CleanResult(dest, manifest)


def _cleaned(series: SeriesFiles, cleaning: Cleaning) -> CleanedSeries:
    """One series, which stops no other."""
    try:
        return clean_one(series, cleaning)
    except UsageError:
        raise
    except AcmetraceError as error:
        return failed(series, error)
