"""Unpacking a zip that somebody else made: into one folder, whole, and no more than it may take.

Names are checked before anything is written, and sizes as bytes come, not as the
archive claims them. The folder appears when all is unpacked.
"""

from __future__ import annotations

import os
import shutil
import stat
import uuid
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import UnsafeArchive, UsageError
from tasks.storage.names import check_relative

_PIECE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What an archive may hold: files, their bytes together, and unpacked bytes for each packed one."""

    files: int = 10_000
    total_bytes: int = 20 << 30
    ratio: float = 200.0


def unpack(
    archive: Path,
    dest: Path,
    limits: Limits = Limits(),
    on_bytes: Callable[[int], None] = lambda count: None,
) -> tuple[str, ...]:
    """Unpack `archive` into the new folder `dest`; the names of its files, sorted.

    Raises:
        UnsafeArchive: it holds a name that leaves the folder, a link, a damaged file, or too much.
        UsageError: `dest` is there already, or cannot be written.
    """
    if dest.exists():
        raise UsageError(f"{dest} is there already.", hint="Name a new folder, or remove this one first.")
    staging = dest.parent / f".{uuid.uuid4().hex}.unpack"
    try:
        with zipfile.ZipFile(archive) as packed:
            members = [member for member in packed.infolist() if not member.is_dir()]
            _check(archive, members, limits)
            allowed = min(limits.total_bytes, int(limits.ratio * max(archive.stat().st_size, 1)))
            for member in members:
                allowed -= _extract(archive, packed, member, staging, allowed, on_bytes)
        staging.mkdir(parents=True, exist_ok=True)
        os.replace(staging, dest)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _unsafe(archive, f"cannot be unpacked: {error}") from error
    except OSError as error:
        raise UsageError(f"{dest} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return tuple(sorted(member.filename for member in members))


def _check(archive: Path, members: list[zipfile.ZipInfo], limits: Limits) -> None:
    if len(members) > limits.files:
        raise _unsafe(archive, f"holds {len(members):,} files, allowed are {limits.files:,}")
    seen: set[str] = set()
    for member in members:
        # Python has cut the name at a NUL and turned the system's separators into slashes.
        name = member.orig_filename
        try:
            check_relative(name)
        except UsageError as error:
            raise _unsafe(archive, f"holds a name that is not safe: {error.message}") from error
        if stat.S_ISLNK(member.external_attr >> 16):
            raise _unsafe(archive, f"holds the link {name!r}")
        if member.flag_bits & 1:
            raise _unsafe(archive, f"holds the encrypted file {name!r}")
        if name.casefold() in seen:
            raise _unsafe(archive, f"holds {name!r} twice")
        seen.add(name.casefold())
    for name in seen:
        parts = name.split("/")
        if any("/".join(parts[:depth]) in seen for depth in range(1, len(parts))):
            raise _unsafe(archive, f"holds {name!r} below a file")


def _extract(
    archive: Path,
    packed: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    staging: Path,
    allowed: int,
    on_bytes: Callable[[int], None],
) -> int:
    """Write one file; its bytes."""
    target = staging / member.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with packed.open(member) as source, target.open("xb") as file:
        while piece := source.read(_PIECE):
            written += len(piece)
            if written > allowed:
                raise _unsafe(archive, f"unpacks to more than it may: {member.filename!r} goes beyond it")
            file.write(piece)
            on_bytes(len(piece))
    return written


def _unsafe(archive: Path, what: str) -> UnsafeArchive:
    return UnsafeArchive(f"The archive {archive.name} {what}.", hint="Nothing of it was unpacked.")
