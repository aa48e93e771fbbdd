"""The parameters of a run, typed and checked, as flows take them."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.metrics import load_catalogue
from schemas.series import Thresholds
from tasks.series.clock import parse_zone
from tasks.series.options import ScanOptions
from tasks.series.spec import parse_instant
from tasks.telemetry.hours import KG_PER_KWH, PUE
from tasks.telemetry.tables import Factors

_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*$", re.IGNORECASE)
_SMALLEST_BLOCK = 4096


def parse_size(text: str | int) -> int:
    """Bytes of `64MiB`, `1.5GB`, `4096`.

    Raises:
        ValueError: the text is no size.
    """
    match = _SIZE.match(str(text))
    if not match:
        raise ValueError(f"'{text}' is not a size; write 64MiB, 1.5GB or a number of bytes")
    number, unit, binary = match.groups()
    power = " kmgt".index(unit.lower()) if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


class RunSettings(BaseModel):
    """What a run reads, where it writes, and how. Times are ISO; a size may be written `64MiB`.

    Without `block_bytes` blocks are as large as fits a file and the workers. With `raw`
    the series are raw exports, which are cleaned while they are counted. Energy is multiplied
    by `pue`, and emissions follow with `kg_per_kwh` (CO2e).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    out: str
    clusters: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    timezone: str | None = None
    workers: int | None = Field(default=None, ge=1)
    scheduler: str | None = None
    block_bytes: int | None = Field(default=None, ge=_SMALLEST_BLOCK)
    force: bool = False
    raw: bool = False
    catalogue: str | None = None
    thresholds: Thresholds = Thresholds()
    pue: float = Field(default=PUE, ge=1)
    kg_per_kwh: float = Field(default=KG_PER_KWH, ge=0)

    @field_validator("block_bytes", mode="before")
    @classmethod
    def _size(cls, value: str | int | None) -> int | None:
        return None if value is None else parse_size(value)

    def scan_options(self, workers: int = 1) -> ScanOptions:
        """The part of the settings that a scan on so many workers needs.

        Raises:
            UsageError: a time or zone cannot be read, or the catalogue is not valid.
        """
        if self.timezone is not None:
            parse_zone(self.timezone)
        return ScanOptions(
            since_ms=parse_instant(self.since, self.timezone) if self.since else None,
            until_ms=parse_instant(self.until, self.timezone) if self.until else None,
            timezone=self.timezone,
            block_bytes=self.block_bytes,
            workers=workers,
            thresholds=self.thresholds,
            catalogue=load_catalogue(self.catalogue) if self.catalogue else None,
            raw=self.raw,
        )

    @property
    def factors(self) -> Factors:
        """What energy is multiplied by."""
        return Factors(self.pue, self.kg_per_kwh)

    def recorded(self) -> dict[str, Any]:
        """The parameters that go into the manifest: those that decide the numbers."""
        return self.model_dump(
            mode="json",
            include={
                *("clusters", "metrics", "since", "until", "timezone", "catalogue", "thresholds", "raw"),
                *("pue", "kg_per_kwh"),
            },
        )
