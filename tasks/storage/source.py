"""Bytes of a source: which file it is, and reading it by range or as a stream.

A `FileRef` names a file in one version. Local files are read with positioned
reads into the caller's buffer, others through fsspec. A `.gz` or `.zst` file can
only be read from its beginning. What the bytes mean is not known here.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

import fsspec
import pyarrow as pa
from fsspec.core import url_to_fs

from schemas.errors import FileChanged, ReadFailed, SourceError

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


def local_path(url: str) -> Path:
    """The path of a local url."""
    return Path(url.removeprefix("file://"))


def stat_file(url: str) -> FileRef:
    """The file at `url` as it is now.

    Raises:
        SourceError: there is no such file, or it may not be read.
    """
    try:
        if is_local(url):
            found = local_path(url).stat()
            return FileRef(url, found.st_size, f"mtime-{found.st_mtime_ns}")
        fs, path = url_to_fs(url)
        info = fs.info(path)
    except OSError as error:
        raise SourceError(f"{url} cannot be read: {error.strerror or error}.") from error
    return FileRef(url, int(info["size"] or 0), _remote_version(info))


def _remote_version(info: dict[str, object]) -> str:
    for key in ("ETag", "etag", "sha256", "checksum", "mtime", "LastModified", "last_modified", "created"):
        if info.get(key):
            return f"{key.lower()}-{str(info[key]).strip(chr(34))}"
    return "unversioned"


@contextmanager
def open_reader(ref: FileRef) -> Iterator[Reader]:
    """Open `ref` for reading; packed files give their unpacked bytes, in ascending order only.

    Raises:
        FileChanged: the file is not the planned version, when opened or when closed without error.
        ReadFailed: storage failed.
    """
    _check_version(ref)
    try:
        if ref.compression:
            with _unpacked(ref) as stream:
                yield _StreamReader(stream)
        elif ref.local:
            descriptor = os.open(local_path(ref.url), os.O_RDONLY)
            try:
                yield _LocalReader(descriptor)
            finally:
                os.close(descriptor)
        else:
            yield _RemoteReader(ref)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadFailed(f"{ref.url} cannot be read to its end: {error}.") from error
    _check_version(ref)


def _check_version(ref: FileRef) -> None:
    now = stat_file(ref.url)
    if (now.size, now.version) != (ref.size, ref.version):
        raise FileChanged(
            f"{ref.url} changed: {now.size} bytes, version {now.version}; planned {ref.size}, {ref.version}.",
            hint="Run again when nothing writes to it.",
        )


@contextmanager
def _unpacked(ref: FileRef) -> Iterator[BinaryIO]:
    with fsspec.open(ref.url, "rb") as packed:
        if ref.compression == "gz":
            with gzip.GzipFile(fileobj=packed, mode="rb") as stream:
                yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20))
        else:
            # Arrow's stream, because it fails on a frame that is cut short; zstandard's ends quietly there.
            with pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd") as stream:
                yield cast(BinaryIO, stream)


@dataclass
class _LocalReader:
    descriptor: int

    def read_into(self, offset: int, buffer: memoryview) -> int:
        filled = 0
        while filled < len(buffer):
            count = os.preadv(self.descriptor, [buffer[filled:]], offset + filled)
            if count == 0:
                break
            filled += count
        return filled


@dataclass
class _RemoteReader:
    ref: FileRef

    def read_into(self, offset: int, buffer: memoryview) -> int:
        stop = min(offset + len(buffer), self.ref.size)
        if offset >= stop:
            return 0
        fs, path = url_to_fs(self.ref.url)
        try:
            data = fs.cat_file(path, start=offset, end=stop)
        except Exception as error:  # each store has errors of its own, of no common class
            raise ReadFailed(f"{self.ref.url} cannot be read: {error or type(error).__name__}.") from error
        if len(data) != stop - offset:
            raise ReadFailed(f"{self.ref.url} gave {len(data)} of the bytes {offset} to {stop}.")
        buffer[: len(data)] = data
        return len(data)


@dataclass
class _StreamReader:
    stream: BinaryIO
    position: int = 0

    def read_into(self, offset: int, buffer: memoryview) -> int:
        while self.position < offset:
            skipped = self.stream.read(min(offset - self.position, 1 << 20))
            if not skipped:
                return 0
            self.position += len(skipped)
        filled = 0
        while filled < len(buffer):
            data = self.stream.read(len(buffer) - filled)
            if not data:
                break
            buffer[filled : filled + len(data)] = data
            filled += len(data)
        self.position += filled
        return filled
