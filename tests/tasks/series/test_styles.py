"""Cells read a row at a time are what a cell alone is, or are left for the reader of one cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.series.cells import BLANK, SLOW, any_cell
from tasks.series.rows import ROOM, index_row
from tasks.series.styles import (
    FIXED,
    MIXED,
    MOST_DECIMALS,
    PLAIN,
    WHOLE,
    choose_style,
    read_cells,
)
from tasks.series.swar import PADDING

NOTHING = (np.empty(0, np.int64), np.empty(0))
TIME = "1690819200"
SPAN = 1 << 17

plain = st.integers(0, 99_999).map(str)
whole = plain.map(lambda text: f"{text}.0")
fixed = st.from_regex(r"[0-9]{1,4}\.[0-9]{1,6}", fullmatch=True)
# Bytes around the digits and the point in ASCII are the ones a trick with bits takes for them.
odd = st.text("0123456789" * 2 + "./-:;+e \r\x00\x1e\x7f", max_size=12)
rows = st.lists(st.one_of(plain, whole, fixed, odd, st.just("")), min_size=1, max_size=40)
styles = st.sampled_from([(WHOLE, 0), (PLAIN, 0), *((FIXED, d) for d in range(1, MOST_DECIMALS + 1))])


def indexed(cells: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Buffer, ends and words of a row, behind bytes of another row and before those of the next."""
    text = f"99,9.9\n{TIME},{','.join(cells)}\n"
    buf = np.frombuffer(text.encode() + b"8,8.8\n" + b"7" * PADDING, np.uint8)
    ends = np.zeros(len(cells) + 1 + ROOM, np.int32)
    words = np.zeros(len(cells) + 1 + ROOM, np.uint64)
    start = text.index(TIME) + len(TIME)
    assert index_row(buf, start, len(cells) + 1, 0, ends, words) == len(cells) + 1
    return buf, ends, words


def alone(buf: np.ndarray, ends: np.ndarray, c: int, decimals: int) -> int:
    """The cell as the reader of one cell stages it."""
    staged, _, stop = any_cell(buf, ends[c] + 1, decimals, SPAN, *NOTHING)
    assert stop == ends[c + 1]
    return int(staged)


@settings(max_examples=600, deadline=None)
@given(cells=rows, style=styles, most=st.sampled_from([0, 100, 99_999, SPAN - 1]))
@example(cells=["-4"], style=(FIXED, 1), most=100)
@example(cells=["1.25\r"], style=(FIXED, 1), most=100)
@example(cells=["1234567", "123456.7", "12345.67"], style=(FIXED, 2), most=SPAN - 1)
def test_a_cell_read_by_its_style_is_what_it_is_alone(
    cells: list[str], style: tuple[int, int], most: int
) -> None:
    kind, decimals = style
    buf, ends, words = indexed(cells)
    staged = np.zeros(len(cells), np.int32)
    assert read_cells(kind, ends, words, decimals, most, staged) == (staged == SLOW).sum()
    for c, text in enumerate(cells):
        if staged[c] != SLOW:
            assert staged[c] == alone(buf, ends, c, decimals), repr(text)
            assert staged[c] <= most


@pytest.mark.parametrize(
    ("style", "decimals", "cells"),
    [
        (WHOLE, 0, ["0.0", "7.0", "95.0", "100.0", "99999.0", "", "007.0"]),
        (PLAIN, 0, ["0", "7", "95", "100", "99999", "", "0100"]),
        (FIXED, 1, ["0.0", "99.9", "12345.6", "", "0.5"]),
        (FIXED, 3, ["0.0", "0.125", "99.99", "100.0", "", "131.071"]),
        (FIXED, 6, ["0.123456", "0.1", "0.0625", ""][1:]),
    ],
)
def test_the_common_cells_of_a_style_are_read_by_it(style: int, decimals: int, cells: list[str]) -> None:
    buf, ends, words = indexed(cells)
    staged = np.zeros(len(cells), np.int32)
    assert read_cells(style, ends, words, decimals, SPAN - 1, staged) == 0
    assert staged.tolist() == [alone(buf, ends, c, decimals) for c in range(len(cells))]
    assert (staged == BLANK).tolist() == [text == "" for text in cells]
    assert choose_style(ends, words, decimals, SPAN - 1, staged) == style


def test_without_a_style_for_half_of_the_cells_each_is_read_alone() -> None:
    _, ends, words = indexed(["1e3", "-5", "17.25", "words", "4.0"])
    staged = np.zeros(5, np.int32)
    assert choose_style(ends, words, 0, SPAN - 1, staged) == MIXED
    assert choose_style(ends, words, MOST_DECIMALS + 1, SPAN - 1, staged) == MIXED
