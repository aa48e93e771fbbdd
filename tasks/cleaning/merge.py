"""Rows of stretches that overlap in time, merged: the lines as they are, in the order they are written.

A piece of each stretch is held. What is older than the youngest time that all of
them have reached can be put in order; of lines of one time the first in file
order stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.cleaning import kernel
from tasks.cleaning.order import Stretch
from tasks.series.cells import NEWLINE
from tasks.series.head import Head
from tasks.series.swar import PADDING
from tasks.storage.source import Reader, open_reader

_ALL_PIECES = 64 << 20
_LEAST_PIECE, _MOST_PIECE = 64 << 10, 1 << 20

Zone = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Lines:
    """Lines of one file that follow each other in time, and the place in the file where each begins."""

    file: int
    text: bytes
    places: NDArray[np.int64]


def merged(heads: Sequence[Head], stretches: Sequence[Stretch], zone: Zone) -> Iterator[Lines]:
    """The lines of `stretches`, which are in file order, one of each time, in the order of their times.

    Raises:
        FileChanged, ReadFailed: as `open_reader`.
    """
    size = min(max(_ALL_PIECES // len(stretches), _LEAST_PIECE), _MOST_PIECE)
    with ExitStack() as stack:
        cursors = []
        for stretch in stretches:
            readers = {
                file: stack.enter_context(open_reader(heads[file].file))
                for file in dict.fromkeys(run.file for run in stretch.runs)
            }
            cursors.append(_Cursor(stretch, heads, readers, size, zone))
        while True:
            for cursor in cursors:
                if not len(cursor.times):
                    cursor.load()
            if not any(len(cursor.times) for cursor in cursors):
                return
            going_on = [cursor.times[-1] for cursor in cursors if not cursor.at_end]
            horizon = min(going_on) if going_on else None
            taken = [cursor.take_before(horizon) for cursor in cursors]
            if any(len(rows) for rows in taken):
                yield from _in_order(taken)
                continue
            # Nothing is surely complete: more rows of the time reached may follow.
            for cursor in cursors:
                if not cursor.at_end and cursor.times[-1] == horizon:
                    cursor.load()


@dataclass(frozen=True)
class _Row:
    """A line and what decides its place."""

    time: int
    file: int
    place: int
    text: bytes


def _in_order(taken: Sequence[Sequence[_Row]]) -> Iterator[Lines]:
    rows = sorted((row for rows in taken for row in rows), key=lambda row: (row.time, row.file, row.place))
    together: list[_Row] = []
    last = None
    for row in rows:
        if row.time == last:
            continue
        last = row.time
        if together and together[-1].file != row.file:
            yield _lines_of(together)
            together = []
        together.append(row)
    yield _lines_of(together)


def _lines_of(rows: Sequence[_Row]) -> Lines:
    places = np.array([row.place for row in rows], np.int64)
    return Lines(rows[0].file, b"".join(row.text for row in rows), places)


@dataclass
class _Cursor:
    """A place in a stretch, with the lines read from there on that are not yet taken."""

    stretch: Stretch
    heads: Sequence[Head]
    readers: dict[int, Reader]
    size: int
    zone: Zone
    number: int = 0
    next_byte: int = -1
    tail: bytes = b""
    at_end: bool = False
    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    rows: list[_Row] = field(default_factory=list)

    def take_before(self, horizon: int | None) -> list[_Row]:
        """Take out the lines older than `horizon`; all for None."""
        count = len(self.times) if horizon is None else int(np.searchsorted(self.times, horizon, side="left"))
        taken, self.rows, self.times = self.rows[:count], self.rows[count:], self.times[count:]
        return taken

    def load(self) -> None:
        """Read on until there is another line, or the stretch ends."""
        had = len(self.rows)
        while len(self.rows) == had and self.number < len(self.stretch.runs):
            run = self.stretch.runs[self.number]
            if self.next_byte < 0:
                self.next_byte, self.tail = run.start, b""
            kept = len(self.tail)
            buffer = bytearray(kept + self.size + PADDING)
            buffer[:kept] = self.tail
            with memoryview(buffer) as view:
                count = self.readers[run.file].read_into(self.next_byte + kept, view[kept : kept + self.size])
            ended = count < self.size
            count += kept
            if ended and count and buffer[count - 1] != NEWLINE:
                buffer[count] = NEWLINE
                count += 1
            whole = buffer.rfind(b"\n", 0, count) + 1
            self._take_lines(run.file, buffer, whole, self.next_byte, run.stop)
            self.tail = bytes(buffer[whole:count])
            self.next_byte += whole
            if ended or self.next_byte >= run.stop:
                self.number, self.next_byte = self.number + 1, -1
        self.at_end = self.number >= len(self.stretch.runs)

    def _take_lines(self, file: int, buffer: bytearray, whole: int, base: int, stop: int) -> None:
        """Take in the whole lines that begin before `stop`."""
        array = np.frombuffer(buffer, np.uint8)
        ends = np.flatnonzero(array[:whole] == NEWLINE) + 1
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        own = base + starts < stop
        starts, ends = starts[own], ends[own]
        times = np.empty(len(starts), np.int64)
        kernel.times_of(array, starts, *self.zone, times)
        timed = times >= 0
        rows = [
            _Row(time, file, base + first, bytes(buffer[first:last]))
            for time, first, last in zip(
                times[timed].tolist(), starts[timed].tolist(), ends[timed].tolist(), strict=True
            )
        ]
        self.rows += rows
        self.times = np.concatenate([self.times, times[timed]])
