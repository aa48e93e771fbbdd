"""Counting a raw block as if it had been cleaned: cleaned lines go straight to the scan.

Nothing is written, and each byte is read once. That works where rows are in
order, as exports have them: a row is left out if the one before it has its
time. Rows out of order end in an error, since which of two is the first is not
known to a block. Places of findings are those of the raw file; their rows count
the rows that are kept.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from schemas.errors import NotASeries
from tasks.cleaning import kernel
from tasks.cleaning.lines import LineCleaner, offsets_of
from tasks.cleaning.rules import Rule
from tasks.series.clock import time_of, zone_table
from tasks.series.feed import CHUNK_BYTES, feed
from tasks.series.head import Head
from tasks.series.scan import BlockScan
from tasks.series.spec import Block, ScanSpec
from tasks.series.swar import PADDING
from tasks.series.tally import Spot, Tally
from tasks.series.units import ScanKind
from tasks.storage.source import Reader, open_reader
from tasks.storage.units import unit_key

_LOOK_BACK = 64 << 10
_TIME_BYTES = 64  # more than a time and its delimiter have


def raw_kind(rule: Rule) -> ScanKind:
    """How blocks of a raw series are scanned."""
    parts = {name: getattr(rule, name) for name in rule.__dataclass_fields__}
    scan = functools.partial(scan_raw_block, rule=rule)
    return ScanKind(f"raw-{unit_key(**parts)}", scan, Tally.from_bytes, without_blank_columns)


def cleaned_head(head: Head, rule: Rule) -> Head:
    """The head with names and sample as they would be in the cleaned file; rows still begin where they do."""
    change = _change(len(head.columns), rule)
    lines = LineCleaner(change, rule, len(head.columns))
    array = np.frombuffer(bytearray(head.sample + bytes(PADDING)), np.uint8)
    whole = head.sample.rfind(b"\n") + 1
    sample = b"".join(piece.text.tobytes() for piece in lines.pieces(array, 0, whole))
    return replace(
        head,
        names=tuple(rule.name_of(name) for name in head.names),
        columns=tuple(rule.name_of(name) for name in head.columns),
        sample=sample,
        zone=time_of(sample, None)[1] if sample else head.zone,
        names_start=None,
    )


def check_parts(heads: Sequence[Head]) -> None:
    """Refuse parts of a series that overlap in time or come in another order than their names.

    Raises:
        NotASeries: a file begins no later than the one before it ends (rule `disordered-time`).
        FileChanged, ReadFailed: as `open_reader`.
    """
    last = -1
    for head in heads:
        if head.has_rows:
            first = time_of(head.sample.lstrip(b"\r\n"), None)[0]
            if first <= last:
                raise _disordered(f"{head.file.url} begins before the file before it ends.")
            if head is not heads[-1] and not head.file.compression:
                with open_reader(head.file) as reader:
                    last = _time_before(reader, head.data_start, head.file.size)


def scan_raw_block(
    block: Block, columns: tuple[str, ...], spec: ScanSpec, *, rule: Rule, chunk_bytes: int = CHUNK_BYTES
) -> Tally:
    """Count the rows of a raw block as they would be when cleaned.

    Raises:
        NotASeries: rows are not in order (rule `disordered-time`), or a line is longer than any row can be.
        FileChanged, ReadFailed: as `tasks.series.scan.scan_block`.
    """
    before = -1
    if block.start > block.data_start:
        with open_reader(block.file) as reader:
            before = _time_before(reader, block.data_start, block.start)
    with open_reader(block.file, block.stop) as reader:
        scan = _RawScan(block, columns, spec, rule, before)
        feed(scan, reader, chunk_bytes)
        return scan.tally()


def without_blank_columns(tally: Tally) -> Tally:
    """The tally of a file without the columns that have no value."""
    entities = tally.entities
    empty = entities.blank == tally.rows
    if not empty.any() or not tally.rows:
        return tally
    blanks = tally.blanks - tally.rows * int(empty.sum())
    return replace(tally, blanks=blanks, entities=entities.without_empty(empty))


def _time_before(reader: Reader, data_start: int, place: int) -> int:
    """UTC ms of the last row that begins before byte `place`; -1 for none."""
    size = _LOOK_BACK
    while True:
        start = max(place - size, data_start)
        # A row that begins just before `place` has its time behind it.
        data = bytearray(place - start + _TIME_BYTES)
        with memoryview(data) as view:
            count = reader.read_into(start, view)
        before = bytes(data[:count])
        end = place - start
        while end > 0:
            line = before.rfind(b"\n", 0, end - 1) + 1
            if line == 0 and start > data_start:
                break  # where this row begins is not known
            ms, _ = time_of(before[line : line + _TIME_BYTES], None)
            if ms >= 0:
                return ms
            end = line
        if start == data_start:
            return -1
        size *= 4


def _change(columns: int, rule: Rule) -> kernel.Change:
    """All columns, each written as a double: numbers alone matter here."""
    return kernel.Change(
        rule.scale,
        rule.decimals,
        rule.drop_blank_rows,
        rule.window_from,
        rule.window_until,
        True,
        *zone_table(None),
        *offsets_of(rule.timezone),
        np.arange(columns),
        np.zeros(columns, np.bool_),
        np.ones(columns, np.bool_),
    )


def _disordered(what: str) -> NotASeries:
    return NotASeries(
        what,
        hint="acmetrace clean puts rows in order; summarize what it writes.",
        rule="disordered-time",
    )


class _RawScan(BlockScan):
    """Cleans the lines that `feed` hands over and counts them."""

    def __init__(
        self, block: Block, columns: tuple[str, ...], spec: ScanSpec, rule: Rule, before_ms: int
    ) -> None:
        super().__init__(block, columns, spec)
        self.lines = LineCleaner(_change(len(columns), rule), rule, len(columns), before_ms)
        self.cleaned_bytes = 0
        self.places: list[NDArray[np.int64]] = []  # of cleaned lines and of the raw ones

    def run(self, array: NDArray[np.uint8], place: int, stop: int, base: int, *, peek: bool) -> int:
        """Clean and count lines as `tasks.series.feed.LineScan` says."""
        for piece in self.lines.pieces(array, place, stop):
            if piece.left_out[kernel.OUT_OF_ORDER]:
                raise _disordered(
                    f"Rows of {self.block.file.url} near byte {base + place:,} are not in order."
                )
            size = len(piece.text)
            if size:
                self.places.append(piece.rows[:, ::-1] + np.array([self.cleaned_bytes, base]))
                super().run(piece.text, 0, 1 if peek else size, self.cleaned_bytes, peek=peek)
                self.cleaned_bytes += size
            place = piece.place
        return place

    def _fold(self) -> None:
        super()._fold()
        del self.places[:-1]

    def _spot(self, place: int, block: int, line: int, column: str | None, text: str | None) -> Spot:
        known = next(lines for lines in reversed(self.places) if lines[0, 0] <= place)
        row = int(np.searchsorted(known[:, 0], place, side="right")) - 1
        return super()._spot(int(known[row, 1]), block, line, column, text)
