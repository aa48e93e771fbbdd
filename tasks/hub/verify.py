"""Whether a file on disk is the promised one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import WrongContent
from tasks.hub.listing import RemoteFile

_POINTER = b"version https://git-lfs.github.com/spec/"
_PIECE = 1 << 20


class Digests:
    """Size, SHA-256 and git's SHA-1 of bytes as they come; git hashes the size before them."""

    def __init__(self, size: int) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()
        self._sha1 = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)

    def add(self, data: bytes | memoryview) -> None:
        """Take in the next bytes."""
        self._sha256.update(data)
        self._sha1.update(data)
        self.size += len(data)

    @property
    def sha256(self) -> str:
        """In hex."""
        return self._sha256.hexdigest()

    @property
    def git_sha1(self) -> str:
        """In hex."""
        return self._sha1.hexdigest()


@dataclass(frozen=True)
class Promise:
    """What a file must be: its size, and its SHA-256 or git's SHA-1, as far as they are known."""

    size: int | None
    sha256: str | None = None
    git_sha1: str | None = None

    @classmethod
    def of(cls, file: RemoteFile) -> Promise:
        """What a listing promises of a file."""
        return cls(file.size, file.sha256, None if file.sha256 else file.git_sha1)

    def check(self, name: str, found: Digests, start: bytes) -> None:
        """Compare with what was found; `start` are the first bytes.

        Raises:
            WrongContent: it is another file.
        """
        pairs = (
            ("bytes", self.size, found.size),
            ("SHA-256", self.sha256, found.sha256),
            ("git SHA-1", self.git_sha1, found.git_sha1),
        )
        for what, wanted, got in pairs:
            if wanted is not None and wanted != got:
                pointer = " It is a Git LFS pointer, not the file." if start.startswith(_POINTER) else ""
                raise WrongContent(
                    f"{name} is not the promised file: {what} {got}, promised {wanted}.{pointer}",
                    hint="Nothing of it is kept. Pull again; if it stays so, its server is at fault.",
                )


def digests_of(path: Path, size: int | None = None) -> tuple[Digests, bytes]:
    """Digests and first bytes of a file, of its first `size` bytes if given."""
    digests = Digests(path.stat().st_size if size is None else size)
    start = b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            start = start or piece[: len(_POINTER)]
            digests.add(piece)
    return digests, start
