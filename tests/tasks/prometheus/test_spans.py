"""Rows and chunks: every instant of a period once, on a grid that a later run finds again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.prometheus.spans import MOST_ROWS, SAMPLES_A_CHUNK, Span, chunk_rows, span_of

spans = st.builds(Span, st.integers(0, 10**9), st.integers(1, 50_000), st.integers(1, 600))


def instants(span: Span) -> range:
    return range(span.start_s, span.last_s + 1, span.step_s)


@given(spans, st.sampled_from([1 << n for n in range(14)]))
def test_chunks_hold_every_instant_once(span: Span, rows: int) -> None:
    assert [time for chunk in span.cut(rows) for time in instants(chunk)] == list(instants(span))


@given(spans.filter(lambda span: span.rows > 1))
def test_halves_hold_every_instant_once_and_lie_on_the_grid(span: Span) -> None:
    first, second = span.halves()
    assert [*instants(first), *instants(second)] == list(instants(span))
    assert first.rows & (first.rows - 1) == 0
    assert first.rows < span.rows


@given(st.integers(0, 10**12), st.integers(1, 10**10), st.integers(1, 86_400))
def test_rows_are_the_multiples_of_the_step_in_the_period(since: int, length: int, step: int) -> None:
    try:
        span = span_of(since, since + length, step)
    except UsageError:
        assert -(-since // (step * 1000)) * step * 1000 >= since + length
        return
    assert span.start_s % step == 0
    assert since <= span.start_s * 1000 < since + step * 1000
    assert span.last_s * 1000 < since + length <= (span.last_s + step) * 1000


@pytest.mark.parametrize(("since", "until"), [(5, 5), (6, 5), (1, 2)])
def test_a_period_without_an_instant_is_refused(since: int, until: int) -> None:
    with pytest.raises(UsageError):
        span_of(since, until, 15)


@given(st.integers(0, 10**7))
def test_an_answer_stays_below_the_limits(series: int) -> None:
    rows = chunk_rows(series)
    assert 1 <= rows <= MOST_ROWS < 11_000
    assert rows * series <= SAMPLES_A_CHUNK or rows == 1
