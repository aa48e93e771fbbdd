"""The contract of a series and the validated schema a run writes for it.

A contract is what a file of a metric must look like: names, interval, range and
the thresholds of the verdict. `SeriesRecord` is the document at
`schemas/<cluster>/<METRIC>.json`: the contract, the observed facts, the
findings and the verdict. Metrics themselves are in `schemas.metrics`.
"""

from __future__ import annotations

import re
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from schemas.findings import Finding, Verdict
from schemas.metrics import Entity, Metric

ENTITY_PATTERNS: dict[Entity, re.Pattern[str]] = {
    # The GPU index stands behind the last dash: node names hold dashes themselves.
    "gpu": re.compile(r"^(?P<node>.+)-(?P<index>\d{1,2}(?::\d{1,2})?)$"),
    "node": re.compile(r"^(?P<node>(?:\d{1,3}\.){3}\d{1,3}|[A-Za-z][\w.\-]*)$"),
    "any": re.compile(r"^(?P<node>.+)$"),
}


def node_of(entity: str, kind: Entity) -> str:
    """The node an entity belongs to: the name itself unless it is a GPU, `<node>-<index>`."""
    match = ENTITY_PATTERNS[kind].match(entity)
    return match["node"] if match else entity


class Thresholds(BaseModel):
    """The limits of the verdict. Shares are fractions of 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bad_cell_share: float = Field(default=0.001, ge=0, le=1)
    low_coverage_share: float = Field(default=0.5, ge=0, le=1)
    gap_intervals: float = Field(default=1.5, gt=1)


class SeriesContract(BaseModel):
    """What a wide series file must look like.

    Row form: `Time,<entity>,<entity>,…`; a blank cell is an absent sample.
    `inferred` says that the catalogue does not know the metric.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: Metric
    time_column: str = "Time"
    inferred: bool = False
    thresholds: Thresholds = Thresholds()


class Observed(BaseModel):
    """Facts of a scanned series. Times are UTC; `coverage_share` is filled cells of all cells.

    `digests` has those of `files` that were read whole, by path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[str, ...]
    digests: dict[str, str] = {}
    bytes: int = Field(ge=0)
    bytes_read: int = Field(ge=0)
    rows: int = Field(ge=0)
    rows_outside_period: int = Field(default=0, ge=0)
    columns: int = Field(ge=0)
    values: int = Field(ge=0)
    blanks: int = Field(ge=0)
    bad_cells: int = Field(default=0, ge=0)
    bad_rows: int = Field(default=0, ge=0)
    distinct_values: int | None = None
    first_time: datetime | None = None
    last_time: datetime | None = None
    interval_s: float | None = None
    missing_slots: int = Field(default=0, ge=0)
    zones: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    zero_share: float | None = None
    coverage_share: float | None = None


class CurveFacts(BaseModel):
    """A curve in a few numbers: `count` values, share of zeros (of 1), quantiles by name (`p1`, `p50`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    period: str
    unit: str
    count: int = Field(ge=1)
    zero_share: float = Field(ge=0, le=1)
    quantiles: dict[str, float]


class SeriesRecord(BaseModel):
    """The validated schema of one series. Columns are listed in the order of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str
    series: str
    contract: SeriesContract
    entities: tuple[str, ...]
    observed: Observed
    curves: tuple[CurveFacts, ...] = ()
    findings: tuple[Finding, ...]
    verdict: Verdict
    code_version: str
