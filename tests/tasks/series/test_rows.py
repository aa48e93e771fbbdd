"""Delimiters of a row, and what stands before each, found many bytes at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.series.rows import ROOM, index_row, next_line
from tasks.series.swar import PADDING

BEFORE = "1234567"


@settings(max_examples=300, deadline=None)
@given(cells=st.lists(st.text('0123456789.\r "x', max_size=30), min_size=1, max_size=200))
def test_all_delimiters_of_a_line_are_found_with_the_bytes_up_to_them(cells: list[str]) -> None:
    line = ",".join(cells) + "\n"
    data = (BEFORE + line).encode()
    buf = np.frombuffer(data + b",5\n" + b"6" * PADDING, np.uint8)
    ends, words = np.zeros(len(cells) + ROOM, np.int32), np.zeros(len(cells) + ROOM, np.uint64)
    found = index_row(buf, len(BEFORE), len(cells), 0, ends, words)
    places = [i for i, byte in enumerate(data) if i >= len(BEFORE) and byte in b",\n"]
    assert ends[:found].tolist() == places
    seen = [int(word).to_bytes(8, "little") for word in words[:found]]
    assert seen == [data[place - 7 : place] + b"," for place in places]


def test_counting_stops_soon_behind_the_cells_of_a_row() -> None:
    for cells in (1, 10, 100):
        ends, words = np.zeros(cells + ROOM, np.int32), np.zeros(cells + ROOM, np.uint64)
        buf = np.frombuffer(BEFORE.encode() + b"," * 5000 + b"\n" + bytes(PADDING), np.uint8)
        found = index_row(buf, len(BEFORE), cells, 0, ends, words)
        assert cells < found <= cells + 64


def test_the_next_line_is_found_at_any_distance() -> None:
    for length in range(40):
        buf = np.frombuffer(b"," * length + b"\n" + b"\n" * PADDING, np.uint8)
        assert next_line(buf, 0) == length + 1
