"""Columns of the tables we write, as pandera fields with a meaning and a unit."""

from __future__ import annotations

from typing import Any

import pandera.pandas as pa
from pandera.typing import Series


def column(
    description: str,
    unit: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    nullable: bool = False,
) -> Any:
    """A column of values between `low` and `high`."""
    metadata = {"unit": unit} if unit else None
    return pa.Field(ge=low, le=high, nullable=nullable, description=description, metadata=metadata)


def maybe(description: str, unit: str = "", *, low: float | None = 0) -> Any:
    """A column that is null where nothing is known."""
    return column(description, unit, low=low, nullable=True)


def instant(description: str, *, nullable: bool = False) -> Any:
    """A column of times in UTC, in milliseconds."""
    return pa.Field(nullable=nullable, dtype_kwargs={"unit": "ms", "tz": "UTC"}, description=description)


class Table(pa.DataFrameModel):
    """What all tables have in common: exactly these columns, in this order."""

    class Config:
        strict = True
        ordered = True


class OfCluster(Table):
    """A table of one or more clusters."""

    cluster: Series[str] = column("name of the cluster")
