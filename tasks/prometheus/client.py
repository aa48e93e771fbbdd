"""One server of the Prometheus HTTP API: a query over a period, and what can be wrong with its answer.

What may pass is tried again; what is too large, not allowed or not a Prometheus
server is told apart. What an answer means is for `tasks.prometheus.answers`.
"""

from __future__ import annotations

import functools
import json
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx

from schemas.errors import AcmetraceError, QueryRefused, QueryTooLarge, ReadFailed, UsageError
from tasks.prometheus.credentials import PASSWORD, TOKEN, USER, Credentials
from tasks.storage.retries import Busy, is_busy, reason, seconds_asked, with_patience

MOST_ANSWER_BYTES = 256 << 20  # of JSON, unpacked
_MOST_ERROR_BYTES = 64 << 10
_CONNECT_S = 15.0
# A server computes a query to its end, for two minutes at most by default, before it sends a byte.
_SILENT_S = 180.0
_AGENT = "acmetrace-pipeline"
_BASE = "Give the address that its API stands below: http://host:9090, or https://host/prometheus."
# How Prometheus, Thanos, Mimir and VictoriaMetrics say that a query asks for too much.
_TOO_MUCH = ("too many", "too large", "exceed", "limit", "timed out", "timeout")


@dataclass(frozen=True)
class Server:
    """Where a server is and how it is reached; its text and pickle tell the address only.

    `ca_file`, `cert_file` and `key_file` are PEM files: who signed the server's
    certificate, and our own certificate with its key.
    """

    url: str
    credentials: Credentials = field(default=Credentials(), repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None


def server_url(text: str) -> str:
    """The address of a server as it is asked and written down.

    Raises:
        UsageError: it is not an http(s) address, or holds a password or a query.
    """
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, ValueError) as error:
        raise UsageError("The address of the server is no URL.", hint=_BASE) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError("The address of the server is not http:// or https:// and a host.", hint=_BASE)
    if url.userinfo or url.query or url.fragment:
        raise UsageError(
            f"The address of {url.host} holds a password or a query, which would be written down.",
            hint=f"Set {TOKEN}, or {USER} and {PASSWORD}, and give the bare address.",
        )
    return str(url).rstrip("/")


