"""The curves of a scanned series: whole file and windows, exact whatever the passes it takes.

Where the tally kept every value, the curves follow at once; where it had to drop
bits, further passes over the file find the order statistics (`tasks.series.refine`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from schemas.pickles import DERIVED_CURVES, WHOLE
from tasks.series.counts import FloatArray
from tasks.series.curve import MARKS, Ranks, published_levels
from tasks.series.refine import KeyRanges, RankSearch
from tasks.series.summary import Curve
from tasks.series.tally import Tally

Recount = Callable[[int, KeyRanges], Tally]


def curves_of(
    cluster: str, metric: str, tally: Tally, windows: tuple[str, ...], recount: Recount
) -> tuple[Curve, ...]:
    """Curves of all values and of each window that has any, with the derived ones.

    `recount(number, ranges)` makes pass `number` (from 2): the tally of the same
    rows, counting only values inside `ranges`.

    Raises:
        ValueError: the tables are too small to tell the wanted ranks apart.
    """
    levels = np.concatenate([published_levels(), MARKS])
    periods: dict[str, tuple[str, ...]] = {WHOLE: ()}
    periods |= {name: (name,) for name in windows if tally.window(name).total}
    counts = {period: tally.window(*names).total for period, names in periods.items()}
    ranks = {period: Ranks.at(count, levels) for period, count in counts.items()}
    searches = {period: RankSearch.start(rank.needed()) for period, rank in ranks.items()}
    counted = tally
    for number in itertools.count(2):
        before = searches
        searches = {p: search.advance(counted.window(*periods[p])) for p, search in before.items()}
        ranges = KeyRanges.union([search.ranges() for search in searches.values()])
        if not len(ranges.lows):
            break
        if all(search.same_as(before[period]) for period, search in searches.items()):
            limit = counted.window().limit
            raise ValueError(f"tables of {limit} keys cannot separate the ranks of {len(searches)} periods")
        counted = recount(number, ranges)
    found = []
    for period, search in searches.items():
        rank = ranks[period]
        lower, upper = search.values(rank.lower), search.values(rank.upper)
        zeros = sum(tally.zeros[name] for name in periods[period] or tally.zeros)
        share = zeros / counts[period]
        found.append(_curve(cluster, metric, period, rank.interpolate(lower, upper), counts[period], share))
        for derived in DERIVED_CURVES.get(metric, ()):
            lower_, upper_ = (values * derived.factor / derived.divisor for values in (lower, upper))
            values = rank.interpolate(lower_, upper_)
            found.append(_curve(cluster, derived.name, period, values, counts[period], share))
    return tuple(found)


def _curve(
    cluster: str, metric: str, period: str, values: FloatArray, count: int, zero_share: float
) -> Curve:
    levels = published_levels()
    return Curve(
        cluster=cluster,
        metric=metric,
        period=period,
        levels=levels,
        values=values[: len(levels)],
        count=count,
        zero_share=zero_share,
        marks=dict(zip(MARKS, values[len(levels) :].tolist(), strict=True)),
    )
