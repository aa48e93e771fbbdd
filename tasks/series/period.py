"""Which bytes of a file a period needs, found by looking at a few rows.

A sorted file is bisected. Whether it is sorted is not known without reading it
all; it is taken to be where rows at evenly spaced places are in order, and the
result says so, so that a report can tell.
"""

from __future__ import annotations

import itertools

import numpy as np

from tasks.series.clock import time_of
from tasks.series.head import Head
from tasks.series.spec import ScanSpec
from tasks.series.swar import PADDING
from tasks.storage.source import Reader, open_reader

_PROBES = 64
_LEAST_LOOK, _MOST_LOOK = 4 << 10, 64 << 10
_MOST_LINE_BYTES = 8 << 20
_SMALL_FILE = 4 << 20  # not worth the probes


def bytes_of_period(head: Head, spec: ScanSpec) -> tuple[int, int] | None:
    """The byte range that holds all rows of the spec's period if the file is sorted; None to read it all."""
    if not spec.has_period:
        return None
    file = head.file
    if file.compression or file.size - head.data_start < _SMALL_FILE:
        return None
    with open_reader(file) as reader:
        probe = _Probe(reader, head, spec.timezone)
        places = np.linspace(head.data_start, file.size, _PROBES, endpoint=False).astype(int).tolist()
        times = [time for time in (probe.time_from(place) for place in places) if time is not None]
        if len(times) < _PROBES // 2 or any(b < a for a, b in itertools.pairwise(times)):
            return None
        # Never an empty range, so that a period without rows is scanned like any other.
        first = min(probe.first_at_or_after(spec.since_ms), file.size - 1)
        last = max(probe.first_at_or_after(spec.until_ms), first + 1)
    return (0 if first <= head.data_start else first), last


class _Probe:
    """Reads the time of the first row that begins at or after a place."""

    def __init__(self, reader: Reader, head: Head, timezone: str | None) -> None:
        self.reader = reader
        self.head = head
        self.timezone = timezone
        rows = max(head.sample.count(b"\n"), 1)
        # From anywhere, three rows hold the beginning and the end of one.
        self.look = min(max(3 * len(head.sample) // rows, _LEAST_LOOK), _MOST_LOOK)

    def time_from(self, place: int) -> int | None:
        """UTC ms of the first readable row that begins at or after `place`; None at the end of the file."""
        found = self._row_from(place)
        return None if found is None else found[1]

    def first_at_or_after(self, ms: int) -> int:
        """The place from which on no row is older than `ms`, for a sorted file."""
        low, high = self.head.data_start, self.head.file.size
        while high - low > 1:
            middle = (low + high) // 2
            found = self._row_from(middle)
            if found is None or found[1] >= ms:
                high = middle
            else:
                low = found[0] + 1
        return low if self._is_older(low, ms) is False else high

    def _is_older(self, place: int, ms: int) -> bool | None:
        found = self._row_from(place)
        return None if found is None else found[1] < ms

    def _row_from(self, place: int) -> tuple[int, int] | None:
        size = self.look
        begin = max(place - 1, self.head.data_start)
        while True:
            data = bytearray(size + PADDING)
            with memoryview(data) as view:
                count = self.reader.read_into(begin, view[:size])
            text = bytes(data[:count])
            start = 0 if place <= self.head.data_start else text.find(b"\n") + 1
            known = place <= self.head.data_start or start > 0
            while known and start < len(text):
                end = text.find(b"\n", start)
                if end < 0:
                    break
                ms, _ = time_of(text[start : start + 64], self.timezone)
                if ms >= 0:
                    return begin + start, int(ms)
                start = end + 1
            if count < size or size >= _MOST_LINE_BYTES:
                return None
            size *= 4
