"""Answers of a server: every number is the double that the server has, whatever stands around it."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import QueryRefused
from tasks.prometheus.answers import parse_answer


def text_of(value: float) -> str:
    """A double as Prometheus writes it: no exponent, as few digits as tell it apart."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return format(Decimal(repr(value)), "f")


def answer(*series: tuple[dict[str, str], list[tuple[float, float]]], **more: object) -> dict[str, object]:
    result = [
        {"metric": labels, "values": [[time, text_of(value)] for time, value in points]}
        for labels, points in series
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}


def compact(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


@given(st.lists(st.floats(), min_size=1, max_size=30))
def test_numbers_are_the_doubles_of_the_server(values: list[float]) -> None:
    body = compact(answer(({"gpu": "0"}, [(1714953600 + 15 * i, v) for i, v in enumerate(values)])))
    (series,) = parse_answer(body).series
    assert np.array_equal(series.values, np.array(values), equal_nan=True)
    assert series.times.tolist() == [1714953600 + 15 * i for i in range(len(values))]


@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(), st.text(min_size=1)), st.floats(allow_nan=False)), max_size=5
    ),
    st.booleans(),
)
def test_any_layout_of_the_json_gives_the_same(
    found: list[tuple[dict[str, str], float]], spaced: bool
) -> None:
    content = answer(*((labels, [(1.5, value), (2, value)]) for labels, value in found))
    body = json.dumps(content, indent=2).encode() if spaced else compact(content)
    series = parse_answer(body).series
    kept = [{k: v for k, v in labels.items() if k != "__name__"} for labels, _ in found]
    assert [one.labels for one in series] == kept
    assert [one.values.tolist() for one in series] == [[value, value] for _, value in found]


def test_a_label_that_looks_like_an_answer_stays_a_label() -> None:
    label = '"values":[[1,"2"]]'
    (series,) = parse_answer(compact(answer(({"evil": label}, [(1, 7.0)])))).series
    assert series.labels == {"evil": label}
    assert series.values.tolist() == [7.0]


def test_no_series_is_an_answer() -> None:
    assert parse_answer(compact(answer())).series == ()


def test_warnings_are_kept_and_remarks_on_the_query_are_not() -> None:
    body = compact(answer(warnings=["store 3 is gone", "PromQL info: metric might not be a counter"]))
    assert parse_answer(body).warnings == ("store 3 is gone",)


def test_an_answer_that_calls_itself_partial_is_warned_of() -> None:
    assert parse_answer(compact(answer(isPartial=True))).warnings == ("the answer is partial",)
    assert parse_answer(compact(answer(isPartial=False))).warnings == ()


@pytest.mark.parametrize(
    "body",
    [
        compact(answer(({}, [(1, 2.0)])))[:-9],
        b'{"status":"success"}',
        b'{"status":"success","data":{"resultType":"vector","result":[]}}',
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"x"]]}]}}',
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":5}]}}',
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1]]}]}}',
        b"[]",
    ],
)
def test_what_is_no_answer_is_refused(body: bytes) -> None:
    with pytest.raises(QueryRefused):
        parse_answer(body)


def test_histograms_are_refused_by_name() -> None:
    content = answer()
    content["data"]["result"] = [{"metric": {}, "histograms": [[1, {"count": "3"}]]}]  # type: ignore[index]
    with pytest.raises(QueryRefused, match="histogram"):
        parse_answer(compact(content))
