"""Scanning one block of an IPMI file: bytes in, tally out.

The sibling of `tasks.series.scan`: the same feeding of bytes and ownership of
rows, another kernel. What the kernel collects in small hash tables is folded
into sorted counts when a table is full. Peak memory depends on the buffer and
the limit of the counts, not on the size of block or file.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from schemas.errors import AcmetraceError
from schemas.findings import EXAMPLES_KEPT
from schemas.ipmi import MEMORY_COLUMN
from tasks.longform import kernel, registers
from tasks.longform.columns import NEVER_ZERO, POWER_COLUMNS, Layout, layout_of
from tasks.longform.counting import empty_dense
from tasks.longform.counts import CellCounts
from tasks.longform.nodes import NodeFacts
from tasks.longform.registers import BATCH_ROWS, WIDTH, Rules
from tasks.longform.tables import COLUMN_BITS, VALUE_BITS, add_name, node_table
from tasks.longform.tally import LongTally, checked
from tasks.series.cells import BAD, BLANK, STAGES
from tasks.series.clock import LATEST_MS
from tasks.series.counts import IntArray, ValueCounts
from tasks.series.feed import CHUNK_BYTES, cell_text, feed, iso_text
from tasks.series.registers import BAD_CELL, BAD_TIME, HEADROOM, LINES, OUT_OF_RANGE, PEEKED, RAGGED_ROW
from tasks.series.spec import Block, ScanSpec
from tasks.series.sums import LIMBS, ExactSums, normalise
from tasks.series.tally import Extent, GroupStats, Spot, Spots, Tally
from tasks.series.units import ScanKind
from tasks.storage.source import open_reader

MOST_NODES = 1 << 16
MOST_NAME_BYTES = 1 << 22
# Small enough for a core's cache: values of nodes that are past are taken out, not carried along.
SLOTS = 1 << 16
_FIRST_NODES = 64
_MOST_UNITS = 1 << 40  # bounds in fixed-point units; beyond every value of a cell
_COLUMN_MASK = (1 << COLUMN_BITS) - 1
_VALUE_MASK = (1 << VALUE_BITS) - 1

NO_NODE_RULE = "no-node"
_RULES = {
    RAGGED_ROW: "ragged-row",
    BAD_TIME: "bad-time",
    BAD_CELL: "bad-cell",
    OUT_OF_RANGE: "out-of-range",
    registers.NO_NODE: NO_NODE_RULE,
}


def scan_long_block(
    block: Block, columns: tuple[str, ...], spec: ScanSpec, chunk_bytes: int = CHUNK_BYTES
) -> LongTally:
    """Count the rows of `block`, a part of an IPMI file whose head gives `columns`.

    Windows and ranges of the spec are not used: an IPMI curve is one of the whole
    period, and its counts are always exact.

    Raises:
        FileChanged: the file is not the version the block names.
        ReadFailed: storage failed before the end of the block.
        NotASeries: a line is longer than any row can be.
        AcmetraceError: there are more nodes or different values than are kept.
    """
    with open_reader(block.file, block.stop) as reader:
        scan = _Scan(block, layout_of(columns), spec)
        feed(scan, reader, chunk_bytes)
        return scan.tally()


IPMI = ScanKind("ipmi", scan_long_block, LongTally.from_bytes)


def rules_of(layout: Layout, spec: ScanSpec) -> Rules:
    """What the compiled kernel needs to know of a layout; supplies and parts may draw 0 W."""
    low = np.full(WIDTH, min(spec.low, 0.0))
    low[list(NEVER_ZERO)] = spec.low
    high = np.full(WIDTH, spec.high)
    scale = 10.0**spec.decimals
    return Rules(
        roles=layout.roles,
        # In the order of the file, so that the first places found are the first there.
        power=layout.roles[layout.roles >= 0],
        low_units=np.clip(np.ceil(low * scale), 0, _MOST_UNITS).astype(np.int64),
        high_units=np.clip(np.floor(high * scale), -1, _MOST_UNITS).astype(np.int64),
        low=low,
        high=high,
        gap_ms=int(spec.gap_intervals * spec.interval_ms) if spec.interval_ms else 1 << 60,
    )


class _Scan:
    """The state of scanning one block: registers of the kernel and the tables folded so far."""

    def __init__(self, block: Block, layout: Layout, spec: ScanSpec) -> None:
        self.block = block
        self.layout = layout
        self.spec = spec
        self.params = spec.params(len(layout.names))
        self.rules = rules_of(layout, spec)
        self.bytes_read = 0
        self.leaves = b""
        self.names = [b""]
        self.name_bytes = 0
        self.registers = registers.new_registers(
            len(layout.names), spec.span, SLOTS, node_table(self.names), _FIRST_NODES
        )
        self.pieces: list[CellCounts] = []
        self.blanks = np.zeros((_FIRST_NODES, WIDTH), np.int64)
        self.bad = np.zeros((_FIRST_NODES, WIDTH), np.int64)
        self.base = Tally(decimals=spec.decimals)
        self.steps = ValueCounts.empty(spec.limit)
        self.hours = GroupStats.empty("i8")
        self.spots: dict[str, Spots] = {}
        self.missing_slots = 0

    def run(self, array: NDArray[np.uint8], place: int, stop: int, base: int, *, peek: bool) -> int:
        """Count lines as `LineScan` says."""
        solved_at: list[int] = []
        solved: list[float] = []
        while True:
            place, why = kernel.scan_rows(
                array,
                place,
                stop,
                base,
                peek,
                self.params,
                self.rules,
                self.registers,
                np.array(solved_at, np.int64),
                np.array(solved, np.float64),
            )
            at = self.registers.at
            if why == kernel.ASK_FLOAT:
                solved_at.append(int(at[registers.ASKED]))
                solved.append(float(cell_text(array, solved_at[-1])))
            elif why == kernel.ASK_NODE:
                self._add_node(array[at[registers.ASKED] : at[registers.ASKED_STOP]].tobytes())
            else:
                if self.registers.events.any():
                    self._fold_events(array, base)
                if why == kernel.DONE:
                    return place
                self._make_room()

    def _add_node(self, name: bytes) -> None:
        """Give the node `name` the next number; the name table grows by doubling."""
        self.names.append(name)
        self.name_bytes += len(name)
        if len(self.names) > MOST_NODES or self.name_bytes > MOST_NAME_BYTES:
            raise AcmetraceError(
                f"{self.block.file.url} names more than {MOST_NODES:,} nodes, or nodes with very long names.",
                hint="The column node should hold the name of a server.",
            )
        r = self.registers
        room = len(r.node_rows)
        if len(self.names) > room:
            self.blanks, self.bad = _doubled(self.blanks), _doubled(self.bad)
            rows = registers.new_node_rows(2 * room)
            rows[:room] = r.node_rows
            r = r._replace(node_rows=rows, node_memory=_doubled(r.node_memory))
        if not add_name(r.nodes, len(self.names) - 1, np.frombuffer(name, np.uint8)):
            r = r._replace(nodes=node_table(self.names))
        self.registers = r

    def _make_room(self) -> None:
        """Take what the kernel collected into the tables where it has no room for more."""
        at = self.registers.at
        self._fold_stamps()
        cells = BATCH_ROWS * WIDTH
        if at[registers.FIXED] + at[registers.DENSE] + cells > SLOTS // 2:
            self._fold_fixed()
        if at[registers.REALS] + cells > SLOTS // 2:
            self._fold_reals()
        if (
            at[registers.HOURS] + BATCH_ROWS > registers.HOUR_ROOM
            or at[registers.SUMS] + cells > registers.SUM_ROOM
        ):
            self._fold_hours()
        if at[registers.ADDED] + cells > HEADROOM:
            normalise(self.registers.limbs)
            at[registers.ADDED] = 0

    def _fold_stamps(self) -> None:
        """Steps that the kernel does not count in place: odd ones and those that break a rule."""
        at = self.registers.at
        stamps = self.registers.stamps[: at[registers.STAMPS]]
        at[registers.STAMPS] = 0
        steps = stamps[:, 1]
        if not len(steps):
            return
        self.steps = self.steps.merge(ValueCounts.of(steps.astype(np.float64), limit=self.spec.limit))
        self._spot_steps("duplicate-time", stamps[steps == 0])
        self._spot_steps("disordered-time", stamps[steps < 0])
        interval = self.spec.interval_ms
        if interval:
            gaps = stamps[steps > self.spec.gap_intervals * interval]
            self.missing_slots += int((np.rint(gaps[:, 1] / interval) - 1).sum())
            self._spot_steps("gap", gaps)

    def _spot_steps(self, rule: str, found: IntArray) -> None:
        if len(found):
            url, block = self.block.file.url, self.block
            first = []
            for ms, _, line, place in found[:EXAMPLES_KEPT].tolist():
                # A peeked line is the first of the next block.
                start, number = (block.stop, 1) if line == PEEKED else (block.start, line)
                first.append(Spot(url, place, start, number, None, iso_text(ms)))
            self._add_spots(rule, Spots(len(found), tuple(first)))

    def _fold_events(self, array: NDArray[np.uint8], base: int) -> None:
        for kind, rule in _RULES.items():
            self._fold_places(array, base, kind, rule)

    def _fold_places(self, array: NDArray[np.uint8], base: int, kind: int, rule: str) -> None:
        r = self.registers
        seen = int(r.events[kind])
        if not seen:
            return
        first = []
        for line, column, place in r.places[kind, : min(seen, EXAMPLES_KEPT)].tolist():
            name = POWER_COLUMNS[column] if column >= 0 else None
            text = cell_text(array, place) if column >= 0 or kind == BAD_TIME else None
            first.append(Spot(self.block.file.url, base + place, self.block.start, line, name, text))
        self._add_spots(rule, Spots(seen, tuple(first)))
        r.events[kind] = 0

    def _add_spots(self, rule: str, spots: Spots) -> None:
        self.spots[rule] = self.spots.get(rule, Spots()).merge(spots)

    def _fold_fixed(self) -> None:
        """Empty the table of fixed-point values into the sorted counts; blanks and bad cells apart."""
        r, table = self.registers, self.registers.fixed
        empty_dense(r.at, r.dense, r.dense_range, table)
        held = table[table[:, 0] != 0]
        held = held[np.argsort(held[:, 0])]
        groups = (held[:, 0] - 1) >> VALUE_BITS
        staged = ((held[:, 0] - 1) & _VALUE_MASK) - STAGES
        for stage, target in ((BLANK, self.blanks), (BAD, self.bad)):
            here = staged == stage
            target[groups[here] >> COLUMN_BITS, groups[here] & _COLUMN_MASK] += held[here, 1]
        here = staged >= 0
        values = staged[here] / 10.0**self.spec.decimals
        self._add_cells(CellCounts.of(groups[here], values, held[here, 1]))
        table[:] = 0
        self.registers.at[registers.FIXED] = 0

    def _fold_reals(self) -> None:
        """Empty the table of doubles into the sorted counts."""
        if not self.registers.at[registers.REALS]:
            return
        table = self.registers.real
        held = table[table[:, 0] != 0]
        self._add_cells(CellCounts.of(held[:, 0] - 1, held[:, 1].copy().view(np.float64), held[:, 2]))
        table[:] = 0
        self.registers.at[registers.REALS] = 0

    def _add_cells(self, fresh: CellCounts) -> None:
        """Keep sorted counts in pieces of falling size, so that an entry is merged a few times only."""
        pieces = self.pieces
        pieces.append(fresh)
        while len(pieces) > 1 and len(pieces[-2]) < 2 * len(pieces[-1]):
            last = pieces.pop()
            pieces[-1] = pieces[-1].merge(last)

    def _fold_hours(self) -> None:
        r = self.registers
        n = int(r.at[registers.HOURS])
        hour, bounds = r.hour[1 : n + 1], r.hour_range[1 : n + 1]
        slots, columns = np.nonzero(hour[:, registers.COUNT])
        sums, ends = hour[slots, :, columns], bounds[slots, columns]
        scale = 10.0**self.spec.decimals
        least = np.where(
            sums[:, registers.LEAST] == registers.NO_LEAST, np.inf, sums[:, registers.LEAST] / scale
        )
        most = np.where(
            sums[:, registers.MOST] == registers.NO_MOST, -np.inf, sums[:, registers.MOST] / scale
        )
        keys = (r.hours[1 : n + 1][slots] << COLUMN_BITS) | columns
        order = np.argsort(keys)
        used = int(r.at[registers.SUMS])
        # Row 0 stays zero for hours that have no doubles.
        limbs = np.concatenate([np.zeros((1, LIMBS), np.int64), r.limbs[:used]])
        real = limbs[r.hour_sum[1 : n + 1][slots, columns][order]] if used else None
        fresh = GroupStats(
            keys=keys[order],
            count=sums[order, registers.COUNT],
            blank=np.zeros(len(keys), np.int64),
            zero=sums[order, registers.ZERO],
            fixed_total=sums[order, registers.TOTAL_UNITS],
            real_total=ExactSums.zeros(len(keys)) if real is None else ExactSums.from_limbs(real),
            least=np.minimum(least, ends[:, 0])[order],
            most=np.maximum(most, ends[:, 1])[order],
            changed=np.zeros((len(keys), 2), np.int64),
        )
        self.hours = checked(Tally(hours=self.hours.merge(fresh))).hours
        r.hour_slot[r.hours[1 : n + 1]] = 0
        hour[:] = 0
        hour[:, registers.LEAST], hour[:, registers.MOST] = registers.NO_LEAST, registers.NO_MOST
        bounds[:] = np.inf, -np.inf
        r.hour_sum[1 : n + 1] = 0
        r.limbs[:used] = 0
        r.at[registers.HOURS] = r.at[registers.SUMS] = r.at[registers.ADDED] = 0

    def tally(self) -> LongTally:
        """Everything counted in the block."""
        self._fold_stamps()
        self._fold_fixed()
        self._fold_reals()
        self._fold_hours()
        r = self.registers
        seconds = np.flatnonzero(r.steps)
        counted = ValueCounts.of((seconds * 1000).astype(np.float64), r.steps[seconds], self.spec.limit)
        nodes, numbers = self._nodes()
        rows = int(r.at[registers.ROWS])
        url, start = self.block.file.url, self.block.start
        base = Tally(
            decimals=self.spec.decimals,
            bytes_read=self.bytes_read,
            rows=rows,
            outside_rows=int(r.at[registers.OUTSIDE]),
            blanks=int(self.blanks.sum()),
            bad_cells=int(self.bad.sum()),
            first_ms=int(nodes.first_ms.min()) if rows else None,
            last_ms=int(nodes.last_ms.max()) if rows else None,
            missing_slots=self.missing_slots,
            hours=self.hours,
            steps=self.steps.merge(counted),
            zones={int(code): int(r.zones[code]) for code in np.flatnonzero(r.zones)},
            spots=self.spots,
            blocks={(url, start): Extent(self.block.stop, int(r.at[LINES]), self.leaves)},
        )
        cells = functools.reduce(CellCounts.merge, reversed(self.pieces), CellCounts.empty())
        return LongTally(base, nodes, cells.renumbered(numbers))

    def _nodes(self) -> tuple[NodeFacts, IntArray]:
        """Facts of the nodes that have a row, and the number there of each node of the scan."""
        r = self.registers
        seen = np.flatnonzero(r.node_rows[: len(self.names), 0])
        texts = [self.names[i].decode("utf-8", "backslashreplace") for i in seen]
        names = tuple(sorted(set(texts)))
        places = {name: place for place, name in enumerate(names)}
        numbers = np.zeros(len(self.names), np.int64)
        numbers[seen] = [places[text] for text in texts]
        memory: tuple[dict[str, Spot], dict[str, Spot]] = ({}, {})
        for i, text in zip(seen.tolist(), texts, strict=True):
            for kind, spots in enumerate(memory):
                line, offset = r.node_memory[i, kind].tolist()
                if line and (text not in spots or offset < spots[text].offset):
                    spots[text] = Spot(self.block.file.url, offset, self.block.start, line, MEMORY_COLUMN)

        def added(values: IntArray) -> IntArray:
            total = np.zeros((len(names), *values.shape[1:]), np.int64)
            np.add.at(total, numbers[seen], values[seen])
            return total

        first, last = np.full(len(names), LATEST_MS, np.int64), np.full(len(names), -1, np.int64)
        np.minimum.at(first, numbers[seen], r.node_rows[seen, 2])
        np.maximum.at(last, numbers[seen], r.node_rows[seen, 3])
        facts = NodeFacts(
            names,
            added(r.node_rows[:, 0]),
            added(r.node_rows[:, 1]),
            first,
            last,
            added(self.blanks),
            added(self.bad),
            dict(sorted(memory[0].items())),
            dict(sorted(memory[1].items())),
        )
        return facts, numbers


def _doubled(array: IntArray) -> IntArray:
    return np.concatenate([array, np.zeros_like(array)])
