"""A zip is unpacked whole into its folder, or not at all."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from schemas.errors import UnsafeArchive, UsageError
from tasks.hub.archive import Limits, unpack


def zip_of(path: Path, files: dict[str, bytes], *, packed: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, packed)
    return path


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".zip")


def test_all_files_are_unpacked(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "a.zip", {"Earth/log.csv": b"x" * 5000, "Venus/log.csv": b"y", "Earth/": b""})
    assert unpack(archive, tmp_path / "out") == ("Earth/log.csv", "Venus/log.csv")
    assert (tmp_path / "out/Earth/log.csv").read_bytes() == b"x" * 5000
    assert left_behind(tmp_path) == ["out"]


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/../../x", "C:/x", "a\\..\\x", "..\\x", "a/./x", "~/x", "a\nb", "x://y"]
)
def test_a_name_that_leaves_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "a.zip", {"good": b"1", name: b"2"})
    with pytest.raises(UnsafeArchive, match="name that is not safe"):
        unpack(archive, tmp_path / "out")
    assert left_behind(tmp_path) == []


def test_a_link_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UnsafeArchive, match="holds the link 'link'"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize("second", ["log.csv", "LOG.csv", "log.csv/x"])
def test_two_files_in_one_place_are_refused(second: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("log.csv", second):
            info = zipfile.ZipInfo(name)
            archive.writestr(info, b"x")
    with pytest.raises(UnsafeArchive, match=r"twice|below a file"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_a_bomb_ends_at_the_limit_whatever_it_claims(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "a.zip", {"bomb": bytes(50_000_000)})
    data = bytearray(archive.read_bytes())
    size = (50_000_000).to_bytes(4, "little")
    while (place := data.find(size)) >= 0:
        data[place : place + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(data)
    with pytest.raises(UnsafeArchive):
        unpack(archive, tmp_path / "out")
    archive = zip_of(tmp_path / "b.zip", {"bomb": bytes(50_000_000)})
    with pytest.raises(UnsafeArchive, match="more than it may"):
        unpack(archive, tmp_path / "out", Limits(ratio=100))
    with pytest.raises(UnsafeArchive, match="more than it may"):
        unpack(archive, tmp_path / "out", Limits(total_bytes=1_000_000, ratio=1e9))
    with pytest.raises(UnsafeArchive, match="holds 3 files"):
        unpack(zip_of(tmp_path / "c.zip", dict.fromkeys("abc", b"")), tmp_path / "out", Limits(files=2))
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("spoil", ["cut", "flip", "no zip"])
def test_a_damaged_archive_is_refused(spoil: str, tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "a.zip", {"x": bytes(range(256)) * 100}, packed=zipfile.ZIP_STORED)
    data = bytearray(archive.read_bytes())
    if spoil == "flip":
        data[2000] ^= 1
    archive.write_bytes({"cut": data[:3000], "flip": data, "no zip": b"<html>"}[spoil])
    with pytest.raises(UnsafeArchive):
        unpack(archive, tmp_path / "out")
    assert left_behind(tmp_path) == []


def test_a_folder_that_is_there_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        unpack(zip_of(tmp_path / "a.zip", {"x": b""}), tmp_path / "out")
