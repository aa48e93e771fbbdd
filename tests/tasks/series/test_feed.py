"""Each line is handed to exactly one block, the one it begins in, and its neighbour sees it once."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import NotASeries
from tasks.series.feed import cell_text, feed, iso_text
from tasks.series.spec import Block
from tasks.series.swar import PADDING
from tasks.storage.digest import file_digest, joined
from tasks.storage.source import FileRef, open_reader

Write = Callable[..., FileRef]


class Collector:
    """Keeps the lines it is given, with their places in the file."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.bytes_read = 0
        self.leaves = b""
        self.lines: list[tuple[int, bytes]] = []
        self.peeked: list[tuple[int, bytes]] = []

    def run(self, array: np.ndarray, place: int, stop: int, base: int, *, peek: bool) -> int:
        assert len(array) >= stop + PADDING
        while place < stop:
            end = array[place:].tobytes().index(b"\n") + place
            (self.peeked if peek else self.lines).append((base + place, array[place:end].tobytes()))
            place = end + 1
        return place


def collect(ref: FileRef, data_start: int, edges: list[int], chunk_bytes: int) -> list[Collector]:
    found = []
    for a, b in itertools.pairwise(edges):
        scan = Collector(Block(ref, a, b, data_start))
        with open_reader(ref) as reader:
            feed(scan, reader, chunk_bytes)
        found.append(scan)
    return found


texts = st.lists(st.text("ab,\r", max_size=12), max_size=8).map("\n".join)


@settings(max_examples=120, deadline=None)
@given(text=texts, header=st.integers(1, 30), chunk=st.integers(1, 200), data=st.data())
def test_every_line_belongs_to_the_block_it_begins_in(
    text: str, header: int, chunk: int, data: st.DataObject, write: Write
) -> None:
    whole = "h" * (header - 1) + "\n" + text
    ref = write(whole)
    cuts = data.draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=6))
    edges = [0, *sorted(cuts - {len(whole)}), len(whole)]
    starts = [
        header + at for at in itertools.accumulate((len(line) + 1 for line in text.split("\n")), initial=0)
    ]
    expected = [(at, line.encode()) for at, line in zip(starts, text.split("\n"), strict=False)]
    if text.endswith("\n") or not text:
        expected.pop()
    found = collect(ref, header, edges, chunk)
    assert [line for scan in found for line in scan.lines] == expected
    for scan in found:
        assert all(scan.block.start <= at < scan.block.stop for at, _ in scan.lines)
        assert scan.peeked == [line for line in expected if line[0] >= scan.block.stop][:1]
        assert scan.bytes_read <= len(whole)
    assert joined(scan.leaves for scan in found) == file_digest(ref)


def test_a_block_reads_little_beyond_its_end(write: Write) -> None:
    ref = write("Time,a\n" + "1000,1\n" * 600_000)
    (middle,) = collect(ref, 7, [1 << 20, 2 << 20], 1 << 21)
    assert middle.bytes_read <= (1 << 20) + (64 << 10) + 1


def test_a_line_without_end_is_no_row(write: Write) -> None:
    ref = write("Time,a\n")
    endless = FileRef(ref.url, 1 << 60, ref.version)

    class Endless:
        def read_into(self, offset: int, buffer: memoryview) -> int:
            return len(buffer)

    with pytest.raises(NotASeries, match="has a line of more than"):
        feed(Collector(Block(endless, 0, 1 << 60, 7)), Endless(), (256 << 20) + 1)


class TestTexts:
    @pytest.mark.parametrize(
        ("line", "text"),
        [
            *[
                ("12.5,3\n", "12.5"),
                ("12.5\n", "12.5"),
                ("12.5\r\n", "12.5"),
                (" 12.5 ,", "12.5"),
                ('"a,b",', "a,b"),
            ],
            *[
                (' "5x",', "5x"),
                ('5",', "5"),
                ("\n", ""),
                (",", ""),
                ('"open\n', "open"),
                ("\u00e9\n", "\u00e9"),
            ],
            ("7" * 10_000 + ",", "7" * 10_000),
        ],
    )
    def test_of_a_cell(self, line: str, text: str) -> None:
        data = b"xx" + line.encode() + bytes(PADDING)
        assert cell_text(np.frombuffer(data, np.uint8), 2) == text

    def test_bytes_that_are_no_text_are_shown_replaced(self) -> None:
        assert cell_text(np.frombuffer(b"\xff5,", np.uint8), 0) == "\ufffd5"

    def test_of_a_time(self) -> None:
        assert iso_text(1_690_819_200_999) == "2023-07-31T16:00:00+00:00"
