"""A web server for the files of a folder: byte ranges, listings, and failures on command."""

from __future__ import annotations

import hashlib
import html
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass(frozen=True)
class Fault:
    """What the next answer for a path does instead of what was asked."""

    status: int = 0
    retry_after: str | None = None
    cut_after: int | None = None
    stall_after: int | None = None
    no_ranges: bool = False
    lie: bytes | None = None  # other content under the same name and version
    location: str | None = None


NO_FAULT = Fault()


@dataclass
class WebServer:
    """A running server: what it was asked, and what it does wrong next."""

    folder: Path
    faults: dict[str, deque[Fault]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    gone_after: int | None = None  # bytes from there on are refused, as by a server that is going down
    goes: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    now: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, path: str, *faults: Fault) -> None:
        """Do these things, one a request, when `path` is asked for next."""
        self.faults.setdefault(path, deque()).extend(faults)

    def ranges(self, path: str) -> list[str]:
        """The ranges asked of `path`, in order; "" for all of it."""
        return [asked for name, asked in self.asked if name == path]

    def bytes_asked(self, path: str) -> int:
        """The bytes that were asked of `path` together, as far as ranges were."""
        found = [_RANGE.fullmatch(text) for text in self.ranges(path)]
        return sum(int(match[2]) - int(match[1]) + 1 for match in found if match and match[2])


@contextmanager
def web_server(folder: Path) -> Iterator[WebServer]:
    """Serve `folder` on loopback while the block runs."""
    with serving(WebServer(folder), Handler) as state:
        yield state


State = TypeVar("State", bound="WebServer")


@contextmanager
def serving(state: State, kind: type[Handler]) -> Iterator[State]:
    """Answer requests on loopback with handlers of `kind` while the block runs."""
    server = _Server(("127.0.0.1", 0), type("Bound", (kind,), {"web": state}))
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.goes.set()
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


class Handler(BaseHTTPRequestHandler):
    """Answers for the files of a folder."""

    web: WebServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        web = self.web
        with web.lock:
            web.now += 1
            web.most_at_once = max(web.most_at_once, web.now)
        try:
            self.answer(body=True)
        finally:
            with web.lock:
                web.now -= 1

    def next_fault(self, name: str) -> Fault:
        """Note the request, and what is to go wrong with it."""
        with self.web.lock:
            self.web.asked.append((name, self.headers.get("Range", "")))
            waiting = self.web.faults.get(name)
            return waiting.popleft() if waiting else NO_FAULT

    def refused(self, fault: Fault, *, body: bool) -> bool:
        """Send the fault's status, if it has one; whether it has."""
        if fault.status:
            extra = {"Retry-After": fault.retry_after} if fault.retry_after else {}
            if fault.location:
                extra["Location"] = fault.location
            self.send(fault.status, b"no\n", extra, body=body)
        return fault.status > 0

    def answer(self, *, body: bool) -> None:
        """Answer a request; without `body` only the headers."""
        web = self.web
        name = unquote(urlsplit(self.path).path)
        fault = self.next_fault(name)
        if name in web.moved:
            self.send(302, b"", {"Location": web.moved[name]}, body=body)
            return
        if self.refused(fault, body=body):
            return
        target = web.folder / name.lstrip("/")
        if target.is_dir():
            names = sorted(entry.name + "/" * entry.is_dir() for entry in target.iterdir())
            links = "".join(f'<a href="{html.escape(n)}">{html.escape(n)}</a>\n' for n in names)
            page = f"<!doctype html><title>files</title>{links}".encode()
            self.send(200, page, {"Content-Type": "text/html; charset=utf-8"}, body=body)
        elif target.is_file():
            self.send_content(name, target.read_bytes(), fault, body=body)
        else:
            self.send(404, b"nothing here\n", {}, body=body)

    def send_content(self, name: str, data: bytes, fault: Fault, *, body: bool) -> None:
        """Send bytes, or the range of them that is asked for."""
        digest = hashlib.sha256(data).hexdigest()
        headers = {"ETag": f'"{digest}"', "Content-Type": "text/csv"}
        data = data if fault.lie is None else fault.lie
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        if asked is None or fault.no_ranges:
            self.send(200, data, headers, fault, body=body)
            return
        start, stop = int(asked[1]), min(int(asked[2] or len(data)) + 1, len(data))
        if start >= len(data):
            self.send(416, b"", {"Content-Range": f"bytes */{len(data)}"}, body=body)
            return
        if self.web.gone_after is not None and stop > self.web.gone_after:
            self.send(503, b"", {}, body=body)
            return
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
        self.send(206, data[start:stop], headers, fault, body=body)

    def send(
        self, status: int, data: bytes, headers: dict[str, str], fault: Fault = NO_FAULT, *, body: bool
    ) -> None:
        """Send an answer, or as much of it as the fault lets through."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if not body:
            return
        try:
            part = fault.cut_after if fault.cut_after is not None else fault.stall_after
            self.wfile.write(data[:part])
            self.wfile.flush()
            if fault.stall_after is not None:
                self.web.goes.wait(60)
            if part is not None:
                self.close_connection = True
        except OSError:
            self.close_connection = True
