"""One file from a web address, with or without a known digest."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from schemas.errors import ReadFailed, UsageError
from tasks.hub.fetch import STALL_S, OnBytes, fetch, part_of
from tasks.hub.verify import Digests, Promise
from tasks.storage.names import check_relative
from tasks.storage.reference import FileRef
from tasks.storage.retries import Busy, reason, with_patience
from tasks.storage.web import Probe, probe, stream

_PIECE = 1 << 20


def name_of(url: str) -> str:
    """The file name at the end of a web address.

    Raises:
        UsageError: it has none, or one that no file should have.
    """
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    try:
        return check_relative(name)
    except UsageError as error:
        raise UsageError(f"{_shown(url)} does not end in the name of a file.") from error


def fetch_url(
    url: str,
    target: Path,
    sha256: str | None = None,
    *,
    stall_s: float = STALL_S,
    on_size: OnBytes = lambda size: None,
    on_bytes: OnBytes = lambda count: None,
) -> Digests:
    """Bring the file at `url` to `target`, whole, and with this SHA-256 if it is given.

    From a server that sends parts it is resumed where it broke off, from others it begins anew.

    Raises:
        UsageError, SourceError: the address is wrong, or `target` cannot be written.
        WrongContent: it is another file.
        ReadFailed: the server does not give it.
    """
    if urlsplit(url).scheme not in ("https", "http"):
        raise UsageError(f"{_shown(url)} is no web address.", hint="It begins with https://.")
    found = probe(url)
    on_size(found.size or 0)
    promise = Promise(found.size, sha256)
    if found.ranges and found.size is not None:
        ref = FileRef(url, found.size, found.version)
        return fetch(ref, target, promise, stall_s=stall_s, on_bytes=on_bytes)
    return _fetch_at_once(url, found, target, promise, stall_s, on_bytes)


def _fetch_at_once(
    url: str, found: Probe, target: Path, promise: Promise, stall_s: float, on_bytes: OnBytes
) -> Digests:
    part = part_of(target, FileRef(url, found.size or 0, found.version))
    target.parent.mkdir(parents=True, exist_ok=True)

    def trial() -> tuple[Digests, bytes]:
        digests, start = Digests(found.size or 0), b""
        try:
            with part.open("wb") as file, stream(url, stall_s) as pieces:
                for piece in pieces:
                    start = start or piece[:64]
                    file.write(piece)
                    digests.add(piece)
                    on_bytes(len(piece))
        except httpx.HTTPError:
            on_bytes(-digests.size)
            raise
        return digests, start

    try:
        digests, start = with_patience(trial, _may_pass)
        promise.check(_shown(url), digests, start)
        os.replace(part, target)
    except (httpx.HTTPError, Busy) as error:
        raise ReadFailed(f"{_shown(url)} cannot be fetched: {reason(error)}.") from error
    finally:
        part.unlink(missing_ok=True)
    return digests


def _may_pass(error: Exception) -> bool:
    return isinstance(error, httpx.TransportError | Busy)


def _shown(url: str) -> str:
    """The address without what may be secret in it."""
    return str(httpx.URL(url).copy_with(query=None, username=None, password=None))
