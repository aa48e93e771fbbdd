"""Quantiles at given levels from value counts, equal bit for bit to pandas on the flat values.

With N values, level q and pos = (N - 1)·q, the quantile lies between the order
statistics a = x[floor(pos)] and b = x[floor(pos) + 1] at t = pos - floor(pos):
a + (b - a)·t where t < 0.5, else b - (b - a)·(1 - t). The split at 0.5 is that
of NumPy's `quantile` (method "linear", Hyndman and Fan type 7) and decides the
last bit. Levels and values are float64, ranks int64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schemas.pickles import LEVELS
from tasks.series.counts import FloatArray, IntArray, ValueCounts

MARKS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def published_levels() -> FloatArray:
    """The 1,000 equally spaced levels i/999 of the published curves, fractions of 1."""
    return np.linspace(0.0, 1.0, LEVELS)


@dataclass(frozen=True)
class Ranks:
    """Order statistics the quantiles of `count` values need: `lower[i]`, `upper[i]`, weight `share[i]`."""

    lower: IntArray
    upper: IntArray
    share: FloatArray

    @classmethod
    def at(cls, count: int, levels: FloatArray) -> Ranks:
        """The ranks (0 … count - 1) for `levels` (fractions of 1, any order) of at least one value."""
        if count < 1:
            raise ValueError("there are no quantiles of no values")
        position = (count - 1) * np.asarray(levels, np.float64)
        lower = np.floor(position).astype(np.int64)
        return cls(lower, np.minimum(lower + 1, count - 1), position - lower)

    def needed(self) -> IntArray:
        """All ranks, ascending and distinct."""
        return np.unique(np.concatenate([self.lower, self.upper]))

    def interpolate(self, lower_values: FloatArray, upper_values: FloatArray) -> FloatArray:
        """The quantiles from the order statistics at `lower` and `upper`."""
        span = upper_values - lower_values
        return np.where(
            self.share < 0.5, lower_values + span * self.share, upper_values - span * (1 - self.share)
        )


def quantiles(values: FloatArray, counts: IntArray, levels: FloatArray) -> FloatArray:
    """Quantiles of ascending `values` that occur `counts[i]` times, at `levels`; shape of `levels`."""
    cumulative = np.cumsum(counts)
    ranks = Ranks.at(int(cumulative[-1]), levels)
    lower = values[np.searchsorted(cumulative, ranks.lower, side="right")]
    upper = values[np.searchsorted(cumulative, ranks.upper, side="right")]
    return ranks.interpolate(lower, upper)


def curve_of(table: ValueCounts, levels: FloatArray) -> FloatArray:
    """Quantiles of an exact table at `levels`.

    Raises:
        ValueError: the table is empty or has dropped bits (see `tasks.series.refine`).
    """
    return quantiles(table.values, table.counts, levels)
