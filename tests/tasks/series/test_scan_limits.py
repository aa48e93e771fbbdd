"""A scan refuses a file that changed under it, and its memory does not grow with the file."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from schemas.errors import FileChanged
from tasks.series.feed import CHUNK_BYTES
from tasks.series.head import read_head
from tasks.series.scan import scan_block
from tasks.series.spec import Block, ScanSpec
from tasks.series.units import SMALLEST_BLOCK
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]


class TestFailures:
    def test_a_file_that_changed_since_the_plan_is_refused(self, write: Write, table: Any) -> None:
        ref = write(table([["1"]] * 5))
        with open(ref.url, "a") as file:
            file.write("2023-08-02 00:00:00+08:00,3\n")
        with pytest.raises(FileChanged):
            scan_block(Block(ref, 0, ref.size, 8), ("n0",), ScanSpec())
        assert FileChanged.transient

    def test_a_file_that_was_cut_short_is_refused(self, write: Write, table: Any) -> None:
        ref = write(table([["1"]] * 50))
        with open(ref.url, "r+b") as file:
            file.truncate(ref.size // 2)
        with pytest.raises(FileChanged):
            scan_block(Block(ref, 0, ref.size, 8), ("n0",), ScanSpec())


class TestMemory:
    def test_a_file_four_times_as_large_needs_no_more(self, write: Write) -> None:
        line = "2023-08-01 {:02d}:{:02d}:{:02d}+08:00" + ",{}.0" * 200 + "\n"
        header = "Time" + "".join(f",n{c}" for c in range(200)) + "\n"

        def peak(seconds: int) -> tuple[int, int]:
            lines = [
                line.format(i // 3600, i // 60 % 60, i % 60, *(i % 101 for _ in range(200)))
                for i in range(seconds)
            ]
            ref = write(header + "".join(lines))
            block = Block(ref, 0, ref.size, len(header))
            columns = read_head(ref).columns
            scan_block(block, columns, ScanSpec(), chunk_bytes=1 << 20)
            tracemalloc.start()
            scan_block(block, columns, ScanSpec(), chunk_bytes=1 << 20)
            used = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return ref.size, used

        small, large = peak(3000), peak(12_000)
        assert large[0] > 3.9 * small[0] > 3 * (1 << 20)
        assert large[1] <= 1.1 * small[1]

    def test_a_chunk_is_smaller_than_any_block_but_the_users_own(self) -> None:
        assert CHUNK_BYTES < SMALLEST_BLOCK
