"""Bytes of a local file, with the system reading ahead where they are not in memory."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

_NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
_AHEAD_BYTES = 8 << 20


@dataclass
class DiskReader:
    """Positioned reads; `waits` once a byte before `until` was not in the page cache."""

    descriptor: int
    until: int
    waits: bool = False
    advised: int = 0

    def read_into(self, offset: int, buffer: memoryview) -> int:
        filled = 0
        while filled < len(buffer):
            place = offset + filled
            # Asking the system to read ahead takes time of its own, also where all is there.
            ready_only = _NO_WAIT if place < self.until and not self.waits else 0
            if self.waits:
                self._read_ahead(place, offset + len(buffer))
            try:
                count = os.preadv(self.descriptor, [buffer[filled:]], place, ready_only)
            except OSError as error:
                if ready_only and error.errno in (errno.EAGAIN, errno.EOPNOTSUPP):
                    self.waits = True
                    continue
                raise
            if count == 0:
                break
            filled += count
        return filled

    def _read_ahead(self, place: int, stop: int) -> None:
        """Let the system fetch more than it would by itself: a disk can have it in flight."""
        if stop <= self.advised - _AHEAD_BYTES // 2 or self.advised >= self.until:
            return
        start = max(self.advised, place)
        self.advised = min(stop + _AHEAD_BYTES, self.until)
        if self.advised > start and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.descriptor, start, self.advised - start, os.POSIX_FADV_WILLNEED)
