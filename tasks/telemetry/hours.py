"""The cluster hour by hour, and the energy it takes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

HOUR_S = 3600.0
POWERS = ("POWER_USAGE", "SERVER_POWER", "NODE_POWER")
SHOWN = ("GPU_UTIL", "SM_ACTIVE", "NODE_CPU_UTILIZATION", *POWERS)
# Of the study; its power usage effectiveness is recalled, not checked.
PUE = 1.25
KG_PER_KWH = 0.478

Interval = Mapping[tuple[str, str], float]


def cluster_hours(hourly: pd.DataFrame, intervals: Interval) -> pd.DataFrame:
    """Utilisation and power of a cluster in each hour.

    `intervals` has the sampling interval in s by cluster and metric. reporting = samples ÷ (3,600 s ÷
    interval): so many entities, had each been sampled all the hour. The total of a power is
    mean × reporting: what all that report draw together, on average over the hour.
    """
    chosen = hourly[[_is_one(metric, SHOWN) for metric in hourly["metric"]]]
    step = pd.Series([intervals[key] for key in _keys(chosen)], index=chosen.index, dtype="float64")
    reporting = chosen["count"] * step / HOUR_S
    power = pd.Series(
        [_is_one(metric, POWERS) for metric in chosen["metric"]], index=chosen.index, dtype=bool
    )
    return pd.DataFrame(
        {
            "cluster": chosen["cluster"],
            "metric": chosen["metric"],
            "hour": chosen["hour"],
            "reporting": reporting,
            "mean": chosen["mean"],
            "total": (chosen["mean"] * reporting).where(power),
        }
    ).reset_index(drop=True)


def energy(
    hourly: pd.DataFrame, intervals: Interval, pue: float = PUE, kg_per_kwh: float = KG_PER_KWH
) -> pd.DataFrame:
    """Energy and emissions by power metric, month by month (UTC) and in all.

    A sample stands for one sampling interval: energy = Σ mean × samples × interval over the hours.
    Time without a sample is not filled; `entity_hours` says how much is covered. With PUE and the
    emission factor: emissions = energy × PUE × factor. GPU servers (SERVER_POWER_GPU) hold their
    GPUs, so POWER_USAGE is a part of them and is not to be added.

    Source: Hu et al., NSDI '24, energy and carbon of Seren: 0.478 t CO2e/MWh, PUE 1.25.
    """
    hours = cluster_hours(hourly, intervals)
    hours = hours[hours["total"].notna()].assign(month=lambda table: table["hour"].dt.strftime("%Y-%m"))
    both = pd.concat([hours, hours.assign(month="all")], ignore_index=True)
    grouped = both.groupby(["cluster", "metric", "month"], as_index=False).agg(
        hours=("hour", "nunique"), entity_hours=("reporting", "sum"), wh=("total", "sum")
    )
    kwh = grouped["wh"] / 1000
    return pd.DataFrame(
        {
            "cluster": grouped["cluster"],
            "metric": grouped["metric"],
            "month": grouped["month"],
            "hours": grouped["hours"].astype("int64"),
            "entity_hours": grouped["entity_hours"],
            "mean_w": grouped["wh"] / grouped["entity_hours"],
            "kwh": kwh,
            "pue": float(pue),
            "kwh_with_pue": kwh * pue,
            "kg_per_kwh": float(kg_per_kwh),
            "emissions_t": kwh * pue * kg_per_kwh / 1000,
        }
    )


def _is_one(metric: str, names: tuple[str, ...]) -> bool:
    """Whether a metric is one of `names`, or the part of one: SERVER_POWER_GPU, SERVER_POWER.rack7."""
    return any(metric == name or metric.startswith((f"{name}_", f"{name}.")) for name in names)


def _keys(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(table["cluster"], table["metric"], strict=True))
