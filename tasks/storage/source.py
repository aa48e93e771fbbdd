"""Bytes of a source: which file it is, and reading it by range or as a stream.

A `FileRef` names a file in one version. Local files are read with positioned
reads into the caller's buffer, others over HTTP or through fsspec. A `.gz` or
`.zst` file can only be read from its beginning. What the bytes mean is not known here.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from schemas.errors import FileChanged, ReadFailed, SourceError
from tasks.storage.ahead import AheadReader
from tasks.storage.disk import DiskReader
from tasks.storage.reference import FileRef, Reader, is_local, is_web, local_path
from tasks.storage.stores import StoreReader, stat_store

if TYPE_CHECKING:
    from tasks.storage.web import WebReader

__all__ = ["FileRef", "Reader", "is_local", "local_path", "open_reader", "stat_file"]


def stat_file(url: str) -> FileRef:
    """The file at `url` as it is now; one on a hub is pinned to the commit that it has now.

    Raises:
        SourceError: there is no such file, or it may not be read.
        ReadFailed: the store does not answer.
    """
    if url.startswith("hf://"):
        from tasks.storage.hub_urls import pinned

        return stat_store(pinned(url))
    if is_web(url):
        from tasks.storage.web import stat_web

        return stat_web(url)
    if not is_local(url):
        return stat_store(url)
    try:
        found = local_path(url).stat()
    except OSError as error:
        raise SourceError(f"{url} cannot be read: {error.strerror or error}.") from error
    return FileRef(url, found.st_size, f"mtime-{found.st_mtime_ns}")


@contextmanager
def open_reader(ref: FileRef, until: int | None = None, *, packed: bool = False) -> Iterator[Reader]:
    """Open `ref` for reading; packed files give their unpacked bytes, in ascending order only.

    With `packed` they give the bytes as they are stored, from any place.

    With `until` the bytes up to there will be read in ascending order: the store
    fetches the next ones while the last ones are worked on.

    Raises:
        FileChanged: the file is not the planned version, when opened or when closed without error.
        ReadFailed: storage failed.
    """
    if not is_web(ref.url):  # there each answer says which version it is of
        _check_version(ref)
    try:
        if ref.compression and not packed:
            with _stored_bytes(ref, ref.size) as stored, _unpacked(ref, stored) as stream:
                yield _StreamReader(stream)
        else:
            with _stored_bytes(ref, until) as stored:
                yield stored
    except (OSError, EOFError, zlib.error) as error:
        raise ReadFailed(f"{ref.url} cannot be read to its end: {error}.") from error
    _check_version(ref)


def _check_version(ref: FileRef) -> None:
    if ref.url.startswith("hf://"):
        return  # a commit does not change
    now = stat_file(ref.url)
    if (now.size, now.version) != (ref.size, ref.version):
        raise FileChanged(
            f"{ref.url} changed: {now.size} bytes, version {now.version}; planned {ref.size}, {ref.version}.",
            hint="Run again when nothing writes to it.",
        )


@contextmanager
def _stored_bytes(ref: FileRef, until: int | None) -> Iterator[Reader]:
    if ref.local:
        descriptor = os.open(local_path(ref.url), os.O_RDONLY)
        try:
            yield DiskReader(descriptor, until or 0)
        finally:
            os.close(descriptor)
        return
    until = None if until is None else min(until, ref.size)
    store = _store_reader(ref, until)
    try:
        if until is None:
            yield store
        else:
            with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as pool:
                yield AheadReader(store, pool, until)
    finally:
        store.close()


def _store_reader(ref: FileRef, until: int | None) -> WebReader | StoreReader:
    if not is_web(ref.url):
        return StoreReader(ref)
    # What most runs do without takes long to import.
    from tasks.storage.web import WebReader

    return WebReader(ref, until or 0)


@contextmanager
def _unpacked(ref: FileRef, stored: Reader) -> Iterator[BinaryIO]:
    packed = io.BufferedReader(_RawFile(stored), 1 << 20)
    if ref.compression == "gz":
        with gzip.GzipFile(fileobj=packed, mode="rb") as stream:
            yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20))
    else:
        # Arrow's stream, because it fails on a frame that is cut short; zstandard's ends quietly there.
        with pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd") as stream:
            yield cast(BinaryIO, stream)


class _RawFile(io.RawIOBase):
    """The bytes of a reader from the first to the last, as a file."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with memoryview(buffer) as view:
            count = self._reader.read_into(self._position, view)
        self._position += count
        return count


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
