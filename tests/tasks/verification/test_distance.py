"""The distance of two curves is that of the samples they were made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.verification.distance import kolmogorov_smirnov

LEVELS = np.linspace(0, 100, 1000)


def plain_distance(one: list[float], other: list[float]) -> float:
    """The definition, a loop over all values."""
    return max(
        abs(sum(x <= at for x in one) / len(one) - sum(x <= at for x in other) / len(other)) * 100
        for at in [*one, *other]
    )


samples = st.lists(st.integers(0, 20).map(float), min_size=400, max_size=600)


@given(one=samples, other=samples)
def test_it_equals_the_distance_of_the_samples_to_the_step_of_the_levels(one, other) -> None:
    quantiles = [np.quantile(sample, LEVELS / 100, method="inverted_cdf") for sample in (one, other)]
    found = kolmogorov_smirnov(quantiles[0], LEVELS, quantiles[1], LEVELS)
    # A level lies within 0.1 point of each step of each sample.
    assert found == pytest.approx(plain_distance(one, other), abs=0.21)


def test_a_curve_has_no_distance_to_itself() -> None:
    values = np.repeat([0.0, 3.0, 100.0], [500, 400, 100])
    assert kolmogorov_smirnov(values, LEVELS, values, LEVELS) == 0


def test_the_same_curve_at_fewer_levels_has_no_distance() -> None:
    values = np.linspace(0, 10, 1000)
    assert kolmogorov_smirnov(values, LEVELS, values[::27], LEVELS[::27]) == pytest.approx(0, abs=1e-9)


def test_curves_apart_have_the_whole_distance_and_either_order_gives_the_same() -> None:
    low, high = np.linspace(0, 1, 1000), np.linspace(2, 3, 1000)
    assert kolmogorov_smirnov(low, LEVELS, high, LEVELS) == 100
    assert kolmogorov_smirnov(high, LEVELS, low, LEVELS) == 100


def test_a_shift_of_ties_counts_as_the_step_it_is() -> None:
    half = np.repeat([0.0, 1.0], 500)
    most = np.repeat([0.0, 1.0], [800, 200])
    assert kolmogorov_smirnov(half, LEVELS, most, LEVELS) == pytest.approx(30, abs=0.11)
