"""Raw lines in, cleaned lines out: the compiled pass with its buffers, and Python where it asks.

Where lines come from and what becomes of the cleaned ones is not known here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from tasks.cleaning import kernel
from tasks.cleaning.digits import LONGEST_NUMBER, LONGEST_TIME
from tasks.cleaning.rules import Rule
from tasks.series.clock import LATEST_MS, parse_zone
from tasks.series.feed import CHUNK_BYTES, cell_text
from tasks.series.swar import PADDING

_DAY_MS = 86_400_000
_BEFORE = 8  # readable bytes before the first line, as the scan expects


@dataclass(frozen=True)
class Piece:
    """Cleaned lines, valid until the next piece.

    `text` is followed by `PADDING` readable bytes. `rows` has for each line its
    place among the raw ones and in `text`; `left_out` counts as `kernel.clean_lines`
    does. `place` is that behind the last raw line used up.
    """

    text: NDArray[np.uint8]
    rows: NDArray[np.int64]
    left_out: tuple[int, int, int]
    place: int


class LineCleaner:
    """Cleans lines of one file; those not later than `after_ms` are left out."""

    def __init__(self, change: kernel.Change, rule: Rule, columns: int, after_ms: int = -1) -> None:
        self.after_ms = after_ms
        self._change = change
        self._rule = rule
        written = len(change.source)
        self._longest = LONGEST_TIME + written * (LONGEST_NUMBER + 1) + 2
        self._out = _room_of(max(2 * CHUNK_BYTES, 4 * self._longest))
        self._rows = np.empty((1 << 16, 2), np.int64)
        self._room = kernel.room_for(columns)
        self._asked = np.empty(2 * written + 1, np.int64)
        self._left_out = np.zeros(3, np.int64)

    def pieces(self, array: NDArray[np.uint8], place: int, stop: int) -> Iterator[Piece]:
        """Clean the whole lines that begin in [place, stop) of `array`; at least one piece."""
        answers, texts = np.empty((0, 3), np.int64), np.empty(0, np.uint8)
        while True:
            before = place
            place, why, used, taken, self.after_ms = kernel.clean_lines(
                array,
                place,
                stop,
                self._change,
                self.after_ms,
                self._out,
                self._rows,
                self._left_out,
                *self._room,
                self._asked,
                answers,
                texts,
            )
            left_out = (int(self._left_out[0]), int(self._left_out[1]), int(self._left_out[2]))
            self._left_out[:] = 0
            yield Piece(self._out[:used], self._rows[:taken], left_out, place)
            if why == kernel.DONE:
                return
            answers, texts = np.empty((0, 3), np.int64), np.empty(0, np.uint8)
            if why == kernel.ASK:
                answers, texts = self._answers(array)
                self._make_room(2 * (self._longest + len(texts)))
            elif place == before:
                self._make_room(2 * len(self._out))

    def _make_room(self, size: int) -> None:
        if size > len(self._out):
            self._out = _room_of(size)

    def _answers(self, array: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The texts of the cells that the compiled pass cannot write, in their order."""
        asked = self._asked[1 : 1 + 2 * self._asked[0]].reshape(-1, 2).tolist()
        texts = [
            text_of(cell_text(array, place), self._rule, whole=bool(self._change.whole[column])).encode()
            for place, column in asked
        ]
        ends = np.cumsum([len(text) for text in texts])
        places = np.array([place for place, _ in asked], np.int64)
        answers = np.column_stack([places, np.concatenate([[0], ends[:-1]]), ends]).astype(np.int64)
        return answers, np.frombuffer(bytearray(b"".join(texts)), np.uint8)


def _room_of(size: int) -> NDArray[np.uint8]:
    return np.zeros(_BEFORE + size + PADDING, np.uint8)[_BEFORE:-PADDING]


def text_of(cell: str, rule: Rule, *, whole: bool) -> str:
    """How the number in `cell` is written when it is scaled and rounded; other text stays as it is."""
    try:
        if whole:
            return str(int(cell) * int(rule.scale))
        value = float(cell) * rule.scale
    except ValueError:
        return cell
    return repr(float(np.round(value, rule.decimals)) if rule.decimals > 0 else value)


@functools.cache
def offsets_of(name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """UTC milliseconds from which on an offset (ms, second array) of the zone `name` holds."""
    zone = parse_zone(name)

    def offset(ms: int) -> int:
        found = datetime.fromtimestamp(ms / 1000, UTC).astimezone(zone).utcoffset()
        return int(found.total_seconds()) * 1000 if found else 0

    starts, offsets = [0], [offset(0)]
    never_changes = zone.utcoffset(None) is not None
    for left in range(0, 0 if never_changes else LATEST_MS, _DAY_MS):
        if offset(left + _DAY_MS) == offsets[-1]:
            continue
        low, high = left, left + _DAY_MS
        while high - low > 1000:
            middle = (low + high) // 2000 * 1000
            low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
        starts.append(high)
        offsets.append(offset(high))
    return np.array(starts, np.int64), np.array(offsets, np.int64)
