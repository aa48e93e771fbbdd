"""The Parquet tables a run writes, as pandera models: columns, types, units.

How they are written is in `tasks.outputs.tables`.
"""

from __future__ import annotations

from pandera.engines.pandas_engine import DateTime
from pandera.typing import Series

from schemas.columns import Table, column, instant

# The unit of a column that holds values of many metrics: that of the row's metric.
OF_THE_METRIC = "unit of the metric"

_CLUSTER = "name of the cluster"
_METRIC = "name of the metric, as in the catalogue"
_HOW_MANY = "number of values the statistics stand on"


class Curves(Table):
    """Quantiles of all values of a metric, its entities together; `summaries/curves.parquet`."""

    cluster: Series[str] = column(_CLUSTER)
    metric: Series[str] = column(_METRIC)
    period: Series[str] = column("the month of the values, YYYY-MM, or all")
    level_pct: Series[float] = column("level of the quantile", "%", low=0, high=100)
    value: Series[float] = column("the quantile", OF_THE_METRIC)


class Entities(Table):
    """Statistics of each entity (GPU or node) over the whole period; `summaries/entities.parquet`."""

    cluster: Series[str] = column(_CLUSTER)
    metric: Series[str] = column(_METRIC)
    entity: Series[str] = column("name of the column: a GPU as <node>-<index>, or a node")
    node: Series[str] = column("node the entity belongs to")
    count: Series[int] = column(_HOW_MANY, low=0)
    blank: Series[int] = column("number of empty cells", low=0)
    mean: Series[float] = column("arithmetic mean", OF_THE_METRIC, nullable=True)
    min: Series[float] = column("smallest value", OF_THE_METRIC, nullable=True)
    max: Series[float] = column("largest value", OF_THE_METRIC, nullable=True)
    zero_share: Series[float] = column(
        "values that are zero, of all values", "1", low=0, high=1, nullable=True
    )


class Episodes(Table):
    """When a latched gauge, as XID_ERRORS, held a value other than zero; `summaries/episodes.parquet`.

    The same value again within 30 s is the same episode. Where an entity had the value at its
    first sample, nobody saw the onset.
    """

    cluster: Series[str] = column(_CLUSTER)
    metric: Series[str] = column(_METRIC)
    entity: Series[str] = column("name of the column: a GPU as <node>-<index>, or a node")
    node: Series[str] = column("node the entity belongs to")
    value: Series[float] = column("the value: an XID code", OF_THE_METRIC)
    onset: Series[DateTime] = instant("first sample that has it, UTC")
    end: Series[DateTime] = instant("last sample that has it, UTC")
    samples: Series[int] = column("samples that have it", low=1)
    onset_seen: Series[bool] = column("whether a sample with another value was before it")


class Hourly(Table):
    """Statistics of each hour, all entities of a metric together; `summaries/hourly.parquet`."""

    cluster: Series[str] = column(_CLUSTER)
    metric: Series[str] = column(_METRIC)
    hour: Series[DateTime] = instant("start of the hour, UTC")
    count: Series[int] = column(_HOW_MANY, low=0)
    mean: Series[float] = column("arithmetic mean", OF_THE_METRIC, nullable=True)
    min: Series[float] = column("smallest value", OF_THE_METRIC, nullable=True)
    max: Series[float] = column("largest value", OF_THE_METRIC, nullable=True)
