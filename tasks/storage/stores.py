"""Files of a store behind fsspec, S3 among them: their version, and their bytes by range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fsspec.core import url_to_fs

from schemas.errors import ReadFailed, SourceError
from tasks.storage.hub_urls import endpoint
from tasks.storage.reference import FileRef
from tasks.storage.retries import reason, with_patience

_VERSIONS = ("ETag", "etag", "sha256", "checksum", "mtime", "LastModified", "last_modified", "created")
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotImplementedError, ValueError, TypeError)
_EXTRAS = {"s3": "s3", "s3a": "s3"}


def filesystem(url: str) -> tuple[Any, str]:
    """The fsspec file system of `url`, and the path in it.

    Raises:
        SourceError: no such kind of store is known, or its client is not installed.
    """
    protocol = url.partition("://")[0]
    try:
        options = {"endpoint": endpoint()} if protocol == "hf" else {}
        fs, path = url_to_fs(url, **options)
        return fs, path
    except ImportError as error:
        extra = _EXTRAS.get(protocol)
        hint = f"Install it: pip install 'acmetrace-pipeline[{extra}]'." if extra else f"{error}."
        raise SourceError(f"The client for {protocol}:// is not installed.", hint=hint) from error
    except ValueError as error:
        raise SourceError(f"The location {url} cannot be used: {reason(error)}.") from error


def stat_store(url: str) -> FileRef:
    """The file at `url` as it is now.

    Raises:
        SourceError: there is no such file, or it may not be read.
        ReadFailed: the store does not answer.
    """
    fs, path = filesystem(url)

    def info() -> dict[str, Any]:
        if not url.startswith("hf://"):  # pinned: what was listed stays true
            fs.invalidate_cache(fs._parent(path))
        return dict(fs.info(path))

    try:
        found = with_patience(info, may_pass)
    except _FINAL as error:
        raise SourceError(f"{url} cannot be read: {reason(error)}.") from error
    except Exception as error:  # each store has errors of its own, of no common class
        raise ReadFailed(f"{url} cannot be read: {reason(error)}.") from error
    return FileRef(url, int(found["size"] or 0), _version(found))


def _version(info: dict[str, Any]) -> str:
    lfs = info.get("lfs")
    if lfs is not None:
        return f"sha256-{lfs['sha256']}"
    if info.get("blob_id"):
        return f"git-{info['blob_id']}"
    for key in _VERSIONS:
        if info.get(key):
            return f"{key.lower()}-{str(info[key]).strip(chr(34))}"
    return "unversioned"


def may_pass(error: Exception) -> bool:
    """Whether an error of a store is worth another try."""
    return not isinstance(error, _FINAL)


@dataclass
class StoreReader:
    """Reads a file of a store by ranges, each tried again where it fails."""

    ref: FileRef

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from the byte at `offset` on, as far as the file goes.

        Raises:
            ReadFailed: the store does not give the bytes.
        """
        stop = min(offset + len(buffer), self.ref.size)
        if offset >= stop:
            return 0
        fs, path = filesystem(self.ref.url)

        def piece() -> bytes:
            data = bytes(fs.cat_file(path, start=offset, end=stop))
            if len(data) != stop - offset:
                raise ReadFailed(f"{len(data)} of the bytes {offset} to {stop} came")
            return data

        try:
            data = with_patience(piece, may_pass)
        except Exception as error:
            raise ReadFailed(f"{self.ref.url} cannot be read: {reason(error)}.") from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Nothing is held."""
