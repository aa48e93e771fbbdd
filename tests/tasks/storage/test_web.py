"""Files on web servers: read in ranges, whatever goes wrong on the way, and never another file's bytes."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import FileChanged, ReadFailed, SourceError
from tasks.storage import web
from tasks.storage.digest import file_digest
from tasks.storage.retries import ATTEMPTS, is_busy, seconds_asked
from tasks.storage.source import FileRef, open_reader, stat_file
from tests.doubles.web import Fault, WebServer, web_server

TEXT = random.Random(0).randbytes(3 << 20)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    (tmp_path / "X.csv").write_bytes(TEXT)
    with web_server(tmp_path) as server, stamina.set_testing(True, attempts=ATTEMPTS):
        yield server


def whole(ref: FileRef, step: int = 700_001) -> bytes:
    """The file as a scan of its only block reads it."""
    parts = []
    with open_reader(ref, ref.size) as reader:
        place = 0
        while True:
            buffer = bytearray(step)
            count = reader.read_into(place, memoryview(buffer))
            parts.append(bytes(buffer[:count]))
            place += count
            if count < step:
                return b"".join(parts)


def test_one_request_reads_a_block(server: WebServer) -> None:
    ref = stat_file(f"{server.url}/X.csv")
    assert (ref.size, ref.version.startswith("etag-")) == (len(TEXT), True)
    server.asked.clear()
    assert whole(ref) == TEXT
    assert server.ranges("/X.csv") == [f"bytes=0-{len(TEXT) - 1}", "bytes=0-0"]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.integers(0, len(TEXT)), size=st.integers(1, 1 << 20))
def test_any_range_is_that_of_the_file(server: WebServer, start: int, size: int) -> None:
    buffer = bytearray(size)
    with open_reader(stat_file(f"{server.url}/X.csv")) as reader:
        count = reader.read_into(start, memoryview(buffer))
    assert bytes(buffer[:count]) == TEXT[start : start + size]


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(status=503)],
        [Fault(status=429, retry_after="1"), Fault(status=500)],
        [Fault(cut_after=0)],
        [Fault(cut_after=1_000_000), Fault(cut_after=17), Fault(status=502)],
    ],
    ids=["503", "429-500", "cut-at-once", "cut-cut-502"],
)
def test_what_breaks_off_goes_on_from_there(server: WebServer, faults: list[Fault]) -> None:
    ref = stat_file(f"{server.url}/X.csv")
    server.asked.clear()
    server.fail("/X.csv", *faults)
    assert whole(ref) == TEXT
    assert server.asked.pop() == ("/X.csv", "bytes=0-0"), "it is not asked whether the file is still the same"
    starts = [int(text.removeprefix("bytes=").split("-")[0]) for text in server.ranges("/X.csv")]
    assert starts == sorted(starts)
    assert len(starts) == len(faults) + 1
    if faults[0].cut_after:
        assert starts[1] == faults[0].cut_after


def test_a_server_that_stalls_is_asked_again(server: WebServer) -> None:
    ref = stat_file(f"{server.url}/X.csv")
    server.fail("/X.csv", Fault(stall_after=2_000_000))
    buffer = bytearray(ref.size)
    assert web.WebReader(ref, ref.size, timeout_s=0.5).read_into(0, memoryview(buffer)) == ref.size
    assert buffer == TEXT


def test_a_server_that_stays_down_is_an_error_that_may_pass(server: WebServer) -> None:
    ref = stat_file(f"{server.url}/X.csv")
    server.asked.clear()
    server.fail("/X.csv", *[Fault(status=503)] * 50)
    with pytest.raises(ReadFailed, match="503") as caught:
        whole(ref)
    assert caught.value.transient
    assert len(server.asked) == ATTEMPTS


@pytest.mark.parametrize("change", ["longer", "same size"])
def test_a_file_that_changes_while_it_is_read_is_noticed(server: WebServer, change: str) -> None:
    ref = stat_file(f"{server.url}/X.csv")
    server.fail("/X.csv", Fault(cut_after=1_000_000))

    def read_while_it_is_written() -> None:
        with open_reader(ref, ref.size) as reader:
            reader.read_into(0, memoryview(bytearray(100)))
            new = TEXT + b"more" if change == "longer" else bytes(reversed(TEXT))
            (server.folder / "X.csv").write_bytes(new)

    with pytest.raises(FileChanged, match="planned"):
        read_while_it_is_written()


def test_another_file_behind_a_cut_is_not_taken_for_the_rest(server: WebServer) -> None:
    ref = stat_file(f"{server.url}/X.csv")
    server.fail("/X.csv", Fault(cut_after=1_000_000))
    reader = web.WebReader(ref, ref.size)
    reader.read_into(0, memoryview(bytearray(100)))
    (server.folder / "X.csv").write_bytes(bytes(reversed(TEXT)))
    with pytest.raises(FileChanged, match="planned"):
        reader.read_into(100, memoryview(bytearray(2_000_000)))


def test_a_server_without_ranges_is_refused_before_it_sends_everything(server: WebServer) -> None:
    server.fail("/X.csv", Fault(no_ranges=True))
    with pytest.raises(SourceError, match="does not serve byte ranges"):
        stat_file(f"{server.url}/X.csv")


def test_what_is_not_there_is_no_source(server: WebServer) -> None:
    with pytest.raises(SourceError, match="404"):
        stat_file(f"{server.url}/Y.csv")
    with pytest.raises(ReadFailed, match="cannot be reached"):
        stat_file("http://127.0.0.1:1/X.csv")


@pytest.mark.parametrize(
    "place", ["http://me:secret@127.0.0.1:1/X.csv", "http://127.0.0.1:1/X.csv?sig=secret"]
)
def test_secrets_in_an_address_are_refused_and_not_repeated(place: str) -> None:
    with pytest.raises(SourceError, match="pull --url") as caught:
        stat_file(place)
    assert "secret" not in str(caught.value)


def test_the_place_a_server_sends_to_is_kept_and_asked_for_again_when_it_expires(server: WebServer) -> None:
    server.moved["/link.csv"] = "/X.csv"
    ref = stat_file(f"{server.url}/link.csv")
    server.asked.clear()
    server.fail("/X.csv", Fault(cut_after=1000), Fault(cut_after=1000), Fault(status=403))
    assert whole(ref) == TEXT
    asked = [name for name, _ in server.asked]
    assert asked == ["/link.csv", "/X.csv", "/X.csv", "/X.csv", "/link.csv", "/X.csv", "/link.csv", "/X.csv"]


def test_a_packed_file_gives_its_bytes_through_cut_connections(server: WebServer) -> None:
    packed = gzip.compress(TEXT, 1)
    (server.folder / "X.csv.gz").write_bytes(packed)
    ref = stat_file(f"{server.url}/X.csv.gz")
    server.fail("/X.csv.gz", Fault(cut_after=len(packed) // 2))
    assert whole(ref) == TEXT


def test_the_digest_is_that_of_a_local_copy(server: WebServer) -> None:
    here, there = stat_file(str(server.folder / "X.csv")), stat_file(f"{server.url}/X.csv")
    assert file_digest(here) == file_digest(there)


def test_an_empty_file_is_a_file(server: WebServer) -> None:
    (server.folder / "E.csv").write_bytes(b"")
    ref = stat_file(f"{server.url}/E.csv")
    assert ref.size == 0
    assert whole(ref) == b""


def test_waits_that_a_server_asks_for() -> None:
    assert seconds_asked("7") == 7
    assert seconds_asked("100000") == 300
    assert seconds_asked("Wed, 21 Oct 2026 07:28:00 GMT") is None
    assert seconds_asked(None) is None
    assert is_busy(429)
    assert not is_busy(404)
