"""The digest of a file that is read in parts: a tree of two levels over leaves of 1 MiB.

A leaf is the XXH3-128 of 1 MiB of the file (the last one of what is left), the
root the XXH3-128 of all leaves in order. So parts can be hashed anywhere while they
are scanned, and the result does not depend on where the file was cut. It tells
other bytes apart; against forgery on purpose it does not guard.
"""

from __future__ import annotations

from collections.abc import Iterable

import xxhash

from tasks.storage.source import FileRef, Reader, open_reader

LEAF_BYTES = 1 << 20
_LABEL = "xxh3-128-tree"


class LeafDigests:
    """The leaves that begin in [start, stop) of a file; takes its bytes in ascending order."""

    def __init__(self, start: int, stop: int) -> None:
        self._place = -(-start // LEAF_BYTES) * LEAF_BYTES
        self._until = -(-stop // LEAF_BYTES) * LEAF_BYTES
        self._open = xxhash.xxh3_128()
        self._done: list[bytes] = []

    def add(self, offset: int, data: memoryview) -> None:
        """Take the bytes at `offset`; those that were seen or belong to other leaves do not matter.

        Raises:
            ValueError: bytes between the last ones and these are missing.
        """
        if offset > self._place < self._until:
            raise ValueError(f"bytes {self._place} to {offset} were not given")
        stop = min(offset + len(data), self._until)
        while self._place < stop:
            edge = min(stop, (self._place // LEAF_BYTES + 1) * LEAF_BYTES)
            self._open.update(data[self._place - offset : edge - offset])
            self._place = edge
            if edge % LEAF_BYTES == 0:
                self._close()

    def read(self, reader: Reader, stop: int | None = None) -> int:
        """Read what is missing, up to byte `stop` or to the end of the last leaf; the bytes read."""
        stop = self._until if stop is None else min(stop, self._until)
        first = self._place
        while self._place < stop:
            wanted = min(LEAF_BYTES, stop - self._place)
            buffer = bytearray(wanted)
            count = reader.read_into(self._place, memoryview(buffer))
            self.add(self._place, memoryview(buffer)[:count])
            if count < wanted:
                break
        return self._place - first

    def finish(self) -> bytes:
        """The digests of the leaves, 16 bytes each; a last one that is short ends with the file."""
        if self._place % LEAF_BYTES:
            self._close()
        return b"".join(self._done)

    def _close(self) -> None:
        self._done.append(self._open.digest())
        self._open.reset()


def joined(leaves: Iterable[bytes]) -> str:
    """The digest of a file from all its leaves in order."""
    return f"{_LABEL}:{xxhash.xxh3_128(b''.join(leaves)).hexdigest()}"


def file_digest(ref: FileRef) -> str:
    """The digest of a whole file; of a packed one, of its unpacked bytes.

    Raises:
        FileChanged, ReadFailed: as `open_reader`.
    """
    leaves = LeafDigests(0, 1 << 62)
    with open_reader(ref, ref.size) as reader:
        leaves.read(reader)
    return joined([leaves.finish()])
