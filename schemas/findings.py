"""What can be wrong with a series, and the record that says where.

`RULES` lists every rule with its meaning and severity. A `Finding` is one rule
broken in one series: how often, and the first places. How rules are applied to
a tally is in `tasks.series.judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["info", "warning", "error"]
Verdict = Literal["passed", "warned", "failed", "no data"]

EXAMPLES_KEPT = 5


class Rule(BaseModel):
    """A named check; `severity` is its usual weight, `meaning` what a reader is told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    severity: Severity
    meaning: str


def _rules(*rows: tuple[str, Severity, str]) -> Mapping[str, Rule]:
    return MappingProxyType(
        {id_: Rule(id=id_, severity=severity, meaning=meaning) for id_, severity, meaning in rows}
    )


RULES = _rules(
    ("not-a-series", "error", "the file has no header that starts with Time"),
    ("empty-file", "warning", "the file has no bytes"),
    ("header-only", "info", "the file has a header and no row"),
    ("lfs-pointer", "error", "a Git LFS pointer stands where the data should be"),
    ("html-page", "error", "a web page stands where the data should be"),
    ("unreadable", "error", "the file cannot be read to its end"),
    ("file-changed", "error", "the file changed while it was read"),
    ("not-raw", "error", "the file does not look like a raw export, and is not cleaned"),
    ("missing-column", "warning", "a column that belongs to the series is not there"),
    ("duplicate-column", "warning", "two columns have the same name"),
    ("suffixed-column", "warning", "a column ends in .1: a frame was joined with itself"),
    ("odd-column", "warning", "a column is not named like the metric's entities"),
    ("ragged-row", "warning", "a row has more or fewer cells than the header; it is left out"),
    ("bad-cell", "warning", "a cell is not a finite number; it is left out"),
    ("bad-time", "warning", "a row has no readable time; it is left out"),
    ("too-many-bad-cells", "error", "more cells are unreadable than the threshold allows"),
    ("no-zone", "error", "times have no zone and none was given"),
    ("mixed-zones", "warning", "times are written in more than one zone or form"),
    ("duplicate-time", "warning", "a row has the time of the row before it"),
    ("disordered-time", "warning", "a row is older than the row before it"),
    ("gap", "info", "sampling slots are missing between two rows"),
    ("wrong-interval", "warning", "rows are not spaced as the contract says"),
    ("blank-column", "info", "an entity has no value at all"),
    ("low-coverage", "info", "few cells hold a value"),
    ("out-of-range", "warning", "a value is physically impossible; it is kept and reported"),
    ("repeated-pairs", "info", "values change on every second row only: they are collected at half the rate"),
    ("unknown-metric", "info", "the catalogue does not know the metric; its contract is inferred"),
    (
        "order-assumed",
        "info",
        "only the period's byte range was read; the file is taken to be sorted by time",
    ),
    (
        "mixed-type-node",
        "info",
        "rows of a node look like different server types; its majority decides",
    ),
    ("no-node", "warning", "a row names no node; its values count, but belong to no entity"),
)


class Example(BaseModel):
    """One place where a rule is broken. Rows count from 1 below the header; offsets from byte 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    row: int | None = None
    column: str | None = None
    byte_offset: int | None = None
    value: str | None = None


class Finding(BaseModel):
    """A rule broken `count` times in one series, with the first places in file order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    severity: Severity
    cluster: str
    metric: str
    count: int = Field(ge=0)
    message: str
    examples: tuple[Example, ...] = Field(default=(), max_length=EXAMPLES_KEPT)
