"""Statistics of groups as tables: exact means, NaN without values, hours in UTC."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.metrics import CATALOGUE
from schemas.summaries import Entities, Hourly
from tasks.series.frames import entity_frame, hour_frame, means
from tasks.series.spec import ScanSpec
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]
finite = st.floats(-1e200, 1e200)
POWER = CATALOGUE["POWER_USAGE"]


@settings(max_examples=60, deadline=None)
@given(values=st.lists(finite, min_size=1, max_size=30), cut=st.floats(0, 1))
def test_the_mean_of_doubles_is_rounded_once(
    values: list[float], cut: float, write: Write, tally: Any
) -> None:
    ref = write("Time,a\n" + "".join(f"{i},{value!r}\n" for i, value in enumerate(values)))
    # Of fixed point only zero is left, so that every value is a double.
    counted = tally(ref, ScanSpec(span=1), cuts=[max(1, round(cut * ref.size))])
    expected = float(sum(map(Fraction, values)) / len(values))
    assert means(counted.entities, 0).tolist() == [expected]
    assert means(counted.hours, 0).tolist() == [expected]


@settings(max_examples=60, deadline=None)
@given(units=st.lists(st.integers(0, 100_000), min_size=1, max_size=30))
def test_the_mean_of_decimals_is_that_of_the_decimals(units: list[int], write: Write, tally: Any) -> None:
    ref = write("Time,a\n" + "".join(f"{i},{unit / 1000}\n" for i, unit in enumerate(units)))
    counted = tally(ref, ScanSpec(decimals=3, span=100_001))
    assert means(counted.entities, 3).tolist() == [float(Fraction(sum(units), 1000) / len(units))]


def test_a_mean_of_whole_numbers_is_that_of_fsum(write: Write, tally: Any) -> None:
    values = np.random.default_rng(1).integers(0, 100, 1000).tolist()
    ref = write("Time,a\n" + "".join(f"{i},{value}.0\n" for i, value in enumerate(values)))
    assert means(tally(ref).entities, 0).tolist() == [math.fsum(values) / 1000]


def test_entities_without_values_have_no_statistics(write: Write, tally: Any) -> None:
    counted = tally(write("Time,10.0.0.1-0,10.0.0.1-1\n1000,2.5,\n1015,0,\n"))
    found = Entities.validate(entity_frame("seren", POWER, counted.entities, 0)).set_index("entity")
    assert found.loc["10.0.0.1-1", ["mean", "min", "max", "zero_share"]].isna().all()
    assert found.loc["10.0.0.1-1", "blank"] == 2
    assert found.loc["10.0.0.1-0", ["mean", "min", "max", "zero_share"]].tolist() == [1.25, 0, 2.5, 0.5]
    assert found["node"].tolist() == ["10.0.0.1", "10.0.0.1"]


def test_hours_start_at_full_hours_of_utc(write: Write, tally: Any) -> None:
    text = "Time,10.0.0.1-0\n2023-08-01 00:30:00+05:30,1\n2023-08-01 00:29:59+05:30,3\n"
    found = Hourly.validate(hour_frame("seren", POWER, tally(write(text)).hours, 0))
    assert found["hour"].tolist() == [pd.Timestamp("2023-07-31T18:00Z"), pd.Timestamp("2023-07-31T19:00Z")]
    assert found["mean"].tolist() == [3, 1]
