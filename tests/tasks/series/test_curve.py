"""Quantiles from counts are those of NumPy and pandas on the flat values, bit for bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.series.counts import ValueCounts
from tasks.series.curve import MARKS, Ranks, curve_of, published_levels, quantiles

finite = st.floats(-1e150, 1e150) | st.sampled_from([0.0, 1.0, 97.0, 0.1])


@settings(max_examples=150, deadline=None)
@given(values=st.lists(finite, min_size=1, max_size=60))
def test_the_published_curve_is_that_of_pandas(values: list[float]) -> None:
    expected = pd.Series(values).quantile(np.linspace(0, 1, 1000)).to_numpy()
    found = curve_of(ValueCounts.of(np.array(values)), published_levels())
    assert (found + 0.0).tobytes() == (expected + 0.0).tobytes()


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(finite, min_size=1, max_size=20, unique=True),
    counts=st.lists(st.integers(1, 300), min_size=20, max_size=20),
    levels=st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_any_levels_in_any_order(values: list[float], counts: list[int], levels: list[float]) -> None:
    ascending, counted = np.sort(np.array(values)), np.array(counts[: len(values)])
    found = quantiles(ascending, counted, np.array(levels))
    expected = np.quantile(np.repeat(ascending, counted), levels)
    assert (found + 0.0).tobytes() == (expected + 0.0).tobytes()


@pytest.mark.parametrize("count", [1, 2, 3, 999, 1000, 1001, 12_345])
def test_any_number_of_values(count: int) -> None:
    values = np.random.default_rng(count).lognormal(0, 5, count)
    expected = pd.Series(values).quantile(np.linspace(0, 1, 1000)).to_numpy()
    assert curve_of(ValueCounts.of(values), published_levels()).tobytes() == expected.tobytes()


def test_the_middle_between_two_values_is_computed_from_the_upper_one() -> None:
    # 1.7 + 2.4 / 2 and 4.1 - 2.4 / 2 differ in the last bit; NumPy gives the second.
    found = curve_of(ValueCounts.of(np.array([1.7, 4.1])), np.array([0.5]))
    assert found.tolist() == [np.quantile([1.7, 4.1], 0.5)] == [2.9]


def test_billions_of_values_need_no_memory() -> None:
    counts = np.array([3_000_000_000, 5_000_000_000], np.int64)
    found = quantiles(np.array([0.0, 1.0]), counts, np.array([0.0, 0.374, 0.376, 1.0]))
    assert found.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_ends_are_the_least_and_the_greatest_value() -> None:
    table = ValueCounts.of(np.array([3.0, -1.0, 7.5]))
    assert curve_of(table, np.array([0.0, 1.0])).tolist() == [-1.0, 7.5]


def test_published_levels_are_a_thousand_equal_steps() -> None:
    assert published_levels().tobytes() == np.linspace(0, 1, 1000).tobytes()
    assert set(MARKS) >= {0.5, 0.95, 0.99}


def test_nothing_has_no_quantiles() -> None:
    with pytest.raises(ValueError, match="no values"):
        Ranks.at(0, published_levels())


def test_a_table_with_dropped_bits_has_no_curve() -> None:
    with pytest.raises(ValueError, match="no distinct values"):
        curve_of(ValueCounts.of(np.arange(10.0), limit=4), published_levels())


def test_needed_ranks_are_few_and_inside() -> None:
    needed = Ranks.at(50_000, published_levels()).needed()
    assert len(needed) <= 2000
    assert (needed[0], needed[-1]) == (0, 49_999)
    assert np.all(np.diff(needed) > 0)
