"""Tables that say what telemetry means for a cluster; how each is reckoned is in `tasks.telemetry`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pandera.engines.pandas_engine import DateTime
from pandera.typing import Series

from schemas.columns import OfCluster, Table, column, instant, maybe


class Idle(OfCluster):
    """How much of its samples a GPU or node is idle; `telemetry/idle.parquet`."""

    level: Series[str] = column("gpu or node")
    entity: Series[str] = column("name of the GPU or node")
    node: Series[str] = column("node it belongs to")
    gpus: Series[int] = column("GPUs it stands for", "GPUs", low=1)
    samples: Series[int] = column("samples of GPU_UTIL", low=1)
    idle_share: Series[float] = column("samples with a utilisation of zero", "1", low=0, high=1)
    utilisation_pct: Series[float] = column("mean utilisation", "%")


class Extremes(OfCluster):
    """The hottest and most power-hungry entities of each metric; `telemetry/extremes.parquet`."""

    metric: Series[str] = column("temperature or power")
    by: Series[str] = column("what they are ranked by: mean or max")
    rank: Series[int] = column("1 for the highest", low=1)
    entity: Series[str] = column("name of the GPU or node")
    node: Series[str] = column("node it belongs to")
    mean: Series[float] = column("arithmetic mean", "unit of the metric")
    max: Series[float] = column("largest value", "unit of the metric")
    samples: Series[int] = column("samples", low=1)


class ClusterHours(OfCluster):
    """The cluster hour by hour; `telemetry/cluster_hours.parquet`."""

    metric: Series[str] = column("a utilisation or a power")
    hour: Series[DateTime] = instant("start of the hour")
    reporting: Series[float] = column("entities that were sampled: samples over those of a full hour", low=0)
    mean: Series[float] = column("mean over samples and entities", "unit of the metric")
    total: Series[float] = maybe("mean × reporting: the power of all that report", "W")


class FaultCodes(OfCluster):
    """Episodes of a latched gauge by code; `telemetry/fault_codes.parquet`."""

    metric: Series[str] = column("name of the gauge")
    value: Series[float] = column("the code", "code")
    onsets: Series[int] = column("episodes whose onset was seen", low=0)
    at_first_sample: Series[int] = column("episodes that were there at the entity's first sample", low=0)
    entities: Series[int] = column("entities that ever had it", low=1)
    median_hours: Series[float] = column("median time from first to last sample of an episode", "h", low=0)
    largest_burst: Series[int] = column("most episodes that begin at one sample", low=1)
    burst_at: Series[DateTime] = instant("when those began")


class FaultHours(OfCluster):
    """Onsets of a latched gauge by hour; `telemetry/fault_hours.parquet`."""

    metric: Series[str] = column("name of the gauge")
    value: Series[float] = column("the code", "code")
    hour: Series[DateTime] = instant("start of the hour")
    onsets: Series[int] = column("episodes that began in it and were seen to begin", low=1)


class Energy(OfCluster):
    """Energy and emissions; `telemetry/energy.parquet`."""

    metric: Series[str] = column("the power it is reckoned from")
    month: Series[str] = column("month in UTC, YYYY-MM, or all")
    hours: Series[int] = column("hours with a sample", "h", low=1)
    entity_hours: Series[float] = column("samples × interval: the time that is covered", "h", low=0)
    mean_w: Series[float] = column("mean power of an entity", "W")
    kwh: Series[float] = column("energy in the time that is covered", "kWh")
    pue: Series[float] = column("power usage effectiveness that was assumed", "1", low=1)
    kwh_with_pue: Series[float] = column("energy of the data centre", "kWh")
    kg_per_kwh: Series[float] = column("emission factor that was assumed", "kg CO2e/kWh", low=0)
    emissions_t: Series[float] = column("emissions", "t CO2e")


TELEMETRY_TABLES: Mapping[str, type[Table]] = MappingProxyType(
    {
        "telemetry/idle.parquet": Idle,
        "telemetry/extremes.parquet": Extremes,
        "telemetry/cluster_hours.parquet": ClusterHours,
        "telemetry/fault_codes.parquet": FaultCodes,
        "telemetry/fault_hours.parquet": FaultHours,
        "telemetry/energy.parquet": Energy,
    }
)
