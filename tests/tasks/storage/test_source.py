"""Bytes of a source: the version that was planned, all of them, or an error that says why not."""

from __future__ import annotations

import gzip
import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
import stamina
import zstandard
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import FileChanged, ReadFailed, SourceError
from tasks.storage.retries import ATTEMPTS
from tasks.storage.source import FileRef, Reader, is_local, local_path, open_reader, stat_file

TEXT = bytes(range(256)) * 40
SUFFIX = {gzip.compress: ".gz", zstandard.compress: ".zst"}


class FlakyFileSystem(MemoryFileSystem):  # type: ignore[misc]
    """A store whose files can be read in part only, or whose connection breaks."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    trouble: str | None = None

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        if self.trouble == "connection":
            raise RuntimeError("the peer has gone")
        data: bytes = super().cat_file(path, start=start, end=end, **options)
        return data[:-1] if self.trouble == "short" else data


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    """Try as often as for a user, without the waits."""
    with stamina.set_testing(True, attempts=ATTEMPTS):
        yield


@pytest.fixture
def flaky() -> Iterator[type[FlakyFileSystem]]:
    fsspec.register_implementation("flaky", FlakyFileSystem, clobber=True)
    with fsspec.open("flaky://box/X.csv", "wb") as file:
        file.write(TEXT)
    yield FlakyFileSystem
    FlakyFileSystem.trouble = None
    FlakyFileSystem.store.clear()


@pytest.fixture(params=["local", "file", "memory"])
def ref(request: pytest.FixtureRequest, tmp_path: Path) -> FileRef:
    url = {
        "local": str(tmp_path / "X.csv"),
        "file": f"file://{tmp_path}/X.csv",
        "memory": f"memory://{tmp_path.name}/X.csv",
    }[request.param]
    with fsspec.open(url, "wb") as file:
        file.write(TEXT)
    return stat_file(url)


def read(reader: Reader, offset: int, size: int) -> bytes:
    buffer = bytearray(size)
    count = reader.read_into(offset, memoryview(buffer))
    return bytes(buffer[:count])


def read_all(ref: FileRef, step: int = 1000) -> bytes:
    found = b""
    with open_reader(ref) as reader:
        while data := read(reader, len(found), step):
            found += data
    return found


class TestRanges:
    @pytest.mark.parametrize(
        ("offset", "size"),
        [(0, 10), (5, 0), (100, 1000), (10_000, 500), (10_239, 5), (10_240, 5), (99_999, 5)],
    )
    def test_any_range_is_that_of_the_file(self, ref: FileRef, offset: int, size: int) -> None:
        with open_reader(ref) as reader:
            assert read(reader, offset, size) == TEXT[offset : offset + size]

    def test_ranges_come_in_any_order(self, ref: FileRef) -> None:
        with open_reader(ref) as reader:
            for offset in (9000, 0, 4000, 4000):
                assert read(reader, offset, 77) == TEXT[offset : offset + 77]

    def test_the_size_is_that_of_the_stored_bytes(self, ref: FileRef) -> None:
        assert (ref.size, ref.compression) == (len(TEXT), "")
        assert stat_file(ref.url) == ref


class TestPacked:
    @pytest.mark.parametrize("pack", list(SUFFIX))
    @pytest.mark.parametrize("parts", [1, 3])
    @pytest.mark.parametrize("step", [1, 999, 1 << 20])
    def test_content_comes_unpacked_also_of_several_members(
        self, pack: Any, parts: int, step: int, tmp_path: Path
    ) -> None:
        text = TEXT if step > 1 else TEXT[:2000]
        path = tmp_path / f"X.csv{SUFFIX[pack]}"
        path.write_bytes(pack(text) * parts)
        assert read_all(stat_file(str(path)), step) == text * parts

    @pytest.mark.parametrize("pack", list(SUFFIX))
    def test_a_stream_may_skip_forward(self, pack: Any, tmp_path: Path) -> None:
        path = tmp_path / f"X.csv{SUFFIX[pack]}"
        path.write_bytes(pack(TEXT))
        with open_reader(stat_file(str(path))) as reader:
            assert read(reader, 7, 20) == TEXT[7:27]
            assert read(reader, 5000, 20) == TEXT[5000:5020]
            assert read(reader, 99_999, 20) == b""

    @pytest.mark.parametrize("pack", list(SUFFIX))
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(share=st.floats(0.0, 0.999))
    def test_what_is_cut_short_cannot_be_read_to_its_end(
        self, pack: Any, share: float, tmp_path: Path
    ) -> None:
        packed = pack(os.urandom(20_000))
        path = tmp_path / f"X.csv{SUFFIX[pack]}"
        path.write_bytes(packed[: 1 + int(share * (len(packed) - 1))])
        with pytest.raises(ReadFailed, match="to its end"):
            read_all(stat_file(str(path)))

    @pytest.mark.parametrize("suffix", list(SUFFIX.values()))
    @pytest.mark.parametrize("data", [b"Time,a\n", b"\x1f\x8b\x08\x00", b"\xff" * 300])
    def test_what_is_not_packed_at_all_cannot_be_read(self, suffix: str, data: bytes, tmp_path: Path) -> None:
        path = tmp_path / f"X.csv{suffix}"
        path.write_bytes(data)
        with pytest.raises(ReadFailed):
            read_all(stat_file(str(path)))

    def test_a_damaged_member_cannot_be_read(self, tmp_path: Path) -> None:
        packed = bytearray(gzip.compress(TEXT))
        packed[30:60] = b"\xff" * 30
        path = tmp_path / "X.csv.gz"
        path.write_bytes(packed)
        with pytest.raises(ReadFailed):
            read_all(stat_file(str(path)))


class TestVersions:
    def test_another_size_is_another_version(self, ref: FileRef) -> None:
        with fsspec.open(ref.url, "wb") as file:
            file.write(TEXT + b"1")
        with pytest.raises(FileChanged, match="planned"), open_reader(ref):
            pass
        assert FileChanged.transient

    def test_a_file_that_changes_while_it_is_read_is_told_at_the_end(self, ref: FileRef) -> None:
        def read_while_it_changes() -> None:
            with open_reader(ref) as reader:
                read(reader, 0, 10)
                with fsspec.open(ref.url, "wb") as file:
                    file.write(TEXT[::-1] + b"2")

        with pytest.raises(FileChanged):
            read_while_it_changes()

    def test_the_same_size_at_another_time_is_another_version(self, tmp_path: Path) -> None:
        path = tmp_path / "X.csv"
        path.write_bytes(TEXT)
        ref = stat_file(str(path))
        os.utime(path, ns=(1, 1))
        with pytest.raises(FileChanged), open_reader(ref):
            pass

    @pytest.mark.parametrize("url", ["/nowhere/X.csv", "memory://nowhere/X.csv"])
    def test_a_file_that_is_not_there_is_a_source_error(self, url: str) -> None:
        with pytest.raises(SourceError, match="cannot be read"):
            stat_file(url)

    def test_an_error_of_the_reader_is_not_hidden_by_the_version(self, tmp_path: Path) -> None:
        path = tmp_path / "X.csv"
        path.write_bytes(TEXT)

        def fail() -> None:
            with open_reader(stat_file(str(path))):
                path.unlink()
                raise KeyError

        with pytest.raises(KeyError):
            fail()


class TestStorageThatFails:
    def test_fewer_bytes_than_promised_are_an_error(self, flaky: type[FlakyFileSystem]) -> None:
        ref = stat_file("flaky://box/X.csv")
        assert read_all(ref) == TEXT
        flaky.trouble = "short"
        with pytest.raises(ReadFailed, match="999 of the bytes"):
            read_all(ref)
        assert ReadFailed.transient

    def test_any_error_of_the_store_is_told_as_one(self, flaky: type[FlakyFileSystem]) -> None:
        ref = stat_file("flaky://box/X.csv")
        flaky.trouble = "connection"
        with pytest.raises(ReadFailed, match="the peer has gone"):
            read_all(ref)


class TestReadingAhead:
    """With `until` a store is read in large pieces; what is read is the same."""

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        cuts=st.lists(st.integers(0, len(TEXT) + 50), min_size=1, max_size=12).map(sorted),
        until=st.integers(0, len(TEXT) + 50),
        ahead=st.sampled_from([500, 4096, 1 << 20]),
    )
    def test_ascending_ranges_are_those_of_the_file(
        self, ref: FileRef, cuts: list[int], until: int, ahead: int
    ) -> None:
        with pytest.MonkeyPatch.context() as patch, open_reader(ref, until) as reader:
            patch.setattr("tasks.storage.disk._AHEAD_BYTES", ahead)
            patch.setattr("tasks.storage.ahead.PIECE_BYTES", ahead)
            for start, stop in itertools.pairwise(cuts):
                buffer = bytearray(stop - start)
                count = reader.read_into(start, memoryview(buffer))
                assert buffer[:count] == TEXT[start:stop]

    def test_the_next_piece_is_fetched_while_the_last_one_is_used(
        self, flaky: type[FlakyFileSystem], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tasks.storage.ahead.PIECE_BYTES", 100)
        asked: list[tuple[int, int]] = []
        fetched = threading.Event()

        def cat_file(self: Any, path: str, start: int, end: int, **options: Any) -> bytes:
            asked.append((start, end))
            if start == 100:
                fetched.set()
            return TEXT[start:end]

        monkeypatch.setattr(FlakyFileSystem, "cat_file", cat_file)
        with open_reader(stat_file("flaky://box/X.csv"), 250) as reader:
            reader.read_into(0, memoryview(bytearray(10)))
            assert fetched.wait(10), "byte 100 was not asked for before it was needed"
            for place in range(10, 250, 10):
                reader.read_into(place, memoryview(bytearray(10)))
        assert sorted(asked) == [(0, 100), (100, 200), (200, 250)]

    def test_an_error_of_a_piece_is_told_where_it_is_needed(self, flaky: type[FlakyFileSystem]) -> None:
        flaky.trouble = "connection"
        with (
            pytest.raises(ReadFailed, match="the peer has gone"),
            open_reader(stat_file("flaky://box/X.csv"), 250) as reader,
        ):
            reader.read_into(0, memoryview(bytearray(10)))


def test_urls_of_local_files() -> None:
    assert is_local("/data/X.csv")
    assert is_local("X.csv")
    assert is_local("file:///data/X.csv")
    assert not is_local("s3://bucket/X.csv")
    assert local_path("file:///data/X.csv") == Path("/data/X.csv")


@pytest.mark.parametrize(
    ("url", "compression"), [("X.csv", ""), ("X.csv.gz", "gz"), ("s3://b/X.csv.zst", "zst"), ("gz", "")]
)
def test_compression_is_told_by_the_name(url: str, compression: str) -> None:
    assert FileRef(url, 1, "v").compression == compression
