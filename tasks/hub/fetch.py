"""One file from a server to a folder: resumed where it broke off, verified, then put in its place.

Bytes go to a file beside the target whose name says which content it is a part
of, so that a later run, or another revision, never appends to something else.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from schemas.errors import FileChanged, NoSpace, UsageError, WrongContent
from tasks.hub.verify import Digests, Promise, digests_of
from tasks.storage.reference import FileRef
from tasks.storage.web import WebReader

_PIECE = 1 << 20
STALL_S = 60.0

OnBytes = Callable[[int], None]


def part_of(target: Path, ref: FileRef) -> Path:
    """Where the bytes of `ref` for `target` are kept until they are all there."""
    content = hashlib.sha256(f"{target.name}\n{ref.size}\n{ref.version}".encode()).hexdigest()[:24]
    return target.parent / f".{content}.fetch"


def fetch(
    ref: FileRef,
    target: Path,
    promise: Promise,
    *,
    stall_s: float = STALL_S,
    on_bytes: OnBytes = lambda n: None,
) -> Digests:
    """Bring the file `ref` to `target`, whole and verified, or not at all.

    `on_bytes` is told of all bytes, those that an earlier run brought first; of
    bytes that turn out wrong it is told the negative of their number.

    Raises:
        WrongContent: it is not the promised file, even when fetched anew.
        ReadFailed: the server does not give the bytes; what came is kept for the next try.
        UsageError, NoSpace: the folder cannot be written, or is full.
    """
    part = part_of(target, ref)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for last in (False, True):
            digests, start = _fill(ref, part, stall_s, on_bytes)
            try:
                promise.check(ref.url, digests, start)
                break
            except WrongContent:
                part.unlink()
                on_bytes(-digests.size)
                # An old part may be to blame, or the way here; the second answer is final.
                if last:
                    raise
        os.replace(part, target)
    except OSError as error:
        raise _unwritable(target, error) from error
    return digests


def _fill(ref: FileRef, part: Path, stall_s: float, on_bytes: OnBytes) -> tuple[Digests, bytes]:
    """Bring `part` to its full size; digests and first bytes of it."""
    if part.exists() and part.stat().st_size > ref.size:
        part.unlink()
    part.touch()
    digests, start = digests_of(part, ref.size)
    on_bytes(digests.size)
    reader = WebReader(ref, ref.size, stall_s)
    buffer = bytearray(_PIECE)
    try:
        with part.open("ab") as file, memoryview(buffer) as view:
            while digests.size < ref.size:
                count = reader.read_into(digests.size, view[: min(_PIECE, ref.size - digests.size)])
                start = start or bytes(view[:64])
                file.write(view[:count])
                digests.add(view[:count])
                on_bytes(count)
    except FileChanged as error:
        raise WrongContent(
            f"{ref.url} is not the promised file: {error.message}", hint="Pull again; the listing may be new."
        ) from error
    finally:
        reader.close()
    return digests, start


def _unwritable(target: Path, error: OSError) -> UsageError | NoSpace:
    if error.errno == errno.ENOSPC:
        return NoSpace(
            f"The disk is full: {target} cannot be written.",
            hint="Make room and pull again; what was fetched is kept.",
        )
    return UsageError(
        f"{target} cannot be written: {error.strerror or error}.", hint="Check its permissions."
    )
