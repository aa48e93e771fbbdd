"""Byte ranges over HTTP: of a web server, or of a file on the Hugging Face hub.

One request serves a whole block: it is read as it comes, and asked for again
from the byte where it broke off. The address a server redirects to is kept, so
that a redirect costs one request a block and not one a piece. Every answer
tells size and version of the file; one that is not the planned file is refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from schemas.errors import FileChanged, ReadFailed, SourceError
from tasks.storage.hub_urls import web_address
from tasks.storage.reference import FileRef
from tasks.storage.retries import Busy, is_busy, reason, seconds_asked, with_patience

TIMEOUT_S = 30.0  # without a single byte
MOST_CONNECTIONS = 8  # of this process
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_NOT_NOW = (httpx.TransportError, Busy)
_LINK_EXPIRED = frozenset({401, 403, 404, 410})
_FETCH_FIRST = "Fetch the file first: acmetrace pull --url URL DEST."
_RUN_AGAIN = "Run again when nothing writes to it."
_USER_AGENT = "acmetrace-pipeline"


@functools.cache
def _client() -> httpx.Client:
    limits = httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS)
    # A worker waits for a free connection as long as it takes.
    timeout = httpx.Timeout(TIMEOUT_S, pool=None)
    headers = {"user-agent": _USER_AGENT, "accept-encoding": "identity"}
    return httpx.Client(limits=limits, timeout=timeout, headers=headers, follow_redirects=True)


def stat_web(url: str) -> FileRef:
    """The file at an http(s) URL as it is now.

    Raises:
        SourceError: there is no such file, it may not be read, or it cannot be read in ranges.
        ReadFailed: the server cannot be reached or stays busy.
    """
    place = httpx.URL(url)
    if place.userinfo or place.query:
        bare = place.copy_with(query=None, username=None, password=None)
        raise SourceError(
            f"{bare} is given with a password or a query, which would be written down with the results.",
            hint=_FETCH_FIRST,
        )
    found = probe(url)
    if not found.ranges:
        raise SourceError(
            f"{url} cannot be read in parts: its server does not serve byte ranges.",
            hint=_FETCH_FIRST,
        )
    return FileRef(url, found.size or 0, found.version)


@dataclass(frozen=True)
class Probe:
    """What a server says of a file: size (None if it does not), version, whether it sends parts."""

    size: int | None
    version: str
    ranges: bool


def probe(url: str) -> Probe:
    """Ask for one byte of the file at an http(s) URL.

    Raises:
        SourceError: there is no such file, or it may not be read.
        ReadFailed: the server cannot be reached or stays busy.
    """
    answer = _reached(url)
    if answer.status_code not in (200, 206):
        raise SourceError(f"{httpx.URL(url).copy_with(query=None)} cannot be read: {_status(answer)}.")
    found = _RANGE.match(answer.headers.get("content-range", ""))
    if answer.status_code == 206 and found:
        return Probe(int(found[3]), _version(answer), ranges=True)
    length = answer.headers.get("content-length", "")
    size = int(length) if length.isdigit() else None
    return Probe(size, _version(answer), ranges=size == 0)


@contextmanager
def stream(url: str, timeout_s: float = TIMEOUT_S) -> Iterator[Iterator[bytes]]:
    """All bytes at an http(s) URL as they come.

    Raises:
        httpx.HTTPError: they do not come, or not all of them.
        SourceError: there is no such file, or it may not be read.
    """
    timeout = httpx.Timeout(timeout_s, pool=None)
    with _client().stream("GET", url, timeout=timeout) as answer:
        _checked(answer)
        if answer.status_code != 200:
            raise SourceError(f"{httpx.URL(url).copy_with(query=None)} cannot be read: {_status(answer)}.")
        yield answer.iter_raw()


def is_page(url: str) -> bool | None:
    """Whether an http(s) URL leads to a web page, such as a listing of files; None where there is nothing.

    Raises:
        ReadFailed: the server cannot be reached or stays busy.
    """
    answer = _reached(url)
    if answer.status_code in (404, 410):
        return None
    return str(answer.headers.get("content-type", "")).startswith("text/html")


def _reached(url: str) -> httpx.Response:
    try:
        return with_patience(functools.partial(_first_byte, url), _may_pass)
    except (Busy, httpx.HTTPError) as error:
        message = error.message if isinstance(error, Busy) else f"{url} cannot be reached: {reason(error)}."
        raise ReadFailed(message, hint="Check the name and the network.") from error


def _first_byte(url: str) -> httpx.Response:
    """The answer to a request for one byte, without a body that may be longer; an empty file has no range."""
    with _client().stream("GET", url, headers={"range": "bytes=0-0"}) as answer:
        if answer.status_code == 416:
            with _client().stream("GET", url) as whole:
                return _checked(whole)
        return _checked(answer)


def _checked(answer: httpx.Response) -> httpx.Response:
    if is_busy(answer.status_code):
        wait_s = seconds_asked(answer.headers.get("retry-after"))
        raise Busy(f"{answer.request.url} cannot be read now: {_status(answer)}.", wait_s=wait_s)
    return answer


def _version(answer: httpx.Response) -> str:
    for name in ("etag", "last-modified"):
        if text := answer.headers.get(name, "").strip():
            return f"{name}-{text.removeprefix('W/').strip(chr(34))}"
    return "unversioned"


def _status(answer: httpx.Response) -> str:
    return f"the server answers {answer.status_code} {answer.reason_phrase}"


def _may_pass(error: Exception) -> bool:
    return isinstance(error, _NOT_NOW)


@dataclass
class WebReader:
    """Reads a file by HTTP; `until` says how far the bytes will be read in ascending order.

    Without a single byte for `timeout_s` seconds an answer is given up, and asked for again.
    """

    ref: FileRef
    until: int
    timeout_s: float = TIMEOUT_S
    _address: str = ""
    _headers: dict[str, str] = field(default_factory=dict)
    _moved: str = ""  # where the server sent us
    _answer: httpx.Response | None = None
    _pieces: Iterator[bytes] = field(default_factory=lambda: iter(()))
    _position: int = -1
    _end: int = -1  # of what the answer holds
    _left: memoryview = field(default_factory=lambda: memoryview(b""))

    def __post_init__(self) -> None:
        self._address = self.ref.url
        if self.ref.url.startswith("hf://"):
            self._address, self._headers = web_address(self.ref.url)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from the byte at `offset` on, as far as the file goes.

        Raises:
            FileChanged: the server has another file there now.
            ReadFailed: the bytes do not come, even after trying again and again.
        """
        size = min(len(buffer), self.ref.size - offset)
        filled = 0

        def more() -> None:
            nonlocal filled
            try:
                while filled < size:
                    filled += self._some(offset + filled, offset + size, buffer[filled:size])
            except BaseException:
                self.close()
                raise

        if size <= 0:
            return 0
        try:
            with_patience(more, _may_pass)
        except (*_NOT_NOW, httpx.HTTPError) as error:
            raise ReadFailed(
                f"{self.ref.url} cannot be read at byte {offset + filled:,}: {reason(error)}."
            ) from error
        return filled

    def close(self) -> None:
        """Give the connection back."""
        if self._answer is not None:
            self._answer.close()
        self._answer, self._pieces, self._left, self._position = None, iter(()), memoryview(b""), -1

    def _some(self, offset: int, stop: int, buffer: memoryview) -> int:
        """Take what has come of the bytes from `offset`; ask for them where no answer has them."""
        if self._position != offset or self._position == self._end:
            self.close()
            self._ask(offset, max(stop, self.until))
        if not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                raise httpx.ReadError("the answer ended early")
            self._left = memoryview(piece)
        count = min(len(self._left), len(buffer))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        self._position += count
        return count

    def _ask(self, offset: int, stop: int) -> None:
        end = min(stop, self.ref.size)
        wanted = {"range": f"bytes={offset}-{end - 1}"}
        if self._moved:
            answer = self._send(self._moved, wanted)
            if answer.status_code in _LINK_EXPIRED:
                answer.close()
                answer = self._send(self._address, wanted | self._headers)
        else:
            answer = self._send(self._address, wanted | self._headers)
        self._answer, self._position, self._end = answer, offset, end
        self._check(answer, offset)
        if str(answer.url) != self._address:
            self._moved = str(answer.url)
        self._pieces = answer.iter_raw()

    def _send(self, address: str, headers: dict[str, str]) -> httpx.Response:
        client = _client()
        timeout = httpx.Timeout(self.timeout_s, pool=None)
        return client.send(
            client.build_request("GET", address, headers=headers, timeout=timeout), stream=True
        )

    def _check(self, answer: httpx.Response, offset: int) -> None:
        _checked(answer)
        url = self.ref.url
        found = _RANGE.match(answer.headers.get("content-range", ""))
        if answer.status_code in (404, 410, 416):
            raise FileChanged(
                f"{url} changed: {_status(answer)}.", hint="Run again when nothing writes to it."
            )
        if answer.status_code != 206 or not found or int(found[1]) != offset:
            raise ReadFailed(
                f"{url} cannot be read from byte {offset:,}: {_status(answer)}.",
                hint="Does its server serve byte ranges, and do you have access?",
            )
        version = self.ref.version if url.startswith("hf://") else _version(answer)
        if (int(found[3]), version) != (self.ref.size, self.ref.version):
            planned = f"planned {self.ref.size}, {self.ref.version}"
            raise FileChanged(
                f"{url} changed: {found[3]} bytes, version {version}; {planned}.", hint=_RUN_AGAIN
            )
