"""Statistics and curves that follow from value counts.

Sums are exact: fixed-point values are added as integers, others without
rounding. Which nodes belong together is decided by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.pickles import WHOLE
from tasks.longform.counts import MOST_ENTRIES
from tasks.series.cells import GENERAL, fixed_point
from tasks.series.counts import FloatArray, IntArray, ValueCounts
from tasks.series.curve import MARKS, curve_of, published_levels
from tasks.series.spec import ScanSpec
from tasks.series.summary import Curve
from tasks.series.sums import LIMBS, ExactSums, LimbArray, add_value
from tasks.series.tally import GroupStats

# More than the files of a cluster have together, so that a curve never drops bits.
_LIMIT = MOST_ENTRIES << 10


def group_stats(
    keys: NDArray[Any],
    ids: IntArray,
    values: FloatArray,
    counts: IntArray,
    blank: IntArray,
    spec: ScanSpec,
) -> GroupStats:
    """Statistics of the groups `keys`, where group `ids[i]` has `values[i]` as often as `counts[i]`."""
    n = len(keys)
    count, zero, fixed_total = (np.zeros(n, np.int64) for _ in range(3))
    least, most = np.full(n, np.inf), np.full(n, -np.inf)
    fixed = np.zeros(len(values), np.bool_)
    _add_entries(ids, values, counts, spec.decimals, spec.span, count, zero, fixed_total, least, most, fixed)
    return GroupStats(
        keys=keys,
        count=count,
        blank=blank,
        zero=zero,
        fixed_total=fixed_total,
        real_total=_real_total(ids[~fixed], values[~fixed], counts[~fixed], n),
        least=least,
        most=most,
        changed=np.zeros((n, 2), np.int64),
    )


@njit(nogil=True, cache=True)
def _add_entries(
    ids: IntArray,
    values: FloatArray,
    counts: IntArray,
    decimals: int,
    span: int,
    count: IntArray,
    zero: IntArray,
    fixed_total: IntArray,
    least: FloatArray,
    most: FloatArray,
    fixed: NDArray[np.bool_],
) -> None:
    """Add the entries to their groups; `fixed` says which are fixed-point and in `fixed_total`."""
    for i in range(len(ids)):
        group, value = ids[i], values[i]
        count[group] += counts[i]
        zero[group] += counts[i] * (value == 0.0)
        least[group] = min(least[group], value)
        most[group] = max(most[group], value)
        units = fixed_point(value, decimals, span)
        fixed[i] = units != GENERAL
        fixed_total[group] += counts[i] * units * fixed[i]


def _real_total(ids: IntArray, values: FloatArray, counts: IntArray, n: int) -> ExactSums:
    groups, rows = np.unique(ids, return_inverse=True)
    limbs = np.zeros((len(groups), LIMBS), np.int64)
    _add_times(limbs, rows.astype(np.int64), values, counts)
    return ExactSums.from_limbs(limbs).take(groups, n)


@njit(nogil=True, cache=True)
def _add_times(limbs: LimbArray, rows: IntArray, values: FloatArray, counts: IntArray) -> None:
    """Add `values[i]` × `counts[i]` to row `rows[i]`: a power of two at a time, so that no product rounds."""
    for i in range(len(rows)):
        rest = counts[i]
        while rest > 0:
            part = rest & -rest
            while not np.isfinite(values[i] * part):
                part >>= 1
            add_value(limbs, rows[i], values[i] * part)
            rest -= part


def whole_curve(cluster: str, metric: str, parts: Iterable[tuple[FloatArray, IntArray]]) -> Curve | None:
    """The curve of all (values, counts) together over the whole period; None without a value."""
    table = ValueCounts.empty(_LIMIT)
    for values, counts in parts:
        table = table.merge(ValueCounts.of(values, counts, _LIMIT))
    if not table.total:
        return None
    levels = published_levels()
    quantiles = curve_of(table, np.concatenate([levels, MARKS]))
    zeros = int(table.counts[table.values == 0].sum())
    return Curve(
        cluster=cluster,
        metric=metric,
        period=WHOLE,
        levels=levels,
        values=quantiles[: len(levels)],
        count=table.total,
        zero_share=zeros / table.total,
        marks=dict(zip(MARKS, quantiles[len(levels) :].tolist(), strict=True)),
    )
