"""Which file in which version: what goes to a worker instead of the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Compression = Literal["", "gz", "zst"]


@dataclass(frozen=True)
class FileRef:
    """One file in one version: `url` (local path or fsspec URL), `size` in stored bytes, store's version."""

    url: str
    size: int
    version: str

    @property
    def compression(self) -> Compression:
        """How the bytes are packed, by the file's name."""
        return "gz" if self.url.endswith(".gz") else "zst" if self.url.endswith(".zst") else ""

    @property
    def local(self) -> bool:
        """Whether the file is read through the operating system."""
        return is_local(self.url)


class Reader(Protocol):
    """Reads bytes of an open file; `read_into` fills the buffer as far as it can and returns the count."""

    def read_into(self, offset: int, buffer: memoryview) -> int: ...


def is_local(url: str) -> bool:
    """Whether `url` is a plain path (or file://)."""
    return "://" not in url or url.startswith("file://")


def is_web(url: str) -> bool:
    """Whether `url` is read over HTTP: https://, http://, or hf:// of the Hugging Face hub."""
    return url.startswith(("https://", "http://", "hf://"))


def local_path(url: str) -> Path:
    """The path of a local url."""
    return Path(url.removeprefix("file://"))
