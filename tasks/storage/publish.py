"""Whole files below a root: written atomically, read, removed.

A root is a local folder or any URL that fsspec knows. A local file is written
under a temporary name in the same folder and renamed; an object store gets a
single put, which is atomic there. Readers therefore see the old file, the new
one or none. Durability after a power cut is not promised. What the bytes mean
belongs elsewhere: units in `tasks.storage.units`, outputs in `tasks.outputs`.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import fsspec

from schemas.errors import AcmetraceError, ReadFailed, UsageError
from schemas.manifest import OutputFile
from tasks.storage.names import check_relative

_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.part")
STALE_AFTER_S = 3600.0


def write_bytes(root: str | Path, relative: str, data: bytes) -> OutputFile:
    """Write `data` as root/relative, whole or not at all, and say what was written.

    Raises:
        UsageError: `relative` leaves the root, or the local folder cannot be written.
        ReadFailed: a remote store did not take the file; trying again may help.
    """
    put_bytes(root, relative, data)
    return OutputFile.of(relative, data)


def put_bytes(root: str | Path, relative: str, data: bytes) -> None:
    """`write_bytes` without the description of the file."""
    check_relative(relative)
    folder = local_folder(root)
    if folder is not None:
        _replace(_inside(folder, relative), data)
        return
    store, base = _remote(root)
    try:
        store.pipe_file(f"{base}/{relative}", data)
    except Exception as error:
        raise ReadFailed(f"{relative} cannot be written to {root}: {_text(error)}.") from error


class Growing:
    """A file that is being written, and its size and digest so far; as much of a file as Arrow needs."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: Any) -> int:
        """Append `data`, bytes or another buffer; its length."""
        view = memoryview(data)
        self._file.write(view)
        self._digest.update(view)
        self._size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """The size so far."""
        return self._size

    def writable(self) -> bool:
        """It is."""
        return True

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Who opened the file closes it."""

    def output(self, relative: str) -> OutputFile:
        """The description of what has been written."""
        return OutputFile(path=relative, size=self._size, sha256=self._digest.hexdigest())


@contextmanager
def growing_file(root: str | Path, relative: str) -> Iterator[Growing]:
    """Write root/relative piece by piece in the block; there whole when it ends, untouched if it fails.

    Raises:
        UsageError: `relative` leaves the root, or the local folder cannot be written.
        ReadFailed: a remote store did not take the file.
    """
    check_relative(relative)
    folder = local_folder(root)
    if folder is None:
        with _growing_remote(root, relative) as growing:
            yield growing
        return
    target = _inside(folder, relative)
    temporary = target.parent / f".{uuid.uuid4().hex}.part"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            yield Growing(file)
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        with suppress(OSError):  # where it could not be made, it is not there either
            temporary.unlink(missing_ok=True)


@contextmanager
def _growing_remote(root: str | Path, relative: str) -> Iterator[Growing]:
    store, base = _remote(root)
    try:
        file = store.open(f"{base}/{relative}", "wb")
        try:
            yield Growing(file)
        except BaseException:
            file.discard()  # a store shows a file when it is closed
            raise
        file.close()
    except AcmetraceError:
        raise
    except Exception as error:
        raise ReadFailed(f"{relative} cannot be written to {root}: {_text(error)}.") from error


def check_writable(root: str | Path) -> None:
    """Write a file below `root` and remove it again; folders made for it stay.

    Raises:
        UsageError: `root` cannot be written.
        ReadFailed: a remote store failed.
    """
    name = f"writable-{uuid.uuid4().hex}"
    put_bytes(root, name, b"")
    remove(root, name)


def read_bytes(root: str | Path, relative: str) -> bytes | None:
    """The content of root/relative, or None where there is no such file.

    Raises:
        UsageError: `relative` leaves the root.
        ReadFailed: the file is there and cannot be read.
    """
    check_relative(relative)
    folder = local_folder(root)
    try:
        if folder is not None:
            return _inside(folder, relative).read_bytes()
        store, base = _remote(root)
        return bytes(store.cat_file(f"{base}/{relative}"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UsageError:
        raise
    except Exception as error:
        raise ReadFailed(f"{relative} cannot be read from {root}: {_text(error)}.") from error


def remove(root: str | Path, relative: str) -> None:
    """Remove the file root/relative; one that is not there is fine.

    Raises:
        UsageError: `relative` leaves the root, or the local file cannot be removed.
        ReadFailed: a remote store did not remove the file.
    """
    check_relative(relative)
    folder = local_folder(root)
    if folder is not None:
        try:
            _inside(folder, relative).unlink(missing_ok=True)
        except NotADirectoryError:
            return
        except OSError as error:
            raise UsageError(f"{folder / relative} cannot be removed: {_text(error)}.") from error
        return
    store, base = _remote(root)
    try:
        store.rm_file(f"{base}/{relative}")
    except (FileNotFoundError, KeyError):
        return
    except Exception as error:
        raise ReadFailed(f"{relative} cannot be removed from {root}: {_text(error)}.") from error


def list_files(root: str | Path) -> tuple[str, ...]:
    """The relative names of all files below the root, sorted, without temporary ones."""
    folder = local_folder(root)
    if folder is not None:
        found = [path.relative_to(folder).as_posix() for path in _walk(folder)]
    else:
        store, base = _remote(root)
        store.invalidate_cache()
        try:
            found = [str(path)[len(base) + 1 :] for path in store.find(base)]
        except FileNotFoundError:
            found = []
        except Exception as error:
            raise ReadFailed(f"{root} cannot be listed: {_text(error)}.") from error
    return tuple(sorted(name for name in found if not _TEMPORARY.fullmatch(name.rpartition("/")[2])))


def remove_stale_temporaries(root: str | Path, older_than_s: float = STALE_AFTER_S) -> tuple[str, ...]:
    """Remove temporary files that killed writers left; their relative names.

    Only names of our own form and older than `older_than_s` are touched, so that
    a file another worker is writing now survives. Object stores have none.
    """
    folder = local_folder(root)
    if folder is None:
        return ()
    newest = time.time() - older_than_s
    removed = []
    for path in _walk(folder):
        try:
            if _TEMPORARY.fullmatch(path.name) and path.lstat().st_mtime <= newest:
                path.unlink()
                removed.append(path.relative_to(folder).as_posix())
        except FileNotFoundError:
            continue
    return tuple(sorted(removed))


def local_folder(root: str | Path) -> Path | None:
    """The absolute folder of a local root (a path or a file:// URL), None for a remote one."""
    if isinstance(root, str):
        if not root:
            raise UsageError("The output folder has no name.", hint="Give a folder or a URL.")
        if root.startswith(("file://", "local://")):
            root = root.split("://", 1)[1]
        elif "://" in root or "::" in root:
            return None
    return Path(os.path.abspath(Path(root).expanduser()))


def _remote(root: str | Path) -> tuple[Any, str]:
    try:
        store, base = fsspec.core.url_to_fs(str(root))
    except (ValueError, ImportError) as error:
        raise UsageError(f"The location {root} cannot be used: {_text(error)}.") from error
    return store, str(base).rstrip("/")


def _inside(folder: Path, relative: str) -> Path:
    target = folder / relative
    # A link in the folder must not carry a write or a removal out of it.
    if not Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(folder)):
        raise UsageError(f"The file name {relative!r} leaves the folder {folder} through a link.")
    return target


def _replace(target: Path, data: bytes) -> None:
    temporary = target.parent / f".{uuid.uuid4().hex}.part"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(data)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(target, error) from error


def _unwritable(target: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{target} cannot be written: {_text(error)}.",
        hint="Check permissions and free space, or choose another output folder.",
    )


def _walk(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent, name)


def _text(error: Exception) -> str:
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror or f"{type(error).__name__} {error}".rstrip(" .")