class PrometheusClient:
    """A connection to a server; for any number of threads. A context manager."""

    def __init__(self, server: Server, connections: int = 4) -> None:
        self.url = server_url(server.url)
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        timeout = httpx.Timeout(_SILENT_S, connect=_CONNECT_S, pool=None)
        self._http = httpx.Client(
            auth=server.credentials.auth(),
            verify=_context(server),
            limits=limits,
            timeout=timeout,
            headers={"user-agent": _AGENT, "accept": "application/json"},
            follow_redirects=False,  # the next server must not be shown who we are
        )

    def __enter__(self) -> PrometheusClient:
        return self

    def __exit__(self, *error: object) -> None:
        self._http.close()

    def check(self) -> None:
        """Ask the server something it always knows.

        Raises:
            UsageError: it is no Prometheus server, or does not let us in.
            ReadFailed: it cannot be reached.
        """
        self._ask("query", {"query": "vector(1)"})

    def query_range(self, query: str, start_s: int, end_s: int, step_s: int) -> bytes:
        """The answer (JSON) to a query at start, start + step, … up to `end_s` included; epoch s.

        Raises:
            QueryTooLarge: for the server or for us; ask for less at once.
            QueryRefused: the query is wrong.
            UsageError, ReadFailed: as `check`.
        """
        asked = {"query": query, "start": str(start_s), "end": str(end_s), "step": str(step_s)}
        return self._ask("query_range", asked)

    def _ask(self, path: str, asked: dict[str, str]) -> bytes:
        try:
            return with_patience(functools.partial(self._once, path, asked), _may_pass)
        except Busy as error:
            raise ReadFailed(error.message, hint="Finished chunks are kept; run again to go on.") from error
        except httpx.HTTPError as error:
            if _about_tls(error):
                raise UsageError(
                    f"{self.url} cannot be trusted: {_tls_reason(error)}.",
                    hint="Give --ca-file, and --client-cert with --client-key where the server asks for one.",
                ) from error
            raise ReadFailed(
                f"{self.url} cannot be reached: {reason(error)}.",
                hint="Check address and network. Finished chunks are kept; run again to go on.",
            ) from error

    def _once(self, path: str, asked: dict[str, str]) -> bytes:
        with self._http.stream("GET", f"{self.url}/api/v1/{path}", params=asked) as answer:
            good = answer.status_code == httpx.codes.OK
            pieces, size = [], 0
            for piece in answer.iter_bytes():
                pieces.append(piece)
                size += len(piece)
                if size > (MOST_ANSWER_BYTES if good else _MOST_ERROR_BYTES):
                    break
            body = b"".join(pieces)
        if not good:
            raise self._problem(answer, body)
        if not body.lstrip()[:1] == b"{":
            raise self._not_prometheus(answer, body)
        if size > MOST_ANSWER_BYTES:
            raise QueryTooLarge(f"The answer of {self.url} is longer than {MOST_ANSWER_BYTES >> 20} MiB.")
        return body

    def _problem(self, answer: httpx.Response, body: bytes) -> AcmetraceError:
        status, said = answer.status_code, _said(body)
        text = f"{self.url} answers {status} {answer.reason_phrase}".rstrip()
        if status in (401, 403):
            return UsageError(
                f"{text}: it does not let us in.",
                hint=f"Set {TOKEN}, or {USER} and {PASSWORD}; or give --token-file or --basic-auth-file.",
            )
        if answer.is_redirect:
            place = httpx.URL(answer.headers.get("location", "")).copy_with(query=None, fragment=None)
            return UsageError(f"{text}: it sends us on to {place}.", hint=_BASE)
        if said is not None:
            message = f"{text}: {said.get('error') or said.get('errorType') or 'it does not say why'}"
            large = any(word in message.lower() for word in _TOO_MUCH) and "parse error" not in message
            if (status in (400, 422, 503) and large) or status == 413:
                return QueryTooLarge(f"{message}.")
            if status in (400, 422):
                return QueryRefused(f"{message}.")
        if status in (413, 504):
            return QueryTooLarge(f"{text}.")
        if is_busy(status):
            wait_s = seconds_asked(answer.headers.get("retry-after"))
            return Busy(f"{text}.", wait_s=wait_s)
        return self._not_prometheus(answer, body)

    def _not_prometheus(self, answer: httpx.Response, body: bytes) -> UsageError:
        kind = answer.headers.get("content-type", "").split(";")[0] or "nothing of a known type"
        page = " (a web page)" if kind == "text/html" else ""
        return UsageError(
            f"{answer.request.url.copy_with(query=None)} answers {answer.status_code} with {kind}{page},"
            f" expected the JSON of a Prometheus server.",
            hint=_BASE,
        )


def _context(server: Server) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=server.ca_file)
        if server.cert_file:
            context.load_cert_chain(server.cert_file, server.key_file)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in (server.ca_file, server.cert_file, server.key_file) if file)
        raise UsageError(
            f"The certificate files cannot be used ({files}): {reason(error)}.",
            hint="They are PEM files: --ca-file, --client-cert, --client-key.",
        ) from error
    return context


def _may_pass(error: Exception) -> bool:
    return isinstance(error, Busy) or (isinstance(error, httpx.TransportError) and not _about_tls(error))


def _about_tls(error: BaseException) -> bool:
    return "[SSL" in str(error) or isinstance(error.__cause__, ssl.SSLError)


def _tls_reason(error: Exception) -> str:
    text = reason(error)
    return text.partition("] ")[2].partition(" (_ssl")[0] or text


def _said(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("status") == "error" else None
