"""Feeding a block's bytes to a scan, a chunk at a time, by the rule of ownership.

A block owns the lines that begin in it. `feed` finds the first of them, hands
whole lines to the scan, and shows it the first line of the next block, so that
steps between neighbouring rows are known across a cut. How lines are counted is
the scan's own business; both forms of file share this module.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.errors import NotASeries
from tasks.series.cells import NEWLINE
from tasks.series.spec import Block
from tasks.series.swar import PADDING
from tasks.storage.digest import LeafDigests
from tasks.storage.source import Reader

CHUNK_BYTES = 1 << 20
_TAIL_BYTES = 64 << 10
_MOST_LINE_BYTES = 256 << 20


class LineScan(Protocol):
    """Counts the lines of one block. `feed` keeps `bytes_read`, and `leaves`: the digests of its bytes."""

    block: Block
    bytes_read: int
    leaves: bytes

    def run(self, array: NDArray[np.uint8], place: int, stop: int, base: int, *, peek: bool) -> int:
        """Count the whole lines that begin in [place, stop) of `array`; the place behind the last one.

        `base` is the offset in the file of `array[0]`. With `peek` the one line is
        not counted, only compared with the row before it.
        """
        ...


def feed(scan: LineScan, reader: Reader, chunk_bytes: int) -> None:
    """Pass the block's bytes to `scan`, a chunk at a time, and hash them on the way.

    Raises:
        NotASeries: a line is longer than any row can be.
    """
    block = scan.block
    digests = LeafDigests(block.start, block.stop)
    scan.bytes_read += digests.read(reader, block.data_start)
    _feed_lines(scan, reader, chunk_bytes, digests)
    scan.bytes_read += digests.read(reader)
    scan.leaves = digests.finish()


def _feed_lines(scan: LineScan, reader: Reader, chunk_bytes: int, digests: LeafDigests) -> None:
    """Pass on whole lines; the unread rest of a chunk moves to the front of the next."""
    block = scan.block
    # One byte more at the left tells whether a row begins exactly at the cut.
    base = max(block.start - 1, block.data_start)
    skip_line = block.start > block.data_start
    buffer = bytearray(min(chunk_bytes, max(block.stop - base, 0) + _TAIL_BYTES) + PADDING)
    filled = 0
    while True:
        offset = base + filled
        room = len(buffer) - PADDING - filled
        if room == 0:
            buffer = _grown(buffer, block)
            continue
        wanted = min(room, max(block.stop - offset, _TAIL_BYTES))
        with memoryview(buffer) as view:
            count = reader.read_into(offset, view[filled : filled + wanted])
            digests.add(offset, view[filled : filled + count])
        ended = count < wanted
        filled += count
        scan.bytes_read += count
        if ended and filled and buffer[filled - 1] != NEWLINE:
            buffer[filled] = NEWLINE
            filled += 1
        whole = buffer.rfind(b"\n", 0, filled) + 1
        place, finished = 0, False
        if skip_line and whole:
            place = buffer.find(b"\n", 0, filled) + 1
            skip_line = False
        if not skip_line:
            place, finished = _lines(scan, buffer, place, whole, base)
        if ended or finished:
            return
        rest = filled - place
        buffer[:rest] = buffer[place:filled]
        base, filled = base + place, rest


def _lines(scan: LineScan, buffer: bytearray, place: int, whole: int, base: int) -> tuple[int, bool]:
    """Count whole lines of `buffer` from `place`; the first place not used up, and whether that was all."""
    array = np.frombuffer(buffer, np.uint8)
    stop = scan.block.stop - base
    place = scan.run(array, place, min(whole, max(stop, 0)), base, peek=False)
    if place < stop or place >= whole:
        return place, False
    scan.run(array, place, place + 1, base, peek=True)
    return place, True


def _grown(buffer: bytearray, block: Block) -> bytearray:
    if len(buffer) > _MOST_LINE_BYTES:
        raise NotASeries(
            f"{block.file.url} has a line of more than {_MOST_LINE_BYTES:,} bytes near byte {block.start:,}.",
            hint="A row is one sample of all entities; is this file text with line ends?",
        )
    return buffer + bytearray(len(buffer) - PADDING)


def cell_text(array: NDArray[np.uint8], place: int) -> str:
    """The text from `place` to the next delimiter or quote, for a message or for `float`."""
    size = 4096
    while True:
        piece = array[place : place + size].tobytes().lstrip(b" \t")
        quoted = piece[:1] == b'"'
        marks = (b'"', b"\n") if quoted else (b",", b"\n", b'"')
        ends = [at for at in (piece.find(mark, int(quoted)) for mark in marks) if at >= 0]
        if ends or place + size >= len(array):
            return piece[: min(ends, default=len(piece))].strip(b'" \t\r').decode("utf-8", "replace")
        size *= 4


def iso_text(ms: int) -> str:
    """UTC milliseconds as ISO text with seconds."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
