"""Value counts: the same table in any order and grouping, exact or with bits dropped."""

from __future__ import annotations

from collections import Counter
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.series.counts import ValueCounts, key_values, order_keys

bounded = settings(max_examples=150, deadline=None)
finite = st.floats(allow_nan=False, allow_infinity=False)
few = st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.0, 97.0, 5e-324, 1e300])
value_lists = st.lists(finite | few, max_size=25)
limits = st.integers(2, 12)


def of(values: list[float], limit: int = 1 << 20) -> ValueCounts:
    return ValueCounts.of(np.array(values, np.float64), limit=limit)


class TestKeys:
    @bounded
    @given(values=value_lists)
    def test_order_is_that_of_the_values(self, values: list[float]) -> None:
        array = np.array(values, np.float64)
        assert np.array_equal(np.sort(array), array[np.argsort(order_keys(array), kind="stable")])
        assert np.array_equal(key_values(order_keys(array)), array)

    def test_both_zeros_are_one(self) -> None:
        table = of([0.0, -0.0])
        assert (table.values.tolist(), table.counts.tolist()) == ([0.0], [2])
        assert not np.signbit(table.values[0])


class TestCounting:
    @bounded
    @given(values=value_lists)
    def test_each_distinct_value_and_how_often(self, values: list[float]) -> None:
        expected = Counter(values)
        table = of(values)
        assert table.exact
        assert dict(zip(table.values.tolist(), table.counts.tolist(), strict=True)) == expected
        assert table.values.tolist() == sorted(expected)
        assert table.total == len(values)

    @bounded
    @given(counted=st.dictionaries(finite, st.integers(1, 10**12), max_size=10), limit=limits)
    def test_given_counts_are_those_of_repeated_values(self, counted: dict[float, int], limit: int) -> None:
        table = ValueCounts.of(np.array(list(counted)), np.array(list(counted.values()), np.int64), limit)
        assert table.total == sum(counted.values())
        assert np.array_equal(table.keys, of(list(counted), limit).keys)


class TestMerge:
    @bounded
    @given(a=value_lists, b=value_lists, c=value_lists, limit=limits)
    def test_is_associative_and_commutative_with_a_unit(
        self, a: list[float], b: list[float], c: list[float], limit: int
    ) -> None:
        x, y, z = (of(values, limit) for values in (a, b, c))
        assert x.merge(y).same_as(y.merge(x))
        assert x.merge(y).merge(z).same_as(x.merge(y.merge(z)))
        unit = ValueCounts.empty(limit)
        assert x.merge(unit).same_as(x)
        assert unit.merge(x).same_as(x)

    @bounded
    @given(
        parts=st.lists(value_lists, min_size=1, max_size=6),
        limit=limits,
        rng=st.randoms(use_true_random=False),
    )
    def test_depends_on_the_set_of_values_only(
        self, parts: list[list[float]], limit: int, rng: object
    ) -> None:
        together = of([value for part in parts for value in part], limit)
        rng.shuffle(parts)  # type: ignore[attr-defined]
        merged = reduce(ValueCounts.merge, (of(part, limit) for part in parts))
        assert merged.same_as(together)
        assert merged.total == together.total

    def test_takes_the_smaller_limit(self) -> None:
        large, small = of([1.0, 2.0, 3.0, 4.0]), of([], 2)
        for merged in (large.merge(small), small.merge(large), ValueCounts.empty(2).merge(large)):
            assert merged.limit == 2
            assert len(merged.keys) <= 2
            assert merged.total == 4


class TestLimit:
    @bounded
    @given(values=value_lists, limit=limits)
    def test_the_fewest_bits_are_dropped_that_keep_the_table_small(
        self, values: list[float], limit: int
    ) -> None:
        keys = {int(key) for key in order_keys(np.array(values, np.float64))}
        expected = next(shift for shift in range(65) if len({key >> shift for key in keys}) <= limit)
        table = of(values, limit)
        assert table.shift == expected
        assert table.exact == (len(keys) <= limit)
        assert table.keys.tolist() == sorted({key >> expected for key in keys})

    def test_a_table_with_dropped_bits_has_no_values(self) -> None:
        table = of([1.0, 2.0, 3.0], 2)
        with pytest.raises(ValueError, match="no distinct values"):
            _ = table.values
