"""A real Prometheus on loopback, filled with samples of the past; certificates for it; a proxy that fails.

Prometheus and promtool are those of the system (Debian's package `prometheus`).
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import shutil
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

_START_S = 60


@dataclass(frozen=True)
class Sampled:
    """The samples of one series: name, labels, and (epoch s, value) pairs in the order of time."""

    name: str
    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


def is_installed() -> bool:
    """Whether Prometheus is here."""
    return bool(shutil.which("prometheus") and shutil.which("promtool"))


def fill(folder: Path, series: Sequence[Sampled]) -> None:
    """Write the samples as blocks of a Prometheus database in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "samples.txt"
    with text.open("w") as file:
        for name in sorted({one.name for one in series}):
            for one in series:
                if one.name != name:
                    continue
                labels = ",".join(f"{key}={json.dumps(value)}" for key, value in one.labels.items())
                for when, value in one.points:
                    file.write(f"{name}{{{labels}}} {_number(value)} {when:.3f}\n")
        file.write("# EOF\n")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "data")]
    subprocess.run(command, check=True, capture_output=True)
    text.unlink()


def _number(value: float) -> str:
    return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(str(value), repr(value))


@dataclass
class Prometheus:
    """A server over the blocks of `folder`; it can be stopped and started at the same address."""

    folder: Path
    web_config: str = ""
    arguments: tuple[str, ...] = ()
    scheme: str = "http"
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.port = self.port or _free_port()
        (self.folder / "config.yml").write_text("global: {scrape_interval: 15s}\n")
        more = list(self.arguments)
        if self.web_config:
            (self.folder / "web.yml").write_text(self.web_config)
            more.append(f"--web.config.file={self.folder}/web.yml")
        with (self.folder / "log.txt").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={self.folder}/config.yml",
                    f"--storage.tsdb.path={self.folder}/data",
                    "--storage.tsdb.retention.time=100y",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                    "--log.level=warn",
                    *more,
                ],
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError((self.folder / "log.txt").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(30)

    def _answers(self) -> bool:
        try:
            if self.scheme == "https":  # who asks is not let in: a connection has to do
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            return httpx.get(f"{self.url}/-/ready", timeout=1).status_code == 200
        except (OSError, httpx.HTTPError):
            return False


@contextmanager
def prometheus(folder: Path, series: Sequence[Sampled] = (), **options: object) -> Iterator[Prometheus]:
    """A server over `series`, or over the blocks that are in `folder`, while the block runs."""
    if series:
        fill(folder, series)
    server = Prometheus(folder, **options)  # type: ignore[arg-type]
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Certificates:
    """PEM files: an authority, and what it signed: a server on 127.0.0.1 and a client."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def certificates(folder: Path) -> Certificates:
    """A small authority of our own."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def make(what: str, issuer: str, signer: ec.EllipticCurvePrivateKey | None, *, authority: bool) -> object:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            x509.CertificateBuilder()
            .subject_name(name(what))
            .issuer_name(name(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
                critical=False,
            )
        )
        signed = builder.sign(signer or key, hashes.SHA256())
        (folder / f"{what}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        (folder / f"{what}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return key

    root = make("ca", "ca", None, authority=True)
    for what in ("server", "client"):
        make(what, "ca", root, authority=False)  # type: ignore[arg-type]
    return Certificates(
        folder / "ca.pem",
        folder / "server.pem",
        folder / "server.key",
        folder / "client.pem",
        folder / "client.key",
    )


@dataclass(frozen=True)
class Reply:
    """What the proxy answers instead of the server behind it; `hang_up` closes without an answer."""

    status: int = 200
    body: str = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_up: bool = False


@dataclass
class Proxy:
    """Passes requests on to `behind`, unless there is something else to say; remembers what was asked."""

    behind: str
    url: str = ""
    replies: deque[Reply] = field(default_factory=deque)
    always: Reply | None = None
    warnings: tuple[str, ...] = ()
    most_points: int = 0
    stops_after: int = -1
    hangs_after: int = -1
    goes: threading.Event = field(default_factory=threading.Event)
    asked: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    now: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def ranges(self) -> list[dict[str, str]]:
        """The range queries for values, without those that count series."""
        return [a for a in self.asked if "start" in a and not a["query"].startswith("count(")]


@contextmanager
def proxy(behind: str) -> Iterator[Proxy]:
    """A proxy before the server at `behind` while the block runs."""
    state = Proxy(behind)

    class Handler(_Handler):
        proxy = state

    server = _Server(("127.0.0.1", 0), Handler)
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


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        state = self.proxy
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        with state.lock:
            state.asked.append(asked)
            state.headers.append(dict(self.headers.items()))
            state.now += 1
            state.most_at_once = max(state.most_at_once, state.now)
            gone = 0 <= state.stops_after < len(state.ranges)
            hangs = 0 <= state.hangs_after < len(state.ranges)
            reply = state.replies.popleft() if state.replies and "start" in asked else state.always
        if hangs:
            state.goes.wait(60)
        try:
            self._answer(Reply(hang_up=True) if gone else reply or self._behind(asked))
        finally:
            with state.lock:
                state.now -= 1

    def _behind(self, asked: dict[str, str]) -> Reply:
        state = self.proxy
        if state.most_points and "start" in asked:
            points = (int(asked["end"]) - int(asked["start"])) // int(asked["step"]) + 1
            if points > state.most_points and not asked["query"].startswith("count("):
                why = "query processing would load too many samples into memory in query execution"
                return Reply(422, json.dumps({"status": "error", "errorType": "execution", "error": why}))
        answer = httpx.get(f"{state.behind}{self.path}", timeout=60)
        body = answer.text
        if state.warnings and answer.status_code == 200:
            body = json.dumps({**json.loads(body), "warnings": list(state.warnings)})
        return Reply(answer.status_code, body)

    def _answer(self, reply: Reply) -> None:
        if reply.hang_up:
            self.close_connection = True
            return
        data = reply.body.encode()
        self.send_response(reply.status)
        headers = {"Content-Type": reply.content_type, "Content-Length": str(len(data)), **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
