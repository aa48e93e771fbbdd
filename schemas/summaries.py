"""The Parquet tables a run writes, as pandera models: columns, types, units.

How they are written is in `tasks.outputs.tables`.
"""

from __future__ import annotations

from typing import Any

import pandera.pandas as pa
from pandera.engines.pandas_engine import DateTime
from pandera.typing import Series

# The unit of a column that holds values of many metrics: that of the row's metric.
OF_THE_METRIC = "unit of the metric"

_CLUSTER = "name of the cluster"
_METRIC = "name of the metric, as in the catalogue"
_HOW_MANY = "number of values the statistics stand on"


def _column(
    description: str,
    unit: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    nullable: bool = False,
) -> Any:
    metadata = {"unit": unit} if unit else None
    return pa.Field(ge=low, le=high, nullable=nullable, description=description, metadata=metadata)


class Curves(pa.DataFrameModel):
    """Quantiles of all values of a metric, its entities together; `summaries/curves.parquet`."""

    cluster: Series[str] = _column(_CLUSTER)
    metric: Series[str] = _column(_METRIC)
    period: Series[str] = _column("the month of the values, YYYY-MM, or all")
    level_pct: Series[float] = _column("level of the quantile", "%", low=0, high=100)
    value: Series[float] = _column("the quantile", OF_THE_METRIC)

    class Config:
        strict = True
        ordered = True


class Entities(pa.DataFrameModel):
    """Statistics of each entity (GPU or node) over the whole period; `summaries/entities.parquet`."""

    cluster: Series[str] = _column(_CLUSTER)
    metric: Series[str] = _column(_METRIC)
    entity: Series[str] = _column("name of the column: a GPU as <node>-<index>, or a node")
    node: Series[str] = _column("node the entity belongs to")
    count: Series[int] = _column(_HOW_MANY, low=0)
    blank: Series[int] = _column("number of empty cells", low=0)
    mean: Series[float] = _column("arithmetic mean", OF_THE_METRIC, nullable=True)
    min: Series[float] = _column("smallest value", OF_THE_METRIC, nullable=True)
    max: Series[float] = _column("largest value", OF_THE_METRIC, nullable=True)
    zero_share: Series[float] = _column(
        "values that are zero, of all values", "1", low=0, high=1, nullable=True
    )

    class Config:
        strict = True
        ordered = True


class Episodes(pa.DataFrameModel):
    """When a latched gauge, as XID_ERRORS, held a value other than zero; `summaries/episodes.parquet`.

    The same value again within 30 s is the same episode. Where an entity had the value at its
    first sample, nobody saw the onset.
    """

    cluster: Series[str] = _column(_CLUSTER)
    metric: Series[str] = _column(_METRIC)
    entity: Series[str] = _column("name of the column: a GPU as <node>-<index>, or a node")
    node: Series[str] = _column("node the entity belongs to")
    value: Series[float] = _column("the value: an XID code", OF_THE_METRIC)
    onset: Series[DateTime] = pa.Field(
        dtype_kwargs={"unit": "ms", "tz": "UTC"}, description="first sample that has it, UTC"
    )
    end: Series[DateTime] = pa.Field(
        dtype_kwargs={"unit": "ms", "tz": "UTC"}, description="last sample that has it, UTC"
    )
    samples: Series[int] = _column("samples that have it", low=1)
    onset_seen: Series[bool] = _column("whether a sample with another value was before it")

    class Config:
        strict = True
        ordered = True


class Hourly(pa.DataFrameModel):
    """Statistics of each hour, all entities of a metric together; `summaries/hourly.parquet`."""

    cluster: Series[str] = _column(_CLUSTER)
    metric: Series[str] = _column(_METRIC)
    hour: Series[DateTime] = pa.Field(
        dtype_kwargs={"unit": "ms", "tz": "UTC"}, description="start of the hour, UTC"
    )
    count: Series[int] = _column(_HOW_MANY, low=0)
    mean: Series[float] = _column("arithmetic mean", OF_THE_METRIC, nullable=True)
    min: Series[float] = _column("smallest value", OF_THE_METRIC, nullable=True)
    max: Series[float] = _column("largest value", OF_THE_METRIC, nullable=True)

    class Config:
        strict = True
        ordered = True
