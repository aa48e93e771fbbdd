"""A pull ends with every file verified and a manifest, or with an error and no manifest."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina

from flows.cli import exit_code
from flows.pull import PullResult, PullSettings, pull
from schemas.dataset import DatasetManifest
from schemas.errors import NoSpace, ReadFailed, SourceError, UsageError, WrongContent
from tasks.hub.fetch import part_of
from tasks.hub.listing import list_dataset
from tasks.hub.plan import ref_of
from tasks.pull import SilentPull
from tasks.storage.retries import ATTEMPTS
from tests.doubles.hub import NAME, HubServer
from tests.doubles.web import Fault, web_server
from tests.tasks.hub.test_archive import zip_of

pytestmark = pytest.mark.usefixtures("prefect_server")

LARGE = "data/utilization/kalos/GPU_UTIL.csv"
OTHER = "data/utilization/seren/GPU_UTIL.csv"
FILES = {
    LARGE: random.Random(0).randbytes(3 << 20),
    OTHER: random.Random(1).randbytes(1 << 20),
    "README.md": b"hello",
}


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=ATTEMPTS):
        yield


def run(dest: Path, **settings: object) -> PullResult:
    return pull(PullSettings(dest=str(dest), repo=NAME, **settings), SilentPull())


def content_of(dest: Path) -> dict[str, bytes]:
    """All files but those of our own bookkeeping."""
    found = {path.relative_to(dest).as_posix(): path for path in dest.rglob("*") if path.is_file()}
    own = (".state/", "dataset.json", ".prefect")
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(own)}


def test_every_file_is_there_and_the_manifest_tells_its_digests(hub: HubServer, tmp_path: Path) -> None:
    commit = hub.commit(FILES)
    run(tmp_path / "data")
    assert content_of(tmp_path / "data") == FILES
    manifest = DatasetManifest.model_validate_json((tmp_path / "data/dataset.json").read_bytes())
    assert (manifest.repo, manifest.revision, manifest.commit) == (NAME, "main", commit)
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in FILES.items()}
    assert {file.path: file.sha256 for file in manifest.files} == digests


def test_broken_and_busy_transfers_go_on_where_they_were(hub: HubServer, tmp_path: Path) -> None:
    hub.commit(FILES)
    hub.fail(LARGE, Fault(cut_after=1_000_000), Fault(status=429, retry_after="0"), Fault(status=503))
    hub.fail(OTHER, Fault(cut_after=0), Fault(status=500))
    hub.fail("README.md", Fault(status=502))
    run(tmp_path / "data")
    assert content_of(tmp_path / "data") == FILES
    assert hub.fetched(LARGE)[-1].startswith("bytes=1000000-")


def test_a_stalled_transfer_is_begun_anew_from_where_it_was(hub: HubServer, tmp_path: Path) -> None:
    hub.commit(FILES)
    hub.fail(LARGE, Fault(stall_after=2_000_000))
    run(tmp_path / "data", stall_s=0.5)
    assert content_of(tmp_path / "data") == FILES
    assert hub.fetched(LARGE)[-1].startswith("bytes=2000000-")


def test_a_second_pull_fetches_nothing_and_a_newer_revision_only_what_changed(
    hub: HubServer, tmp_path: Path
) -> None:
    hub.commit(FILES)
    run(tmp_path / "data")
    (tmp_path / "data/mine.txt").write_text("not from the hub")
    hub.asked.clear()
    run(tmp_path / "data")
    assert {name for name, _ in hub.asked} == {"revision", "tree"}
    changed = {LARGE: FILES[LARGE], OTHER: FILES[OTHER][::-1], "NEW.md": b"new"}
    hub.commit(changed)
    hub.asked.clear()
    result = run(tmp_path / "data")
    assert {name for name, _ in hub.asked} == {"revision", "tree", OTHER, "NEW.md"}
    assert result.plan.gone == ("README.md",)
    assert content_of(tmp_path / "data") == changed | {"mine.txt": b"not from the hub"}


def test_a_pull_that_gives_up_keeps_what_it_has_and_the_next_one_goes_on(
    hub: HubServer, tmp_path: Path
) -> None:
    hub.commit(FILES)
    hub.fail(LARGE, Fault(cut_after=2_500_000), *[Fault(status=503)] * 5)
    with pytest.raises(ReadFailed, match="503"):
        run(tmp_path / "data", workers=1)
    assert not (tmp_path / "data/dataset.json").exists()
    assert not (tmp_path / "data" / LARGE).exists()
    hub.asked.clear()
    run(tmp_path / "data")
    (asked,) = hub.fetched(LARGE)
    assert int(asked.removeprefix("bytes=").split("-")[0]) > 1_400_000
    assert "README.md" not in dict(hub.asked), "what was verified is fetched again"
    assert content_of(tmp_path / "data") == FILES


@pytest.mark.parametrize(
    ("path", "lie", "said"),
    [
        (LARGE, bytes(3 << 20), "SHA-256"),
        pytest.param(LARGE, bytes(100), "bytes", marks=pytest.mark.slow),
        (LARGE, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3145728\n", "bytes"),
        pytest.param("README.md", b"olleh", "git SHA-1", marks=pytest.mark.slow),
    ],
)
def test_wrong_bytes_never_pass(hub: HubServer, path: str, lie: bytes, said: str, tmp_path: Path) -> None:
    hub.commit(FILES)
    hub.fail(path, *[Fault(lie=lie)] * 10)
    with pytest.raises(WrongContent, match=said):
        run(tmp_path / "data")
    assert not (tmp_path / "data/dataset.json").exists()
    assert not (tmp_path / "data" / path).exists()


def test_bytes_that_were_spoilt_on_the_way_are_fetched_again(hub: HubServer, tmp_path: Path) -> None:
    hub.commit(FILES)
    hub.fail(LARGE, Fault(lie=bytes(3 << 20)))
    ref = ref_of(
        list_dataset(NAME, "main"), next(f for f in list_dataset(NAME, "main").files if f.path == OTHER)
    )
    part = part_of(tmp_path / "data" / OTHER, ref)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"left by a crash" * 1000)
    run(tmp_path / "data")
    assert content_of(tmp_path / "data") == FILES


@pytest.mark.parametrize("how", [pytest.param("longer", marks=pytest.mark.slow), "same size and time"])
def test_a_file_that_was_tampered_with_is_fetched_again(hub: HubServer, how: str, tmp_path: Path) -> None:
    hub.commit(FILES)
    run(tmp_path / "data")
    path = tmp_path / "data" / LARGE
    before = path.stat()
    path.write_bytes(FILES[LARGE] + b"x" if how == "longer" else FILES[LARGE][::-1])
    if how != "longer":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    run(tmp_path / "data", check=True)
    assert content_of(tmp_path / "data") == FILES


def test_only_some_files(hub: HubServer, tmp_path: Path) -> None:
    hub.commit(FILES)
    result = run(tmp_path / "data", include=("data/utilization/*",), exclude=("*/seren/*",))
    assert set(content_of(tmp_path / "data")) == {LARGE}
    assert result.manifest.left_out == 2
    with pytest.raises(UsageError, match="chosen by the patterns"):
        run(tmp_path / "data", include=("nothing/*",))


def test_a_disk_that_is_too_small_is_told_with_both_numbers(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.commit(FILES)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 1_000_000, 1_000_000))
    with pytest.raises(NoSpace, match="4,194,309 bytes are needed, 1,000,000 are free"):
        run(tmp_path / "data")
    assert content_of(tmp_path / "data") == {}


def test_a_link_in_the_folder_leads_nothing_out_of_it(hub: HubServer, tmp_path: Path) -> None:
    hub.commit(FILES)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="through a link"):
        run(tmp_path / "data")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_list_that_is_not_safe_fetches_nothing(hub: HubServer, tmp_path: Path) -> None:
    hub.commit(FILES)
    hub.extra_entries = [{"type": "file", "path": "../x", "size": 1, "oid": "0" * 40}]
    with pytest.raises(SourceError, match="not safe"):
        run(tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_no_token_is_written_or_said(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hub.commit(FILES)
    hub.needs_token = "hf_verysecret"
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    hub.fail(LARGE, Fault(status=503), Fault(cut_after=10))
    assert exit_code(["pull", str(tmp_path / "data"), "--repo", NAME, "-v"]) == 0
    assert content_of(tmp_path / "data") == FILES
    said = capfd.readouterr()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "verysecret" not in said.out + said.err
    assert b"verysecret" not in written


def test_a_dry_run_says_what_it_would_fetch_and_touches_nothing(
    hub: HubServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hub.commit(FILES)
    command = ["pull", str(tmp_path / "data"), "--repo", NAME, "--dry-run"]
    assert exit_code([*command, "--json"]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert {file["path"]: file["size"] for file in plan["fetch"]} == {p: len(d) for p, d in FILES.items()}
    assert not (tmp_path / "data").exists()
    assert exit_code(command) == 0
    assert "3 files to fetch, 4.2 MB" in capfd.readouterr().out


def test_a_file_of_a_web_server_is_fetched_with_its_digest_checked(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "served/x.bin").write_bytes(FILES[LARGE])
    digest = hashlib.sha256(FILES[LARGE]).hexdigest()
    with web_server(tmp_path / "served") as server:
        url = f"{server.url}/x.bin"
        server.fail("/x.bin", Fault(), Fault(cut_after=1_000_000), Fault(status=503))
        assert exit_code(["pull", str(tmp_path / "x"), "--url", url, "--sha256", digest, "-q"]) == 0
        assert (tmp_path / "x").read_bytes() == FILES[LARGE]
        assert exit_code(["pull", str(tmp_path / "y"), "--url", url, "--sha256", "0" * 64, "-q"]) == 1
        assert not (tmp_path / "y").exists()
        server.fail("/x.bin", Fault(no_ranges=True), Fault(cut_after=1000))
        assert (
            exit_code(["pull", str(tmp_path / "z"), "--url", f"{url}?sig=1", "--sha256", digest, "-q"]) == 0
        )
        assert (tmp_path / "z").read_bytes() == FILES[LARGE]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["served", "x", "z"]


def test_an_archive_is_fetched_and_unpacked_or_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    zip_of(tmp_path / "served/data.zip", {"data/Earth/cluster_log.csv": b"job_id\n"})
    zip_of(tmp_path / "served/evil.zip", {"../x": b"1"})
    with web_server(tmp_path / "served") as server:
        good, evil = f"{server.url}/data.zip", f"{server.url}/evil.zip"
        assert exit_code(["pull", str(tmp_path / "h"), "--source", "helios", "--url", good, "-q"]) == 0
        assert (tmp_path / "h/data/Earth/cluster_log.csv").read_bytes() == b"job_id\n"
        assert exit_code(["pull", str(tmp_path / "e"), "--url", evil, "--unpack", "-q"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h", "served"]
