"""What a user may ask of a scan, and the contract a series is judged by."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.metrics import CATALOGUE, EXPORT_ONLY, Catalogue, inferred
from schemas.series import SeriesContract, Thresholds


@dataclass(frozen=True)
class ScanOptions:
    """What a user may ask of a scan. Times are UTC ms, [since, until).

    Without `block_bytes` a block is as large as fits a file and `workers`. With
    `raw` wide series are raw exports, counted as if they had been cleaned.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    timezone: str | None = None
    block_bytes: int | None = None
    workers: int = 2
    thresholds: Thresholds = Thresholds()
    catalogue: Catalogue | None = None
    raw: bool = False

    def key_parts(self) -> dict[str, object]:
        """What of the options decides a summary, as plain values."""
        catalogue = {name: metric.model_dump() for name, metric in (self.catalogue or {}).items()}
        return {
            "since": self.since_ms,
            "until": self.until_ms,
            "timezone": self.timezone,
            "thresholds": self.thresholds.model_dump(),
            "catalogue": catalogue,
            "raw": self.raw,
        }


def contract_of(name: str, options: ScanOptions) -> SeriesContract:
    """The contract of a metric: the catalogue's, or an inferred one that says so."""
    catalogue = CATALOGUE if options.catalogue is None else options.catalogue
    known = catalogue.get(name) or EXPORT_ONLY.get(name)
    return SeriesContract(
        metric=known or inferred(name), inferred=known is None, thresholds=options.thresholds
    )
