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

# What can be wrong with a job log; the meaning says what is done about it.
JOB_RULES = _rules(
    ("not-a-job-log", "error", "the file has the columns of no known job log"),
    ("unclear-format", "error", "the file may be a job log of more than one kind"),
    ("no-zone", "error", "times have no zone and none was given"),
    ("header-only", "info", "the log has a header and no row"),
    ("missing-column", "warning", "a column of the contract is not there; what it tells is left blank"),
    ("unknown-column", "info", "the contract does not know a column; it is not read"),
    ("ragged-row", "warning", "a row has more or fewer cells than the header; it is left out"),
    ("not-text", "warning", "bytes are no UTF-8; they are replaced by a mark"),
    ("bad-cell", "warning", "a cell is not a number; it is taken as blank"),
    ("bad-time", "warning", "a cell is not a time; it is taken as blank"),
    ("unclear-time", "warning", "a local time occurs twice or not at all that day; the first is taken"),
    ("too-many-bad-cells", "error", "more cells are unreadable than the threshold allows"),
    ("out-of-range", "warning", "a number is below what is possible; it is taken as blank"),
    ("no-id", "warning", "a job has no name; the number of its row stands for it"),
    (
        "duplicate-job",
        "warning",
        "a row repeats the job, submission and start of an earlier one; it is left out",
    ),
    (
        "repeated-id",
        "info",
        "a job's name occurs again with other times, as of one that was requeued; it is kept",
    ),
    ("job-step", "info", "a row is a step of a job; it is left out"),
    (
        "retried-job",
        "info",
        "a job has several attempts; it runs from the first one's start to the last one's end",
    ),
    ("unknown-state", "warning", "the contract does not know a state; the job's outcome is left blank"),
    ("untold-outcome", "info", "the log does not tell how a job ended; its outcome is left blank"),
    ("grouped-state", "info", "a state of the scheduler is counted as one of the three outcomes"),
    ("not-ended", "info", "a job has not ended; it has no run time and no outcome"),
    ("no-end", "warning", "a job has ended, but the log does not tell when; it has no run time"),
    ("never-started", "info", "a job ended without having begun; it has neither wait nor run time"),
    ("derived-time", "info", "a blank time is reckoned from the log's own duration and queue"),
    (
        "negative-time",
        "warning",
        "a job ends before it starts, or starts before it was submitted; the span is left blank",
    ),
    ("no-submit", "warning", "the log does not tell when a job was submitted"),
    (
        "no-gpu-count",
        "warning",
        "the log does not tell how many GPUs a job held; it is neither GPU nor CPU job",
    ),
    ("cpu-job", "info", "a job without GPU has no GPU time, which is not the same as none"),
    ("duration-rule", "warning", "the log's duration is not what its own times give; ours is from the times"),
    (
        "queue-rule",
        "warning",
        "the log's queueing delay is not what its own times give; ours is from the times",
    ),
    ("gpu-time-rule", "warning", "the log's GPU time is not its duration times its GPUs"),
)
# Rows of these rules are not in the job table.
LEFT_OUT = frozenset({"ragged-row", "duplicate-job", "job-step"})


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
