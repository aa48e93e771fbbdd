"""Scanning one block: bytes in, tally out.

The block's bytes pass through one small buffer; the compiled kernel counts the
lines in it, and what it collects is folded into tables between its calls. Peak
memory depends on the buffer, the number of columns and the table limit, not on
the size of block or file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from schemas.ipmi import TIME_COLUMN
from tasks.series import kernel, registers
from tasks.series.cells import BAD, BLANK, STAGES
from tasks.series.counting import flush_hour
from tasks.series.counts import FloatArray, IntArray, ValueCounts
from tasks.series.feed import CHUNK_BYTES, cell_text, feed, iso_text
from tasks.series.latched import Runs
from tasks.series.registers import NEVER, PEEKED, Params, Registers, new_registers
from tasks.series.spec import Block, ScanSpec
from tasks.series.sums import ExactSums, normalise
from tasks.series.tally import Extent, GroupStats, Spot, Spots, Tally
from tasks.storage.source import open_reader

_MOST_CELLS = 1 << 29  # between two folds; the 32-bit histogram surely holds several times as many
_TEXT_SHOWN = 40

RULES = {
    registers.RAGGED_ROW: "ragged-row",
    registers.BAD_TIME: "bad-time",
    registers.STRAY_ZONE: "mixed-zones",
    registers.BAD_CELL: "bad-cell",
    registers.OUT_OF_RANGE: "out-of-range",
}


def scan_block(
    block: Block, columns: tuple[str, ...], spec: ScanSpec, chunk_bytes: int = CHUNK_BYTES
) -> Tally:
    """Count the rows of `block`, a part of a file with the value columns `columns`.

    Raises:
        FileChanged: the file is not the version the block names.
        ReadFailed: storage failed before the end of the block.
        NotASeries: a line is longer than any row can be.
    """
    with open_reader(block.file, block.stop) as reader:
        scan = BlockScan(block, columns, spec)
        feed(scan, reader, chunk_bytes)
        return scan.tally()


class BlockScan:
    """The state of scanning one block: registers of the kernel and the tables folded so far."""

    def __init__(self, block: Block, columns: tuple[str, ...], spec: ScanSpec) -> None:
        self.block = block
        self.columns = columns
        self.spec = spec
        self.params: Params = spec.params(len(columns))
        self.registers: Registers = new_registers(self.params)
        self.bytes_read = 0
        self.leaves = b""
        self.windows = ["", *(window.name for window in spec.windows)]
        self.values = {name: ValueCounts.empty(spec.limit) for name in self.windows}
        self.histogram = np.zeros((len(self.windows), self.params.span + STAGES), np.int64)
        self.cells_unfolded = 0
        self.steps = ValueCounts.empty(spec.limit)
        self.hours = GroupStats.empty("i8")
        self.runs: list[IntArray] = []
        self.spots: dict[str, Spots] = {}
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.missing_slots = 0

    def run(self, array: NDArray[np.uint8], place: int, stop: int, base: int, *, peek: bool) -> int:
        """Count lines as `LineScan` says."""
        solved: dict[int, float] = {}
        while True:
            place, why = kernel.scan_lines(
                array,
                place,
                stop,
                base,
                peek,
                self.params,
                self.registers,
                np.array(list(solved), np.int64),
                np.array(list(solved.values()), np.float64),
            )
            if why == kernel.ASK_FLOAT:
                asked = int(self.registers.at[registers.ASKED])
                # Of the lines before, none is asked for again.
                solved = {at: value for at, value in solved.items() if at >= place}
                solved[asked] = float(cell_text(array, asked))
                continue
            if self.registers.events.any():
                self._fold_events(array, base)
            rows = int(self.registers.at[registers.STAMPS])
            if why == kernel.FULL or self.is_full(rows):
                self._fold()
            if why == kernel.DONE:
                return place

    def is_full(self, rows: int) -> bool:
        """Whether so many rows since the last fold are as many as counters can hold."""
        return rows * self.params.columns > _MOST_CELLS

    def _fold(self) -> None:
        """Take what the kernel collected into the tables."""
        r = self.registers
        self._fold_stamps(r.stamps[: r.at[registers.STAMPS]])
        rows = int(r.at[registers.STAMPS])
        r.at[registers.STAMPS] = 0
        self.cells_unfolded += rows * self.params.columns
        if self.cells_unfolded > _MOST_CELLS:
            self._fold_histogram()
        self._fold_reals()
        self._fold_hours()
        self._fold_runs()
        if r.at[registers.ADDED] >= registers.HEADROOM:
            normalise(r.limbs)
            normalise(r.sum_limbs)
            r.at[registers.ADDED] = 0

    def _fold_stamps(self, stamps: IntArray) -> None:
        own = stamps[stamps[:, 2] != PEEKED, 0]
        if len(own):
            first, last = int(own.min()), int(own.max())
            self.first_ms = first if self.first_ms is None else min(self.first_ms, first)
            self.last_ms = last if self.last_ms is None else max(self.last_ms, last)
        known = stamps[stamps[:, 1] != NEVER]
        steps = known[:, 1]
        if not len(steps):
            return
        self.steps = self.steps.merge(ValueCounts.of(steps.astype(np.float64), limit=self.spec.limit))
        self._spot_steps("duplicate-time", known[steps == 0])
        self._spot_steps("disordered-time", known[steps < 0])
        interval = self.spec.interval_ms
        if interval:
            gaps = known[steps > self.spec.gap_intervals * interval]
            self.missing_slots += int((np.rint(gaps[:, 1] / interval) - 1).sum())
            self._spot_steps("gap", gaps)

    def _spot_steps(self, rule: str, found: IntArray) -> None:
        if len(found):
            first = tuple(
                self._spot(int(place), *self._line(int(line)), TIME_COLUMN, iso_text(int(ms)))
                for ms, _, line, place in found[:EXAMPLES_KEPT]
            )
            self._add_spots(rule, Spots(len(found), first))

    def _line(self, line: int) -> tuple[int, int]:
        """Block and line of a stamp; a peeked line is the first of the next block."""
        return (self.block.stop, 1) if line == PEEKED else (self.block.start, line)

    def _spot(self, place: int, block: int, line: int, column: str | None, text: str | None) -> Spot:
        """A place in the file."""
        return Spot(self.block.file.url, place, block, line, column, text)

    def _add_spots(self, rule: str, spots: Spots) -> None:
        self.spots[rule] = self.spots.get(rule, Spots()).merge(spots)

    def _fold_events(self, array: NDArray[np.uint8], base: int) -> None:
        for kind, rule in RULES.items():
            self._fold_places(array, base, kind, rule)

    def _fold_places(self, array: NDArray[np.uint8], base: int, kind: int, rule: str) -> None:
        r = self.registers
        seen = int(r.events[kind])
        if not seen:
            return
        first = []
        for line, column, place in r.places[kind, : min(seen, EXAMPLES_KEPT)].tolist():
            timed = kind in (registers.BAD_TIME, registers.STRAY_ZONE)
            name = self.columns[column] if column >= 0 else TIME_COLUMN if timed else None
            named = name is not None
            text = cell_text(array, place)[:_TEXT_SHOWN] if named else None
            first.append(self._spot(base + place, self.block.start, line, name, text))
        self._add_spots(rule, Spots(seen, tuple(first)))
        r.events[kind] = 0

    def _fold_histogram(self) -> None:
        r = self.registers
        self.histogram += r.histogram.reshape(len(self.windows), -1, self.params.span + STAGES).sum(axis=1)
        r.histogram[:] = 0
        self.cells_unfolded = 0

    def _fold_reals(self) -> None:
        r = self.registers
        filled = int(r.at[registers.REALS])
        if not filled:
            return
        for window, name in enumerate(self.windows):
            values = r.real_values[:filled][r.real_windows[:filled] == window]
            self._add_values(name, values)
        r.at[registers.REALS] = 0

    def _add_values(self, window: str, values: FloatArray, counts: IntArray | None = None) -> None:
        # Before they are counted, because a table that drops bits mixes what is in a range with what is not.
        if self.spec.ranges is not None:
            inside = self.spec.ranges.hold(values)
            values, counts = values[inside], None if counts is None else counts[inside]
        if len(values):
            self.values[window] = self.values[window].add(values, counts)

    def _fold_hours(self) -> None:
        r = self.registers
        n = int(r.at[registers.HOURS])
        if not n:
            return
        # An hour may have several records; its rows need not stand together.
        keys, group = np.unique(r.hours[:n, 0], return_inverse=True)
        count, zero, total = (np.zeros(len(keys), np.int64) for _ in range(3))
        least, most = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
        for add, into, column in (
            (np.add, count, r.hours[:n, 1]),
            (np.add, zero, r.hours[:n, 2]),
            (np.add, total, r.hours[:n, 3]),
            (np.minimum, least, r.hour_range[:n, 0]),
            (np.maximum, most, r.hour_range[:n, 1]),
        ):
            add.at(into, group, column)
        reals = ExactSums.from_limbs(r.hour_limbs[:n]).take(group, len(keys))
        no_blanks, no_changes = np.zeros(len(keys), np.int64), np.zeros((len(keys), 2), np.int64)
        self.hours = self.hours.merge(
            GroupStats(keys, count, no_blanks, zero, total, reals, least, most, no_changes)
        )
        r.hour_limbs[:n] = 0
        r.at[registers.HOURS] = 0

    def _fold_runs(self) -> None:
        r = self.registers
        if r.at[registers.RUNS]:
            self.runs.append(r.runs[: r.at[registers.RUNS]].copy())
            r.at[registers.RUNS] = 0

    def _all_runs(self) -> Runs:
        """All runs of the block, those that have not ended too."""
        now = self.registers.run_now
        columns = np.flatnonzero(now[:, 3])
        found = np.concatenate([*self.runs, np.column_stack([columns, now[columns]])])
        return Runs.of_block(self.block.file.url, self.block.start, self.columns, found)

    def tally(self) -> Tally:
        """Everything counted in the block."""
        r, p = self.registers, self.params
        flush_hour(p, r)
        self._fold()
        self._fold_histogram()
        scale = 10.0**p.decimals
        for window, name in enumerate(self.windows):
            counts = self.histogram[window, STAGES:]
            filled = np.flatnonzero(counts)
            self._add_values(name, filled / scale, counts[filled])
        rows = int(r.at[registers.ROWS])
        url, start = self.block.file.url, self.block.start
        return Tally(
            decimals=p.decimals,
            bytes_read=self.bytes_read,
            rows=rows,
            outside_rows=int(r.at[registers.OUTSIDE]),
            blanks=int(self.histogram[:, BLANK + STAGES].sum()),
            bad_cells=int(self.histogram[:, BAD + STAGES].sum()),
            first_ms=self.first_ms,
            last_ms=self.last_ms,
            missing_slots=self.missing_slots,
            values=self.values,
            zeros={name: int(self.histogram[w, STAGES]) for w, name in enumerate(self.windows)},
            entities=GroupStats(
                np.array(self.columns, np.str_) if self.columns else np.empty(0, "U1"),
                r.sum_count,
                rows - r.sum_count - r.bad,
                r.sum_zero,
                r.sum_total,
                ExactSums.from_limbs(r.sum_limbs),
                r.sum_least,
                r.sum_most,
                r.sum_changed.T.copy(),
            ),
            hours=self.hours,
            runs=self._all_runs() if p.latched else Runs.empty(),
            steps=self.steps,
            zones={int(code): int(r.zones[code]) for code in np.flatnonzero(r.zones)},
            spots=self.spots,
            blocks={(url, start): Extent(self.block.stop, int(r.at[registers.LINES]), self.leaves)},
        )
