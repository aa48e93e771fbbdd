"""Reading ahead of a remote file: the next piece is on its way while the last one is used."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from tasks.storage.reference import Reader

PIECE_BYTES = 8 << 20  # two such pieces are held


@dataclass
class AheadReader:
    """Bytes of `store` in pieces up to `until`, in ascending order; those behind as they are asked for."""

    store: Reader
    pool: ThreadPoolExecutor
    until: int
    pieces: dict[int, Future[bytearray]] = field(default_factory=dict)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from the byte at `offset` on, as far as the file goes."""
        filled = 0
        while filled < len(buffer):
            place = offset + filled
            if place >= self.until:
                # What the block no longer owns: the end of its last row, not a piece.
                return filled + self.pool.submit(self.store.read_into, place, buffer[filled:]).result()
            start, piece = self._piece_with(place)
            count = min(len(buffer) - filled, start + len(piece) - place)
            if count <= 0:
                break
            buffer[filled : filled + count] = memoryview(piece)[place - start : place - start + count]
            filled += count
        return filled

    def _piece_with(self, offset: int) -> tuple[int, bytearray]:
        """Start and bytes of the piece that has the byte at `offset`."""
        here = next((start for start in self.pieces if start <= offset < start + PIECE_BYTES), offset)
        behind = here + PIECE_BYTES
        wanted = [start for start in (here, behind) if start < self.until]
        for start in wanted:
            if start not in self.pieces:
                self.pieces[start] = self.pool.submit(self._fetch, start)
        for start in self.pieces.keys() - wanted:
            del self.pieces[start]
        return here, self.pieces[here].result()

    def _fetch(self, start: int) -> bytearray:
        piece = bytearray(min(PIECE_BYTES, self.until - start))
        with memoryview(piece) as view:
            count = self.store.read_into(start, view)
        del piece[count:]
        return piece
