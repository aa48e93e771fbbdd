"""One server: let in or not, real TLS, and what is said when it is none, busy or gone."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import stamina

from schemas.errors import QueryRefused, QueryTooLarge, ReadFailed, UsageError
from tasks.prometheus import client as client_module
from tasks.prometheus.answers import parse_answer
from tasks.prometheus.client import PrometheusClient, Server, server_url
from tasks.prometheus.credentials import PASSWORD, TOKEN, USER, Credentials, read_credentials
from tasks.storage.retries import ATTEMPTS
from tests.doubles import fleet
from tests.doubles.prometheus import (
    Certificates,
    Prometheus,
    Proxy,
    Reply,
    certificates,
    is_installed,
    prometheus,
)

SECRET = "correct horse"
WEB = """
tls_server_config:
  cert_file: {0.server}
  key_file: {0.server_key}
  client_ca_file: {0.ca}
  client_auth_type: {1}
basic_auth_users:
  reader: $2b$04$RCL3yWK7a/PGzKFc.xIp/OgaYWxrU1ue13oIoZGgVyxkTTxx6mroy
"""
START = fleet.START + 60


def ask(server: Server, query: str = "DCGM_FI_DEV_GPU_UTIL") -> int:
    """How many series the server gives for a query over a minute."""
    with PrometheusClient(server) as client:
        client.check()
        return len(parse_answer(client.query_range(query, START, START + 60, 15)).series)


@dataclass(frozen=True)
class Locked:
    """A server behind TLS and basic auth, and the certificates for it."""

    server: Prometheus
    pem: Certificates


@pytest.fixture(scope="module", params=["VerifyClientCertIfGiven", "RequireAndVerifyClientCert"])
def locked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    if not is_installed():
        pytest.skip("Prometheus is not installed: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("locked")
    pem = certificates(folder / "pem")
    series = [one for one in fleet.gpus() if one.name == "DCGM_FI_DEV_GPU_UTIL"]
    web = WEB.format(pem, request.param)
    with prometheus(folder / "server", series, web_config=web, scheme="https") as server:
        yield Locked(server, pem)


def login(locked: Locked, **changed: object) -> Server:
    parts = {
        "url": locked.server.url,
        "credentials": Credentials(user="reader", password=SECRET),
        "ca_file": str(locked.pem.ca),
        "cert_file": str(locked.pem.client),
        "key_file": str(locked.pem.client_key),
    }
    return Server(**{**parts, **changed})  # type: ignore[arg-type]


def test_a_server_behind_tls_and_a_password_answers_who_has_both(locked: Locked) -> None:
    assert ask(login(locked)) > 5


@pytest.mark.parametrize("wrong", [Credentials(), Credentials(user="reader", password="guess")])
def test_who_is_not_let_in_is_told_how_to_say_who_they_are(locked: Locked, wrong: Credentials) -> None:
    with pytest.raises(UsageError) as caught:
        ask(login(locked, credentials=wrong))
    assert "401" in str(caught.value)
    assert TOKEN in caught.value.hint
    assert "guess" not in str(caught.value)


def test_a_certificate_nobody_vouches_for_is_not_trusted(locked: Locked) -> None:
    with pytest.raises(UsageError, match="cannot be trusted") as caught:
        ask(login(locked, ca_file=None))
    assert "--ca-file" in caught.value.hint


def test_a_server_that_wants_a_certificate_gets_none_without_asking_for_it(locked: Locked) -> None:
    if "RequireAnd" not in locked.server.web_config:
        assert ask(login(locked, cert_file=None, key_file=None)) > 5
        return
    with stamina.set_testing(True, attempts=2), pytest.raises((UsageError, ReadFailed)) as caught:
        ask(login(locked, cert_file=None, key_file=None))
    assert "certificate" in str(caught.value)


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("hello")
    with pytest.raises(UsageError, match=r"ca\.pem"):
        PrometheusClient(Server("http://127.0.0.1:1", ca_file=str(tmp_path / "ca.pem")))


def test_a_token_is_sent_as_a_bearer_and_shown_nowhere(between: Proxy) -> None:
    server = Server(between.url, Credentials(token="s3cret-token"))
    assert ask(server) > 5
    assert {headers["Authorization"] for headers in between.headers} == {"Bearer s3cret-token"}
    assert "s3cret" not in repr(server) + str(server.credentials)


def test_a_redirect_is_not_followed_with_our_credentials(between: Proxy, monitored: Prometheus) -> None:
    between.always = Reply(302, headers={"Location": f"{monitored.url}/login?next=secret"})
    with pytest.raises(UsageError) as caught:
        ask(Server(between.url, Credentials(token="s3cret-token")))
    assert f"{monitored.url}/login" in str(caught.value)
    assert "next=" not in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, "<!DOCTYPE html><html>Sign in</html>", "text/html; charset=utf-8"),
        Reply(404, "404 page not found", "text/plain"),
        Reply(200, "", "application/json"),
    ],
)
def test_what_is_no_prometheus_is_said_to_be_none(between: Proxy, reply: Reply) -> None:
    between.always = reply
    with pytest.raises(UsageError, match="expected the JSON of a Prometheus server") as caught:
        ask(Server(between.url))
    assert "http://host:9090" in caught.value.hint


def test_the_wrong_path_of_a_real_server_is_no_api(monitored: Prometheus) -> None:
    with pytest.raises(UsageError, match="404"):
        ask(Server(f"{monitored.url}/graph"))


def test_a_burst_of_refusals_is_waited_out(between: Proxy) -> None:
    between.replies.extend([Reply(503, "busy", "text/plain"), Reply(hang_up=True), Reply(429), Reply(502)])
    assert ask(Server(between.url)) > 5


def test_a_server_that_stays_busy_is_given_up_after_a_while(between: Proxy) -> None:
    between.always = Reply(503, "busy", "text/plain")
    with pytest.raises(ReadFailed, match="503") as caught:
        ask(Server(between.url))
    assert len(between.asked) == ATTEMPTS
    assert "run again" in caught.value.hint


def test_nobody_there_is_a_failure_that_may_pass() -> None:
    with stamina.set_testing(True, attempts=2), pytest.raises(ReadFailed, match="cannot be reached"):
        ask(Server("http://127.0.0.1:9"))


def test_a_query_that_is_wrong_is_refused_with_the_words_of_the_server(monitored: Prometheus) -> None:
    with pytest.raises(QueryRefused, match="parse error"):
        ask(Server(monitored.url), "rate(")


def test_more_points_than_prometheus_gives_is_too_large(monitored: Prometheus) -> None:
    with PrometheusClient(Server(monitored.url)) as client, pytest.raises(QueryTooLarge, match="11,000"):
        client.query_range("DCGM_FI_DEV_GPU_UTIL", START, START + 12_000, 1)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (422, "query processing would load too many samples into memory in query execution"),
        (422, "the query exceeded the maximum number of chunks (err-mimir-max-chunks-per-query)"),
        (503, "query timed out in expression evaluation"),
    ],
)
def test_what_servers_say_of_queries_that_are_too_large(between: Proxy, status: int, error: str) -> None:
    between.replies.append(Reply(status, f'{{"status":"error","errorType":"x","error":"{error}"}}'))
    with pytest.raises(QueryTooLarge, match=error.split("(")[0].strip()):
        ask(Server(between.url))


def test_an_answer_longer_than_we_hold_is_too_large(
    monitored: Prometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MOST_ANSWER_BYTES", 500)
    with pytest.raises(QueryTooLarge, match="longer than"):
        ask(Server(monitored.url))


@pytest.mark.parametrize("url", ["http://user:pass-word@host:9090", "https://host/?token=pass-word"])
def test_an_address_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        server_url(url)
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize("url", ["host:9090", "ftp://host", "", "http://", "http://[::bad"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        server_url(url)


def test_an_address_is_kept_without_its_last_slash() -> None:
    assert server_url("http://host:9090/prometheus/") == "http://host:9090/prometheus"


def test_credentials_come_from_the_environment_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "basic").write_text("reader:a:b c\n")
    assert read_credentials({}) == Credentials()
    assert read_credentials({TOKEN: "t"}) == Credentials(token="t")
    assert read_credentials({USER: "u", PASSWORD: "p"}) == Credentials(user="u", password="p")
    environment = {TOKEN: "t"}
    assert read_credentials(environment, token_file=str(tmp_path / "token")) == Credentials(token="abc")
    got = read_credentials(environment, basic_auth_file=str(tmp_path / "basic"))
    assert (got.user, got.password) == ("reader", "a:b c")


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({TOKEN: "t0p", USER: "u", PASSWORD: "p4ss"}, None),
        ({USER: "u"}, None),
        ({PASSWORD: "p4ss"}, None),
        ({TOKEN: "a\nb-p4ss"}, None),
        ({}, ""),
        ({}, "p4ss-without-user"),
    ],
)
def test_credentials_that_cannot_be_meant_are_refused_and_not_repeated(
    environment: dict[str, str], text: str | None, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "basic").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_credentials(environment, basic_auth_file=None if text is None else str(tmp_path / "basic"))
    assert "p4ss" not in str(caught.value)
    assert "p4ss" not in repr(pickle.loads(pickle.dumps(caught.value)))
