"""Whole files below a root, on a local disk and on an fsspec store."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import uuid
from pathlib import Path

import pytest

from schemas.errors import UsageError
from tasks.storage.publish import (
    list_files,
    local_folder,
    read_bytes,
    remove,
    remove_stale_temporaries,
    write_bytes,
)


@pytest.fixture(params=["path", "text", "file-url", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    out = tmp_path / "out"
    roots: dict[str, str | Path] = {
        "path": out,
        "text": str(out),
        "file-url": f"file://{out}",
        "memory": f"memory://{uuid.uuid4().hex}/out",
    }
    return roots[request.param]


def test_a_file_reads_back_and_is_described(root: str | Path) -> None:
    written = write_bytes(root, "a/b/c.bin", b"abc")
    assert read_bytes(root, "a/b/c.bin") == b"abc"
    assert (written.path, written.size) == ("a/b/c.bin", 3)
    assert written.sha256 == hashlib.sha256(b"abc").hexdigest()


def test_a_second_write_replaces_the_first(root: str | Path) -> None:
    write_bytes(root, "f", b"a long first content")
    write_bytes(root, "f", b"new")
    assert read_bytes(root, "f") == b"new"


def test_what_is_not_there_reads_as_none(root: str | Path) -> None:
    assert read_bytes(root, "nothing/here") is None
    write_bytes(root, "file", b"")
    assert read_bytes(root, "file") == b""


def test_files_are_listed_in_order_and_removed_for_good(root: str | Path) -> None:
    assert list_files(root) == ()
    for name in ("b", "a/2", "a/1"):
        write_bytes(root, name, b"x")
    assert list_files(root) == ("a/1", "a/2", "b")
    remove(root, "a/1")
    remove(root, "a/1")
    assert list_files(root) == ("a/2", "b")


@pytest.mark.parametrize("relative", ["", "../escaped", "/tmp/escaped", "a/../../escaped", "..\\escaped"])
def test_no_name_leaves_the_root(root: str | Path, relative: str, tmp_path: Path) -> None:
    for act in (lambda: write_bytes(root, relative, b"x"), lambda: read_bytes(root, relative)):
        with pytest.raises(UsageError):
            act()
    with pytest.raises(UsageError):
        remove(root, relative)
    assert not (tmp_path / "escaped").exists()


def test_a_link_does_not_carry_a_file_out_of_the_root(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    root.mkdir()
    (root / "link").symlink_to(outside)
    with pytest.raises(UsageError, match="through a link"):
        write_bytes(root, "link/new", b"x")
    with pytest.raises(UsageError, match="through a link"):
        remove(root, "link/kept")
    assert [path.name for path in outside.iterdir()] == ["kept"]


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_bytes(tmp_path / "link", "f", b"x")
    assert (tmp_path / "real" / "f").read_bytes() == b"x"


def test_a_reader_sees_one_content_or_the_other_never_a_part(tmp_path: Path) -> None:
    contents = (b"a" * 400_000, b"b" * 300_000)
    write_bytes(tmp_path, "f", contents[0])
    done = threading.Event()

    def keep_writing() -> None:
        for turn in range(60):
            write_bytes(tmp_path, "f", contents[turn % 2])
        done.set()

    writer = threading.Thread(target=keep_writing)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(read_bytes(tmp_path, "f"))
    writer.join()
    assert seen <= set(contents)


def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_bytes(b"old")
    with pytest.raises(UsageError, match="cannot be written"):
        write_bytes(tmp_path, "folder", b"x")
    with pytest.raises(UsageError, match="cannot be written"):
        write_bytes(tmp_path, "folder/old/below-a-file", b"x")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "old"]


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    write_bytes(tmp_path, "published", b"x")
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "published").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_only_old_temporaries_of_our_form_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    old, young = folder / f".{'0' * 32}.part", folder / f".{'1' * 32}.part"
    others = [folder / ".mine.part", folder / "data.part"]
    for path in (old, young, *others):
        path.write_bytes(b"x")
    two_hours_ago = time.time() - 7200
    for path in (old, *others):
        os.utime(path, (two_hours_ago, two_hours_ago))
    assert remove_stale_temporaries(tmp_path) == (f"a/{old.name}",)
    assert not old.exists()
    assert young.exists()
    assert all(path.exists() for path in others)


def test_temporaries_are_not_listed_and_object_stores_have_none(tmp_path: Path) -> None:
    (tmp_path / f".{'0' * 32}.part").write_bytes(b"x")
    assert list_files(tmp_path) == ()
    assert remove_stale_temporaries("memory://somewhere") == ()


def test_roots_are_told_apart() -> None:
    assert local_folder("out") == Path.cwd() / "out"
    assert local_folder("s3://bucket/out") is None
    with pytest.raises(UsageError, match="no name"):
        local_folder("")
    with pytest.raises(UsageError, match="cannot be used"):
        write_bytes("nosuchprotocol://x", "f", b"x")
