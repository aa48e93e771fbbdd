"""What a contract of a job log says, and how its columns are described.

A contract is a pandera model of the log's own columns. The type of a column tells
how its text is read (text, number, time), its checks what values are possible, its
metadata which column of the canonical table it becomes. What the model cannot say
is in `JobLogFormat`: words for states, what the duration counts from, the zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pandera.pandas as pa
from pandera.engines.pandas_engine import DateTime as DateTime

from schemas.jobs import CANCELLED, COMPLETED, FAILED

CellKind = Literal["text", "number", "time"]
Time = DateTime  # the type of a column of times


def cell(
    description: str,
    *,
    becomes: str = "",
    unit: str = "",
    low: float | None = None,
    divide: float = 1,
) -> Any:
    """A column of a log: what it means, and which canonical column its values, over `divide`, become."""
    metadata = {"becomes": becomes, "unit": unit, "divide": divide}
    return pa.Field(nullable=True, ge=low, description=description, metadata=metadata)


def time(description: str, *, becomes: str) -> Any:
    """A column of times."""
    return pa.Field(
        nullable=True,
        dtype_kwargs={"unit": "ms", "tz": "UTC"},
        description=description,
        metadata={"becomes": becomes},
    )


@dataclass(frozen=True)
class LogColumn:
    """A column as a reader needs it; values below `low` are impossible."""

    name: str
    kind: CellKind
    becomes: str
    divide: float
    low: float | None
    unit: str
    description: str


@dataclass(frozen=True)
class JobLogFormat:
    """A kind of job log.

    name: how a user names it with --format.
    title: what it is, and where it is described.
    model: the contract of its columns; all may be missing but `needed`, by which it is known.
    states: each word for a state and what it is taken for; None where the outcome is not told.
    unfinished: the words of jobs that have not ended.
    duration_from: the time from which the log's own duration counts to the end.
    timezone: the zone of times that name none; None where only the user knows.
    clock: whether times are dates, or seconds on a clock of the log's own.
    cluster: the name of a cluster whose file does not tell.
    marks: columns that no other kind has.
    """

    name: str
    title: str
    model: type[pa.DataFrameModel]
    needed: frozenset[str]
    states: Mapping[str, str | None]
    duration_from: Literal["start", "submit"] = "start"
    unfinished: frozenset[str] = frozenset()
    timezone: str | None = None
    clock: Literal["wall", "seconds"] = "wall"
    cluster: str = ""
    marks: frozenset[str] = frozenset()
    columns: tuple[LogColumn, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(_columns(self.model)))

    @property
    def column_names(self) -> frozenset[str]:
        """The columns that the contract knows."""
        return frozenset(column.name for column in self.columns)


def _columns(model: type[pa.DataFrameModel]) -> list[LogColumn]:
    found = []
    for name, column in model.to_schema().columns.items():
        told = column.metadata or {}
        lows = [check.statistics["min_value"] for check in column.checks if "min_value" in check.statistics]
        found.append(
            LogColumn(
                name=str(name),
                kind=_kind(str(column.dtype)),
                becomes=told.get("becomes", ""),
                divide=told.get("divide", 1),
                low=lows[0] if lows else None,
                unit=told.get("unit", ""),
                description=column.description or "",
            )
        )
    return found


def _kind(dtype: str) -> CellKind:
    if dtype.startswith("datetime64"):
        return "time"
    return "number" if dtype == "float64" else "text"


# Slurm's words, of which Seren's and Helios' logs hold some. A job that the scheduler or a fault
# ended counts as failed: the published summaries take for failed all that is neither completed nor
# cancelled, and with that also what was preempted.
SLURM_STATES: Mapping[str, str | None] = {
    "COMPLETED": COMPLETED,
    "CANCELLED": CANCELLED,
    "REVOKED": CANCELLED,
    "FAILED": FAILED,
    "TIMEOUT": FAILED,
    "NODE_FAIL": FAILED,
    "PREEMPTED": FAILED,
    "OUT_OF_MEMORY": FAILED,
    "BOOT_FAIL": FAILED,
    "DEADLINE": FAILED,
    "LAUNCH_FAILED": FAILED,
    "RECONFIG_FAIL": FAILED,
}
SLURM_UNFINISHED = frozenset(
    {
        "RUNNING",
        "PENDING",
        "SUSPENDED",
        "REQUEUED",
        "REQUEUE_HOLD",
        "REQUEUE_FED",
        "RESIZING",
        "COMPLETING",
        "CONFIGURING",
        "SIGNALING",
        "STAGE_OUT",
        "STOPPED",
        "SPECIAL_EXIT",
        "RESV_DEL_HOLD",
        "DEL_HOLD",
    }
)
