"""Bytes of a source: which file it is, and reading it by range or as a stream.

A `FileRef` names a file in one version. Local files are read with positioned
reads into the caller's buffer, others through fsspec. A `.gz` or `.zst` file can
only be read from its beginning. What the bytes mean is not known here.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

import fsspec
import pyarrow as pa
from fsspec.core import url_to_fs

from schemas.errors import FileChanged, ReadFailed, SourceError

Compression = Literal["", "gz", "zst"]

_NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
_AHEAD_BYTES = 8 << 20  # two such pieces of a remote file are held


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
def open_reader(ref: FileRef, until: int | None = None) -> Iterator[Reader]:
    """Open `ref` for reading; packed files give their unpacked bytes, in ascending order only.

    With `until` the bytes up to there will be read in ascending order: the store
    fetches the next ones while the last ones are worked on.

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
                yield _LocalReader(descriptor, until or 0)
            finally:
                os.close(descriptor)
        elif until is None:
            yield _RemoteReader(ref)
        else:
            with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as pool:
                yield _AheadReader(_RemoteReader(ref), pool, min(until, ref.size))
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
class _AheadReader:
    """Bytes of a store in pieces: the next is on its way while the last one is used."""

    store: _RemoteReader
    pool: ThreadPoolExecutor
    until: int
    pieces: dict[int, Future[bytearray]] = field(default_factory=dict)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        filled = 0
        while filled < len(buffer):
            start, piece = self._piece_with(offset + filled)
            count = min(len(buffer) - filled, start + len(piece) - offset - filled)
            if count <= 0:
                break
            from_ = offset + filled - start
            buffer[filled : filled + count] = memoryview(piece)[from_ : from_ + count]
            filled += count
        return filled

    def _piece_with(self, offset: int) -> tuple[int, bytearray]:
        """Start and bytes of the piece that has the byte at `offset`, of none behind the end of the file."""
        here = next((start for start in self.pieces if start <= offset < start + _AHEAD_BYTES), offset)
        behind = here + _AHEAD_BYTES
        wanted = {here, behind} if behind < self.until else {here}
        for start in wanted - self.pieces.keys():
            self.pieces[start] = self.pool.submit(self._fetch, start)
        for start in self.pieces.keys() - wanted:
            del self.pieces[start]
        return here, self.pieces[here].result()

    def _fetch(self, start: int) -> bytearray:
        piece = bytearray(min(_AHEAD_BYTES, max(self.store.ref.size - start, 0)))
        with memoryview(piece) as view:
            self.store.read_into(start, view)
        return piece


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
