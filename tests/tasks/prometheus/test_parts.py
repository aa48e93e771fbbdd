"""From series to cells: label sets of one entity laid over each other, and never a silently wrong number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import EntityUnclear, QueryRefused
from tasks.prometheus.answers import RangeAnswer, RangeSeries
from tasks.prometheus.parts import Part, Rule, part_of
from tasks.prometheus.spans import Span

SPAN = Span(1_714_953_600, 8, 15)
RULE = Rule(("{host}-{gpu}[:{GPU_I_ID}]",))
NAN = float("nan")


def series(values: list[float], **labels: str) -> RangeSeries:
    """A series with a sample at each instant whose value is not None."""
    at = [i for i, value in enumerate(values) if value is not None]
    times = np.array([SPAN.start_s + SPAN.step_s * i for i in at], np.float64)
    return RangeSeries({"host": "a", "gpu": "0", **labels}, times, np.array([values[i] for i in at], float))


def part(*found: RangeSeries, rule: Rule = RULE) -> Part:
    return part_of(RangeAnswer(found, ()), SPAN, rule)


def test_pods_after_one_another_are_one_gpu() -> None:
    got = part(series([1, 2, 3], pod="x"), series([None, None, None, None, 5, 6], pod="y"))
    assert got.entities == ("a-0",)
    assert np.array_equal(got.values[:, 0], [1, 2, 3, NAN, 5, 6, NAN, NAN], equal_nan=True)
    assert got.notes.conflicts == 0


def test_pods_that_share_a_gpu_and_its_values_are_one_gpu() -> None:
    got = part(series([1, 2, 3], pod="x"), series([1, 2, 3, 4], pod="y"))
    assert got.values[:4, 0].tolist() == [1, 2, 3, 4]
    assert got.notes.conflicts == 0


@pytest.mark.parametrize("order", [1, -1])
def test_different_values_at_one_time_are_blank_counted_and_named(order: int) -> None:
    found = (series([1, 2, 3], pod="x"), series([None, 7, 3, 4], pod="y"))[::order]
    got = part(*found)
    assert np.array_equal(got.values[:4, 0], [1, NAN, 3, 4], equal_nan=True)
    assert got.notes.conflicts == 1
    assert 'pod="x"' in got.notes.conflict
    assert 'pod="y"' in got.notes.conflict


def test_a_third_value_does_not_fill_what_two_disagree_on() -> None:
    got = part(series([1], pod="x"), series([2], pod="y"), series([1], pod="z"))
    assert got.entities == ()
    assert got.notes.conflicts == 1


def test_two_gpus_of_one_name_are_an_error_that_names_both() -> None:
    with pytest.raises(EntityUnclear) as caught:
        part(series([1, 2], UUID="GPU-1"), series([None, 3], UUID="GPU-2"))
    assert 'UUID="GPU-1"' in str(caught.value)
    assert 'UUID="GPU-2"' in str(caught.value)


def test_a_gpu_that_replaces_another_takes_its_place() -> None:
    got = part(series([1, 2], UUID="GPU-1"), series([None, None, 3], UUID="GPU-2"))
    assert got.values[:3, 0].tolist() == [1, 2, 3]


def test_mig_instances_are_entities_of_their_own() -> None:
    got = part(series([1], GPU_I_ID="1"), series([2], GPU_I_ID="2"))
    assert got.entities == ("a-0:1", "a-0:2")


def test_what_is_no_number_is_blank_and_counted() -> None:
    got = part(series([1, NAN, np.inf, -np.inf, 5]))
    assert np.array_equal(got.values[:5, 0], [1, NAN, NAN, NAN, 5], equal_nan=True)
    assert (got.notes.samples, got.notes.not_numbers, got.notes.infinite) == (5, 1, 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_values_are_scaled_and_rounded_as_numpy_does(values: list[float]) -> None:
    got = part(series([*values]), rule=Rule(RULE.templates, 1.0, 100.0, 3))
    assert got.values[: len(values), 0].tolist() == np.round(np.array(values) * 100, 3).tolist()


def test_a_zero_has_no_sign() -> None:
    got = part(series([-0.0, -1e-9]), rule=Rule(RULE.templates, 1.0, 1.0, 3))
    assert [str(value) for value in got.values[:2, 0]] == ["0.0", "0.0"]


def test_instants_that_were_not_asked_for_are_refused() -> None:
    stray = RangeSeries({"host": "a", "gpu": "0"}, np.array([SPAN.start_s + 1.0]), np.array([1.0]))
    with pytest.raises(QueryRefused):
        part(stray)


@given(st.integers(0, 4), st.data())
def test_a_part_survives_being_kept(columns: int, data: st.DataObject) -> None:
    names = data.draw(st.lists(st.text(min_size=1), min_size=columns, max_size=columns, unique=True))
    cell = st.floats(allow_infinity=False)
    cells = data.draw(st.lists(cell, min_size=columns * SPAN.rows, max_size=columns * SPAN.rows))
    values = np.array(cells, float).reshape(SPAN.rows, columns)
    made = Part(SPAN, tuple(names), values, part(series([1, 2], pod="x"), series([3], pod="y")).notes)
    back = Part.from_bytes(made.to_bytes())
    assert (back.span, back.entities, back.notes) == (made.span, made.entities, made.notes)
    assert np.array_equal(back.values, values, equal_nan=True)
