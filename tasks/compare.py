"""Two runs, or two clusters or periods of one, beside each other: what moved most.

For instance two months, two clusters, or two releases of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from schemas.errors import UsageError
from schemas.published.clusters import title_of
from schemas.verification import Kind, Moved, RunsCompared
from tasks.outputs.results import Results
from tasks.verification.distance import kolmogorov_smirnov

_Key = tuple[str, str, str]  # cluster, name, period
T = TypeVar("T")


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run, or one cluster or period of it.

    Raises:
        UsageError: the run has no such cluster or period.
    """

    results: Results
    cluster: str = ""
    period: str = ""

    def __post_init__(self) -> None:
        if not (self.curves or self.jobs or self.numbers):
            self._refuse()

    @cached_property
    def curves(self) -> Mapping[_Key, pd.DataFrame]:
        """The curves of the telemetry."""
        return {
            (self._label(cluster), metric, "" if self.period else period): curve
            for (cluster, metric, period), curve in self.results.curves.items()
            if self.cluster in ("", cluster) and self.period in ("", period)
        }

    @cached_property
    def jobs(self) -> Mapping[_Key, pd.Series]:
        """Distributions of GPU jobs: shares (%) by x. None where a period is chosen: they are of all time."""
        table = self.results.table("jobs/ecdf.parquet").dropna(subset=["share_pct"])
        groups = table.groupby(["cluster", "measure", "weight", "type"], observed=True)
        return {
            (self._label(str(cluster)), f"{measure} by {weight}, {job}", ""): found.set_index("x")[
                "share_pct"
            ]
            for (cluster, measure, weight, job), found in groups
            if not self.period and self.cluster in ("", cluster)
        }

    @cached_property
    def numbers(self) -> Mapping[_Key, float]:
        """The figures of `cluster_summary.csv`. None where a period is chosen."""
        return {
            (self._label(str(cluster)), str(column), ""): float(value)
            for cluster, row in self.results.summary().iterrows()
            if not self.period and (self.cluster == "" or title_of(self.cluster) == cluster)
            for column, value in row.items()
            if not pd.isna(value)
        }

    def _label(self, cluster: str) -> str:
        """Two chosen clusters of different names are compared under one, the empty one."""
        return "" if self.cluster else cluster

    def _refuse(self) -> None:
        logs = {log.cluster for log in self.results.jobs.logs} if self.results.jobs else set()
        clusters = ", ".join(sorted({cluster for cluster, _, _ in self.results.curves} | logs))
        periods = ", ".join(sorted({period for _, _, period in self.results.curves}))
        asked = " and ".join(
            f"{what} '{name}'" for what, name in (("cluster", self.cluster), ("period", self.period)) if name
        )
        raise UsageError(
            f"The run in {self.results.out} has nothing of {asked or 'any cluster'}.",
            hint=f"Its clusters: {clusters or 'none'}; its periods: {periods or 'none'}.",
        )


def compare(a: Side, b: Side) -> RunsCompared:
    """All that both sides have, what moved most first; curves, then distributions of jobs, then numbers."""
    units = {**a.results.units, **b.results.units}
    moved = [
        *_moved("curve", a.curves, b.curves, _curves_moved, units),
        *_moved("jobs", a.jobs, b.jobs, _jobs_moved),
        *_moved("number", a.numbers, b.numbers, lambda one, other: {"a": one, "b": other}),
    ]
    mine, theirs = (set[_Key]({*side.curves, *side.jobs, *side.numbers}) for side in (a, b))
    return RunsCompared(moved=tuple(moved), only_a=_names(mine - theirs), only_b=_names(theirs - mine))


def _moved(
    kind: Kind,
    mine: Mapping[_Key, T],
    theirs: Mapping[_Key, T],
    how: Callable[[T, T], dict[str, Any]],
    units: Mapping[str, str] = MappingProxyType({}),
) -> list[Moved]:
    lines = [
        Moved(
            kind=kind,
            cluster=cluster,
            name=name,
            period=period,
            unit=units.get(name, ""),
            **how(mine[cluster, name, period], theirs[cluster, name, period]),
        )
        for cluster, name, period in sorted(mine.keys() & theirs.keys())
    ]
    return sorted(lines, key=lambda line: -line.moved_pct)


def _curves_moved(mine: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, Any]:
    (level, value), (other_level, other) = (
        (curve["level_pct"].to_numpy(), curve["value"].to_numpy()) for curve in (mine, theirs)
    )
    return {
        "a": float(np.interp(50, level, value)),
        "b": float(np.interp(50, other_level, other)),
        "distance_pct": kolmogorov_smirnov(value, level, other, other_level),
    }


def _jobs_moved(mine: pd.Series, theirs: pd.Series) -> dict[str, Any]:
    return {"distance_pct": float((mine - theirs).abs().max())}


def _names(keys: set[_Key]) -> tuple[str, ...]:
    return tuple(sorted("/".join(part for part in key if part) for key in keys))
