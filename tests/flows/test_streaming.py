"""Summaries of what lies elsewhere: read in ranges, no more than needed, and on through interruptions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina

from flows.settings import RunSettings
from flows.summarize import RunResult, summarize
from tasks.outputs.finished import read_run
from tasks.progress import Reading, Silent
from tasks.sampling import SampleOptions, write_sample
from tasks.storage.retries import ATTEMPTS
from tests.doubles.hub import NAME, HubServer
from tests.doubles.web import Fault, WebServer, web_server

pytestmark = pytest.mark.usefixtures("prefect_server")

FILE = "/data/utilization/kalos/GPU_UTIL.csv"
MIB = 1 << 20


class Announced(Silent):
    """Remembers what a run says it will read."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def found(self, reading: Reading) -> None:
        self.readings.append(reading)


def run(source: str, out: Path, announced: Announced | None = None, **settings: object) -> RunResult:
    return summarize(RunSettings(source=source, out=str(out), **settings), listener=announced or Announced())


def numbers_of(out: Path) -> dict[str, bytes]:
    """Tables and pickles of a run."""
    paths = [output.path for output in read_run(out).outputs]
    return {p: (out / p).read_bytes() for p in paths if p.startswith(("summaries/", "util_pkl/"))}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of one series of 12 MB, four days long."""
    folder = tmp_path_factory.mktemp("large")
    options = SampleOptions(rows=23_040, gpus=120, clusters=("kalos",), metrics=("GPU_UTIL",))
    write_sample(folder / "data", options)
    return folder / "data"


@pytest.fixture
def server(large: Path) -> Iterator[WebServer]:
    with web_server(large) as server, stamina.set_testing(True, attempts=ATTEMPTS):
        yield server


def test_a_web_server_s_files_give_what_a_copy_of_them_gives(
    large: Path, server: WebServer, tmp_path: Path
) -> None:
    announced = Announced()
    run(str(large), tmp_path / "copy")
    run(server.url, tmp_path / "stream", announced)
    assert numbers_of(tmp_path / "stream") == numbers_of(tmp_path / "copy")
    (reading,) = announced.readings
    size = (large / FILE[1:]).stat().st_size
    assert (reading.files, reading.stored, reading.wanted, reading.done) == (1, size, size, 0)
    assert server.bytes_asked(FILE) < size * 1.05, "bytes are asked for more than once"
    assert server.most_at_once <= 4


def test_broken_connections_change_no_number(large: Path, server: WebServer, tmp_path: Path) -> None:
    run(str(large), tmp_path / "copy")
    result = None
    server.fail(FILE, Fault(), Fault(), Fault(status=429, retry_after="0"), Fault(cut_after=3 * MIB))
    server.fail(FILE, Fault(status=503), Fault(cut_after=100_000), Fault(status=500))
    result = run(server.url, tmp_path / "stream", block_bytes=5 * MIB)
    assert [record.verdict for record in result.records] == ["passed"]
    assert not server.faults[FILE]
    assert numbers_of(tmp_path / "stream") == numbers_of(tmp_path / "copy")


@pytest.mark.slow
def test_a_run_that_gives_up_goes_on_from_the_blocks_it_has(
    large: Path, server: WebServer, tmp_path: Path
) -> None:
    """The server goes away after the second of three blocks; the run fails, the next one reads the third."""
    size = (large / FILE[1:]).stat().st_size
    settings = {"block_bytes": 5 * MIB, "workers": 1}
    server.gone_after = 2 * 5 * MIB + MIB  # the last row of the second block ends in the third
    failed = run(server.url, tmp_path / "out", **settings)
    assert [record.verdict for record in failed.records] == ["failed"]
    assert "503" in failed.records[0].findings[0].message

    server.gone_after = None
    server.faults.clear()
    server.asked.clear()
    announced = Announced()
    done = run(server.url, tmp_path / "out", announced, **settings)
    (reading,) = announced.readings
    assert (reading.wanted, reading.done) == (size, 2 * 5 * MIB)
    assert [record.verdict for record in done.records] == ["passed"]
    assert server.bytes_asked(FILE) < size - 2 * 5 * MIB + 2 * MIB
    run(str(large), tmp_path / "copy")
    assert numbers_of(tmp_path / "out") == numbers_of(tmp_path / "copy")


def test_a_period_reads_only_the_bytes_it_needs(large: Path, server: WebServer, tmp_path: Path) -> None:
    period = {"since": "2023-08-17T00:00:00+08:00", "until": "2023-08-17T12:00:00+08:00"}
    announced = Announced()
    run(str(large), tmp_path / "copy", **period)
    run(server.url, tmp_path / "stream", announced, **period)
    assert numbers_of(tmp_path / "stream") == numbers_of(tmp_path / "copy")
    (reading,) = announced.readings
    assert 0 < reading.wanted < reading.stored / 4
    assert server.bytes_asked(FILE) < reading.stored / 2


def test_a_hub_s_dataset_gives_what_a_copy_of_it_gives(large: Path, hub: HubServer, tmp_path: Path) -> None:
    commit = hub.commit({FILE[1:]: (large / FILE[1:]).read_bytes(), "README.md": b"hello"})
    hub.fail(FILE[1:], Fault(), Fault(cut_after=2 * MIB), Fault(status=429, retry_after="0"))
    announced = Announced()
    run(str(large), tmp_path / "copy")
    with stamina.set_testing(True, attempts=ATTEMPTS):
        result = run(f"hf://datasets/{NAME}", tmp_path / "stream", announced, block_bytes=5 * MIB)
    assert numbers_of(tmp_path / "stream") == numbers_of(tmp_path / "copy")
    pinned = f"hf://datasets/{NAME}@{commit}"
    assert [reading.source for reading in announced.readings] == [pinned]
    assert result.manifest.source == pinned
    (there,) = result.manifest.series[0].inputs
    (here,) = read_run(tmp_path / "copy").series[0].inputs
    assert (there.path, there.size, there.digest) == (here.path, here.size, here.digest)
    assert there.version.startswith("sha256-")


@pytest.fixture(scope="module")
def bucket(large: Path) -> Iterator[str]:
    """The dataset in a bucket of a real S3 server on loopback."""
    s3fs = pytest.importorskip("s3fs", reason="the s3 extra is not installed")
    moto = pytest.importorskip("moto.server", reason="moto, a development tool, is not installed")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "user")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "word")
        s3fs.S3FileSystem.clear_instance_cache()
        fs = s3fs.S3FileSystem()
        fs.mkdir("traces")
        fs.put(str(large), "traces/acme", recursive=True)
        yield "s3://traces/acme"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_a_bucket_gives_what_a_copy_of_it_gives(large: Path, bucket: str, tmp_path: Path) -> None:
    announced = Announced()
    run(str(large), tmp_path / "copy")
    result = run(bucket, tmp_path / "stream", announced, block_bytes=5 * MIB)
    assert numbers_of(tmp_path / "stream") == numbers_of(tmp_path / "copy")
    here = read_run(tmp_path / "copy").series[0].inputs[0]
    (there,) = result.manifest.series[0].inputs
    assert (there.path, there.size, there.digest) == (here.path, here.size, here.digest)
    assert there.version.startswith("etag-")
    again = Announced()
    run(bucket, tmp_path / "stream", again)
    assert [reading.wanted for reading in (*announced.readings, *again.readings)] == [here.size, 0]


def test_outputs_and_finished_work_can_be_in_a_bucket(large: Path, bucket: str, tmp_path: Path) -> None:
    run(str(large), tmp_path / "copy")
    out = "s3://traces/out"
    result = summarize(RunSettings(source=bucket, out=out), listener=Silent())
    here = {output.path: output.sha256 for output in read_run(tmp_path / "copy").outputs}
    there = {output.path: output.sha256 for output in result.manifest.outputs}
    assert {p: d for p, d in there.items() if p.startswith("summaries/")} == {
        p: d for p, d in here.items() if p.startswith("summaries/")
    }
    assert read_run(out) == result.manifest
