"""Statistics of groups as rows of the entities and hourly tables.

Columns and units are those of `schemas.summaries.Entities`, `Hourly` and `Episodes`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd

from schemas.metrics import Metric
from schemas.series import node_of
from tasks.series.counts import FloatArray
from tasks.series.latched import Runs
from tasks.series.tally import GroupStats

_EXACT = 1 << 53


def means(groups: GroupStats, decimals: int) -> FloatArray:
    """The mean of each group, the exact sum divided once and rounded once; NaN without values."""
    fixed, unit = groups.fixed_total, 10**decimals
    divisor = groups.count * unit
    found = np.full(len(fixed), np.nan)
    # Of two integers that are exact doubles, one division rounds the quotient once.
    exact = (fixed < _EXACT) & (divisor < _EXACT) & ~groups.real_total.limbs.any(axis=1)
    np.divide(fixed, divisor, out=found, where=exact & (groups.count > 0))
    rest = np.flatnonzero(~exact & (groups.count > 0))
    real = groups.real_total.to_fractions() if len(rest) else []
    for i in rest:
        found[i] = float((Fraction(int(fixed[i]), unit) + real[i]) / int(groups.count[i]))
    return found


def entity_frame(cluster: str, metric: Metric, groups: GroupStats, decimals: int) -> pd.DataFrame:
    """One row an entity; statistics of an entity without values are NaN."""
    count = groups.count
    return pd.DataFrame(
        {
            "cluster": cluster,
            "metric": metric.name,
            "entity": groups.keys.astype(str),
            "node": [node_of(str(name), metric.entity) for name in groups.keys],
            "count": count,
            "blank": groups.blank,
            "mean": means(groups, decimals),
            "min": np.where(count > 0, groups.least, np.nan),
            "max": np.where(count > 0, groups.most, np.nan),
            "zero_share": np.where(count > 0, groups.zero / np.maximum(count, 1), np.nan),
        }
    )


def hour_frame(cluster: str, metric: Metric, groups: GroupStats, decimals: int) -> pd.DataFrame:
    """One row an hour with values; `hour` is the start of the hour in UTC."""
    return pd.DataFrame(
        {
            "cluster": cluster,
            "metric": metric.name,
            "hour": pd.to_datetime(groups.keys * 3_600_000, unit="ms", utc=True).as_unit("ms"),
            "count": groups.count,
            "mean": means(groups, decimals),
            "min": groups.least,
            "max": groups.most,
        }
    )


def episode_frame(cluster: str, metric: Metric, runs: Runs, decimals: int) -> pd.DataFrame:
    """One row an episode of a latched gauge; none of another."""
    found = runs.episodes()
    names = runs.entities[found[:, 0]].astype(str)
    return pd.DataFrame(
        {
            "cluster": cluster,
            "metric": metric.name,
            "entity": names,
            "node": [node_of(str(name), metric.entity) for name in names],
            "value": found[:, 1] / 10.0**decimals,
            "onset": pd.to_datetime(found[:, 2], unit="ms", utc=True).as_unit("ms"),
            "end": pd.to_datetime(found[:, 3], unit="ms", utc=True).as_unit("ms"),
            "samples": found[:, 4],
            "onset_seen": found[:, 5] == 0,
        }
    )
