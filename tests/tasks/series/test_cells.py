"""Both cell readers give what Python's float gives, and agree with each other."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from tasks.series.cells import (
    BAD,
    BLANK,
    GENERAL,
    SLOW,
    any_cell,
    cell_bounds,
    fast_cell,
    fixed_point,
    is_missing_word,
)
from tasks.series.swar import PADDING, load64

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NOTHING = (np.empty(0, np.int64), np.empty(0))

# Heavy on digits, so that most texts are nearly numbers.
near_numbers = st.text("0123456789" * 3 + '.-+eE" xna\t', max_size=12)
decimals_of = st.integers(0, 5)
spans = st.sampled_from([1, 10, 1001, 100_001, 1 << 17])


@njit
def _fast(buf: np.ndarray, last: bool, decimals: int, span: int) -> tuple[int, int]:
    return fast_cell(load64(buf, 0), last, decimals, span)


def buffer(text: str, end: str, behind: str = "9") -> np.ndarray:
    """The text with its delimiter, in front of bytes that must not matter."""
    return np.frombuffer((text + end).encode() + behind.encode() * PADDING + bytes(PADDING), np.uint8)


def fast(text: str, *, last: bool = False, decimals: int = 1, span: int = 1001) -> tuple[int, int]:
    return _fast(buffer(text, "\n" if last else ","), last, decimals, span)


def slow(text: str, end: str = ",", decimals: int = 1, span: int = 1001) -> tuple[int, float, int]:
    return any_cell(buffer(text, end), 0, decimals, span, *NOTHING)


def meaning(text: str) -> float | str:
    """What a cell of a CSV file means: a finite number, blank or bad. `float` decides the numbers."""
    text = text.strip(" \t")
    if text.startswith('"'):
        inner, _, behind = text[1:].partition('"')
        if '"' not in text[1:] or behind.strip(" \t"):
            return "bad"
        text = inner.strip(" \t")
    if not text or (text.lower().lstrip("+-") == "nan" and len(text) <= 4) or text in ("NA", "NULL"):
        return "blank"
    if not NUMBER.fullmatch(text) or math.isinf(float(text)):
        return "bad"
    return float(text)


class TestDifferential:
    @settings(max_examples=800, deadline=None)
    @given(text=near_numbers, decimals=decimals_of, span=spans)
    @example(text='5"', decimals=1, span=1001)
    @example(text='" 5 "', decimals=1, span=1001)
    @example(text='" "', decimals=1, span=1001)
    @example(text='"5"x', decimals=1, span=1001)
    @example(text='"5', decimals=1, span=1001)
    @example(text=" 12.5\t", decimals=1, span=1001)
    @example(text="nan", decimals=1, span=1001)
    def test_any_cell_is_float(self, text: str, decimals: int, span: int) -> None:
        staged, value, end = slow(text, ",", decimals, span)
        expected = meaning(text)
        if text.strip(" \t").startswith('"') and text.count('"') == 1:
            return  # an open quote takes the comma; see TestBounds
        assert end == len(text)
        if isinstance(expected, str):
            assert staged == (BLANK if expected == "blank" else BAD)
            return
        assert value == expected
        if staged == GENERAL:
            assert not any(k / 10**decimals == value for k in near(value, decimals) if 0 <= k < span)
        else:
            assert 0 <= staged < span
            assert staged / 10**decimals == value

    @settings(max_examples=800, deadline=None)
    @given(
        text=st.text("0123456789" * 3 + ".- e,", max_size=9),
        last=st.booleans(),
        decimals=decimals_of,
        span=spans,
    )
    def test_fast_cell_agrees_or_declines(self, text: str, last: bool, decimals: int, span: int) -> None:
        end = "\n" if last else ","
        text = text.replace(",", "") if not last else text
        staged, length = fast(text, last=last, decimals=decimals, span=span)
        if staged == SLOW:
            return
        assert "," not in text
        assert length == len(text)
        assert staged == slow(text, end, decimals, span)[0]

    @pytest.mark.parametrize(
        ("text", "decimals", "staged"),
        [
            *[("", 0, BLANK), ("0", 0, 0), ("0.0", 0, 0), ("98.0", 0, 98), ("98.00", 0, 98), ("5.", 0, 5)],
            *[(".5", 1, 5), ("12.3", 1, 123), ("12.3", 3, 12_300), ("007.5", 1, 75), ("99.999", 3, 99_999)],
            *[
                ("9999999", 0, SLOW),
                ("12345678", 0, SLOW),
                ("1.25", 1, SLOW),
                (".", 1, SLOW),
                (".0", 0, SLOW),
            ],
            *[("1.2.3", 1, SLOW), ("-1", 0, SLOW), ("+1", 0, SLOW), (" 1", 0, SLOW), ("1e3", 0, SLOW)],
        ],
    )
    def test_the_common_cell_is_read_fast(self, text: str, decimals: int, staged: int) -> None:
        for last in (False, True):
            assert fast(text, last=last, decimals=decimals, span=1 << 17)[0] == staged

    @settings(max_examples=300, deadline=None)
    @given(units=st.integers(0, 99_999), decimals=st.integers(0, 3), point=st.booleans())
    def test_released_numbers_need_no_slow_path(self, units: int, decimals: int, point: bool) -> None:
        whole, part = divmod(units, 10**decimals)
        text = f"{whole}.{part:0{decimals}d}" if decimals else f"{whole}.0" if point else f"{whole}"
        if len(text) <= 7:
            assert fast(text, decimals=decimals, span=1 << 17) == (units, len(text))

    def test_what_is_behind_the_cell_does_not_matter(self) -> None:
        for behind in "0.,\n\x00\xff":
            assert _fast(buffer("12.5", ",", behind), False, 1, 1001) == (125, 4)
            assert any_cell(buffer("12.5", ",", behind), 0, 1, 1001, *NOTHING) == (125, 12.5, 4)


def near(value: float, decimals: int) -> list[int]:
    """The integers that could be `value` in fixed point."""
    scaled = value * 10**decimals
    return [] if abs(scaled) > 1e9 else [int(scaled) + step for step in (-1, 0, 1)]


class TestFixedPoint:
    @settings(max_examples=500, deadline=None)
    @given(units=st.integers(0, 99_999), decimals=st.integers(0, 9))
    def test_every_written_unit_is_found_again(self, units: int, decimals: int) -> None:
        assert fixed_point(float(f"{units}e-{decimals}"), decimals, 100_000) == units

    @pytest.mark.parametrize("value", [0.15000000000000002, -0.1, 100.1, 1e300, -1e300, 5e-324])
    def test_everything_else_is_general(self, value: float) -> None:
        assert fixed_point(value, 1, 1001) == GENERAL

    def test_minus_zero_is_zero(self) -> None:
        assert fixed_point(-0.0, 1, 1001) == 0


class TestAskedNumbers:
    def test_a_number_that_19_digits_do_not_decide_is_asked_for_and_looked_up(self) -> None:
        text = f"{2**53 + 1}.{'0' * 30}1"
        _, _, end = slow(f" {text}")
        assert end == -1 - 1
        solved = (np.array([1]), np.array([float(text)]))
        staged, value, end = any_cell(buffer(f" {text}", ","), 0, 1, 1001, *solved)
        assert (staged, value, end) == (GENERAL, float(2**53 + 2), len(text) + 1)


class TestBounds:
    @pytest.mark.parametrize(
        ("text", "inner", "end"),
        [
            *[("5,", "5", 1), (" 5 ,", "5", 3), ('"5",', "5", 3), ('" 5 ",', "5", 5), (' "5" ,', "5", 5)],
            *[("5\r\n", "5", 2), ('"5"\r\n', "5", 4), ("\r\n", "", 1), (",", "", 0), ('"",', "", 2)],
            *[('"a,b",', "a,b", 5), ('"5"x,', '5"x', 4), ('5"x,', '5"x', 3)],
        ],
    )
    def test_quotes_and_outer_spaces_are_no_text(self, text: str, inner: str, end: int) -> None:
        begin, stop, place = cell_bounds(buffer(text, ""), 0)
        assert (text[begin:stop], place) == (inner, end)

    def test_a_quote_that_is_not_closed_ends_with_the_line_and_is_bad(self) -> None:
        assert cell_bounds(buffer('"5,6\n', ""), 0) == (-1, -1, 4)
        assert slow('"5,6', "\n") == (BAD, 0.0, 4)


class TestMissingWords:
    @pytest.mark.parametrize(
        "word", ["nan", "NaN", "-nan", "+NAN", "NA", "N/A", "#N/A N/A", "<NA>", "null", "None"]
    )
    def test_are_missing(self, word: str) -> None:
        assert is_missing_word(buffer(word, ","), 0, len(word))

    @pytest.mark.parametrize("word", ["na", "none", "nanx", "--nan", "NAN1", "0", "-", "n", "N/", "Null"])
    def test_others_are_not(self, word: str) -> None:
        assert not is_missing_word(buffer(word, ","), 0, len(word))
