"""A summary travels as bytes without a loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import pytest

from tasks.series.summary import SeriesSummary
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]


@pytest.mark.parametrize(
    "text",
    [
        "Time,10.0.0.1-0,10.0.0.1-1\n2023-08-01 00:00:00+08:00,1.5,\n2023-08-01 01:00:00+08:00,0.1,x\n",
        "Time\n",
        "",
    ],
)
def test_bytes_give_the_same_summary(
    text: str, write: Write, summarise: Callable[..., SeriesSummary]
) -> None:
    summary = summarise(write(text), cluster="kalos", name="FB_USED")
    back = SeriesSummary.from_bytes(summary.to_bytes())
    assert back.record == summary.record
    assert len(back.curves) == len(summary.curves)
    for left, right in zip(back.curves, summary.curves, strict=True):
        assert (left.cluster, left.metric, left.period, left.count) == (
            right.cluster,
            right.metric,
            right.period,
            right.count,
        )
        assert (left.values.tobytes(), left.levels.tobytes()) == (
            right.values.tobytes(),
            right.levels.tobytes(),
        )
        assert (left.marks, left.zero_share) == (right.marks, right.zero_share)
    pd.testing.assert_frame_equal(back.entities, summary.entities)
    pd.testing.assert_frame_equal(back.hourly, summary.hourly)


def test_a_failed_series_has_a_record_and_no_number(
    write: Write, summarise: Callable[..., SeriesSummary]
) -> None:
    text = "Time,10.0.0.1-0\n2023-08-01 00:00:00+08:00,x\n2023-08-01 00:00:15+08:00,5\n"
    summary = summarise(write(text), cluster="kalos", name="FB_USED")
    assert summary.record.verdict == "failed"
    assert (summary.curves, len(summary.entities), len(summary.hourly)) == ((), 0, 0)
    assert summary.record.observed.values == 1


def test_curves_are_finite_and_ascending(write: Write, summarise: Callable[..., SeriesSummary]) -> None:
    text = "Time,a\n" + "".join(f"{i},{(i * 7919) % 1013 / 3!r}\n" for i in range(500))
    (curve,) = summarise(write(text)).curves
    assert all(math.isfinite(value) for value in curve.values)
    assert all(a <= b for a, b in zip(curve.values[:-1], curve.values[1:], strict=True))
    assert len(curve.values) == len(curve.levels) == 1000
