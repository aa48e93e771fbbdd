"""A file has one digest, wherever it was cut, and other bytes have another."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.storage.digest import LEAF_BYTES, LeafDigests, file_digest, joined
from tasks.storage.source import open_reader, stat_file

SIZE = 3 * LEAF_BYTES + 12_345


@pytest.fixture(scope="module")
def content() -> bytes:
    return np.random.default_rng(5).bytes(SIZE)


@pytest.fixture(scope="module")
def path(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("digest") / "file"
    path.write_bytes(content)
    return path


def by_definition(content: bytes) -> str:
    leaves = [
        xxhash.xxh3_128(content[at : at + (1 << 20)]).digest() for at in range(0, len(content), 1 << 20)
    ]
    return "xxh3-128-tree:" + xxhash.xxh3_128(b"".join(leaves)).hexdigest()


@pytest.mark.parametrize("size", [0, 1, LEAF_BYTES - 1, LEAF_BYTES, LEAF_BYTES + 1, SIZE])
def test_it_is_what_the_definition_says(size: int, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content[:size])
    assert file_digest(stat_file(str(tmp_path / "file"))) == by_definition(content[:size])


@settings(max_examples=40, deadline=None)
@given(cuts=st.sets(st.integers(1, SIZE - 1), max_size=6), step=st.integers(1000, 3 * LEAF_BYTES))
def test_it_does_not_depend_on_cuts_and_pieces(cuts: set[int], step: int, content: bytes, path: Path) -> None:
    parts = []
    with open_reader(stat_file(str(path))) as reader:
        for start, stop in itertools.pairwise([0, *sorted(cuts), SIZE]):
            leaves = LeafDigests(start, stop)
            for at in range(start, stop, step):
                leaves.add(at, memoryview(content)[at : min(at + step, stop)])
            leaves.read(reader)
            parts.append(leaves.finish())
    assert joined(parts) == by_definition(content)


def test_one_other_bit_gives_another(content: bytes, path: Path, tmp_path: Path) -> None:
    other = bytearray(content)
    other[2 * LEAF_BYTES] ^= 1
    (tmp_path / "file").write_bytes(other)
    assert file_digest(stat_file(str(tmp_path / "file"))) != file_digest(stat_file(str(path)))


def test_a_packed_file_has_that_of_its_content(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.gz").write_bytes(gzip.compress(content, 1))
    assert file_digest(stat_file(str(tmp_path / "file.gz"))) == by_definition(content)


def test_bytes_that_were_left_out_are_an_error(content: bytes) -> None:
    leaves = LeafDigests(0, SIZE)
    leaves.add(0, memoryview(content)[:10])
    with pytest.raises(ValueError, match="bytes 10 to 11 were not given"):
        leaves.add(11, memoryview(content)[11:20])
