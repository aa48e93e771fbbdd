"""The compiled pass over lines: what it counts, where it stops, what it leaves to its caller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tasks.series import kernel, registers
from tasks.series.cells import BAD, BLANK, STAGES
from tasks.series.kernel import scan_lines
from tasks.series.registers import Params, Registers, new_registers
from tasks.series.spec import ScanSpec
from tasks.series.swar import PADDING

NONE = (np.empty(0, np.int64), np.empty(0))


def scanned(
    text: str, columns: int, *, peek: bool = False, **spec: Any
) -> tuple[Registers, Params, int, int]:
    params = ScanSpec(**spec).params(columns)
    registers = new_registers(params)
    place, why = run(text, params, registers, peek=peek)
    return registers, params, place, why


def run(text: str, params: Params, registers: Registers, *, peek: bool = False) -> tuple[int, int]:
    buf = np.frombuffer(text.encode() + bytes(PADDING), np.uint8)
    return scan_lines(buf, 0, len(text), 1000, peek, params, registers, *NONE)


def test_rows_blanks_and_bad_cells_stand_in_the_histogram() -> None:
    r, _, place, why = scanned("1000,7,,x\n1015,7,0,\n", 3, span=10)
    assert (place, why) == (20, kernel.DONE)
    counts = r.histogram.sum(axis=0)
    assert (counts[7 + STAGES], counts[0 + STAGES]) == (2, 1)
    assert (counts[BLANK + STAGES], counts[BAD + STAGES]) == (2, 1)
    assert counts.sum() == 6


def test_a_ragged_row_leaves_no_trace_in_the_numbers() -> None:
    r, *_ = scanned("1000,7,99999,2.5\n1015,7\n1030,1,2,3,4\n1045,1,2,x,4\n", 3, span=10)
    assert r.at[registers.ROWS] == 1
    assert r.at[registers.LINES] == 4
    assert r.events[registers.RAGGED_ROW] == 3
    assert r.events[registers.BAD_CELL] == 0
    assert r.histogram.sum() == 3
    assert r.at[registers.REALS] == 2


def test_a_peeked_line_is_compared_and_not_counted() -> None:
    params = ScanSpec(interval_ms=15_000).params(1)
    r = new_registers(params)
    run("1000,7\n", params, r)
    assert run("1015,8\n1030,9\n", params, r, peek=True) == (7, kernel.DONE)
    assert (r.at[registers.ROWS], r.at[registers.LINES], r.at[registers.STAMPS]) == (1, 1, 2)
    assert r.stamps[1].tolist() == [1_015_000, 15_000, registers.PEEKED, 1000]
    assert r.changed.sum() == 1
    assert r.histogram.sum() == 1


@pytest.mark.parametrize("line", ["\n", "\r\n", "soon,7\n", "1000\n"])
def test_a_peeked_line_that_is_no_row_is_passed_over(line: str) -> None:
    r, _, place, _ = scanned(line, 1, peek=True)
    assert place == len(line)
    assert (r.at[registers.LINES], r.at[registers.STAMPS], r.events.sum()) == (0, 0, 0)


def test_a_number_that_only_float_decides_stops_before_its_line() -> None:
    hard = f"{2**53 + 1}.{'0' * 30}1"
    text = f"1000,1\n1015,{hard}\n"
    r, _, place, why = scanned(text, 1)
    assert (place, why) == (7, kernel.ASK_FLOAT)
    assert r.at[registers.ASKED] == text.index(hard)
    assert r.at[registers.ROWS] == 1


@pytest.mark.parametrize(
    ("room", "lines"),
    [
        (registers.STAMP_ROOM, [f"{i % 60},1\n" for i in range(registers.STAMP_ROOM + 5)]),
        (registers.HOUR_ROOM, [f"{3600 * i},1\n" for i in range(registers.HOUR_ROOM + 5)]),
    ],
)
def test_it_stops_before_its_rooms_are_full(room: int, lines: list[str]) -> None:
    r, _, place, why = scanned("".join(lines), 1)
    assert why == kernel.FULL
    assert r.at[registers.ROWS] <= room
    assert place == sum(map(len, lines[: r.at[registers.ROWS]]))


def test_changes_are_counted_by_parity_between_rows_one_interval_apart() -> None:
    text = "0,1,1\n15,2,\n30,2,3\n45,5,3\n90,9,9\n"
    r, *_ = scanned(text, 2, interval_ms=15_000)
    assert r.changed.tolist() == [[0, 0], [2, 0]]
    assert scanned(text, 2, interval_ms=0)[0].changed.sum() == 0
