"""Areas in proportion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.plots.treemap import squarified

values = st.lists(st.floats(0, 1e6), min_size=1, max_size=12).map(lambda found: sorted(found, reverse=True))


@given(values, st.floats(0.1, 10), st.floats(0.1, 10))
def test_areas_are_in_proportion_and_inside(shares: list[float], width: float, height: float) -> None:
    boxes = squarified(shares, width, height)
    total = sum(shares)
    assert len(boxes) == len(shares)
    for share, (x, y, wide, high) in zip(shares, boxes, strict=True):
        expected = share / total * width * height if total else 0.0
        assert wide * high == pytest.approx(expected, rel=1e-6, abs=1e-8 * width * height)
        if expected > 1e-8 * width * height:
            assert -1e-6 <= x <= x + wide <= width * (1 + 1e-6)
            assert -1e-6 <= y <= y + high <= height * (1 + 1e-6)


def test_two_halves_lie_side_by_side() -> None:
    assert squarified([1, 1], 2, 1) == [(0.0, 0.0, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0)]
