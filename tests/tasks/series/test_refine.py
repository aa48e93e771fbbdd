"""Order statistics found in several passes are the exact ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.series.counts import ValueCounts, order_keys
from tasks.series.refine import KeyRanges, RankSearch, may_hold

finite = st.floats(allow_nan=False, allow_infinity=False)


def passes(values: np.ndarray, ranks: list[int], limit: int) -> tuple[RankSearch, int]:
    """The search to its end, as a scan does it: each pass counts the values inside the ranges."""
    search, number = RankSearch.start(np.array(ranks, np.int64)), 0
    counted = values
    while not search.done:
        number += 1
        advanced = search.advance(ValueCounts.of(counted, limit=limit))
        assert not advanced.same_as(search)
        search = advanced
        counted = values[search.ranges().hold(values)]
    return search, number


@settings(max_examples=150, deadline=None)
@given(values=st.lists(finite, min_size=1, max_size=60), limit=st.integers(12, 20), data=st.data())
def test_ranks_are_those_of_the_sorted_values(values: list[float], limit: int, data: st.DataObject) -> None:
    ranks = sorted(data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1, max_size=6)))
    search, _ = passes(np.array(values), ranks, limit)
    assert search.values(np.array(ranks)).tolist() == [sorted(values)[rank] for rank in ranks]


def test_an_exact_table_needs_one_pass() -> None:
    values = np.array([5.0, 1.0, 1.0, -3.0])
    search, number = passes(values, [0, 1, 2, 3], 100)
    assert number == 1
    assert search.values(np.arange(4)).tolist() == [-3.0, 1.0, 1.0, 5.0]


def test_many_distinct_values_need_few_passes() -> None:
    values = np.random.default_rng(1).lognormal(0, 3, 100_000)
    search, number = passes(values, [10, 50_000, 99_999], 4096)
    assert number <= 5
    assert (
        search.values(np.array([10, 50_000, 99_999])).tolist()
        == np.sort(values)[[10, 50_000, 99_999]].tolist()
    )


def test_a_table_that_is_too_coarse_changes_nothing() -> None:
    values = np.linspace(1, 2, 1000)
    search, _ = passes(values, [10, 500], 64)
    assert search.advance(ValueCounts.of(values, limit=2)).same_as(search)
    start = RankSearch.start(np.array([10, 500])).advance(ValueCounts.of(values, limit=64))
    assert start.advance(ValueCounts.of(values, limit=4)).same_as(start)


class TestKeyRanges:
    @settings(max_examples=150, deadline=None)
    @given(values=st.lists(finite, max_size=30), pairs=st.lists(st.tuples(finite, finite), max_size=5))
    def test_union_holds_what_any_part_holds(
        self, values: list[float], pairs: list[tuple[float, float]]
    ) -> None:
        pairs = [(min(pair), max(pair)) for pair in pairs]
        parts = [KeyRanges(*(order_keys(np.array([end])) for end in pair)) for pair in pairs]
        union = KeyRanges.union(parts)
        held = union.hold(np.array(values, np.float64))
        assert held.tolist() == [any(low <= value <= high for low, high in pairs) for value in values]
        assert np.all(union.lows[1:] > union.highs[:-1])

    @pytest.mark.parametrize("values", [[], [0.0, 1.0]])
    def test_no_ranges_hold_nothing(self, values: list[float]) -> None:
        assert not KeyRanges.union([]).hold(np.array(values)).any()

    @settings(max_examples=100, deadline=None)
    @given(values=st.lists(finite, max_size=30), pairs=st.lists(st.tuples(finite, finite), max_size=5))
    def test_the_sieve_lets_pass_whatever_is_held(
        self, values: list[float], pairs: list[tuple[float, float]]
    ) -> None:
        parts = [
            KeyRanges(order_keys(np.array([min(pair)])), order_keys(np.array([max(pair)]))) for pair in pairs
        ]
        union = KeyRanges.union(parts)
        sieve, shift = union.sieve()
        for value, held in zip(values, union.hold(np.array(values, np.float64)), strict=True):
            assert may_hold(sieve, shift, value) or not held

    def test_the_sieve_keeps_back_most_of_what_narrow_ranges_do_not_hold(self) -> None:
        rng = np.random.default_rng(0)
        lows = np.unique(order_keys(rng.random(1000)) >> np.uint64(30)) << np.uint64(30)
        sieve, shift = KeyRanges(lows, lows | np.uint64((1 << 30) - 1)).sieve()
        assert np.mean([may_hold(sieve, shift, value) for value in rng.random(5000)]) < 0.05
