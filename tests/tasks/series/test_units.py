"""Units of work: their keys say what they read; each is done once; their number does not matter."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import FileChanged
from tasks.series.head import read_head
from tasks.series.spec import ScanSpec
from tasks.series.units import (
    LARGEST_BLOCK,
    SMALLEST_BLOCK,
    WIDE,
    ThreadExecutor,
    blocks_of,
    fitting_block_bytes,
    is_known,
    merge_all,
    plan_file,
    scan_unit,
    tally_file,
)
from tasks.storage.digest import LEAF_BYTES
from tasks.storage.source import FileRef
from tasks.storage.units import UnitStore

Write = Callable[..., FileRef]


@pytest.fixture
def ref(write: Write, table: Any) -> FileRef:
    made: FileRef = write(table([[f"{i}.5", f"{i % 7}", ""] for i in range(60)]))
    return made


@pytest.fixture
def store(tmp_path: Path) -> UnitStore:
    return UnitStore(tmp_path / "units")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("block_bytes", [10, 97, 1000, 1 << 20])
def test_workers_and_blocks_do_not_matter(
    workers: int, block_bytes: int, ref: FileRef, tally: Any, facts: Any
) -> None:
    scan = plan_file(WIDE, read_head(ref), ScanSpec(), block_bytes)
    assert len(scan.units) == -(-ref.size // block_bytes)
    assert facts(tally_file(scan, ThreadExecutor(workers), None)) == facts(tally(ref))


def test_a_unit_pickles_small(ref: FileRef) -> None:
    scan = plan_file(WIDE, read_head(ref), ScanSpec(), 100)
    unit = pickle.loads(pickle.dumps(scan.units[0]))
    assert unit == scan.units[0]
    assert pickle.loads(pickle.dumps(scan.kind)) == WIDE
    assert len(pickle.dumps(scan.units[0])) < 1500


def test_keys_tell_files_ranges_and_specs_apart(ref: FileRef, write: Write) -> None:
    head = read_head(ref)
    other = read_head(write("Time,a\n1000,1\n"))
    scans = [
        plan_file(WIDE, head, ScanSpec(), 100),
        plan_file(WIDE, head, ScanSpec(decimals=1), 100),
        plan_file(WIDE, head, ScanSpec(), 100, (0, 500)),
        plan_file(WIDE, other, ScanSpec(), 100),
        plan_file(WIDE, replace(head, file=replace(ref, version="other")), ScanSpec(), 100),
        plan_file(WIDE, replace(head, columns=("n0", "n1", "n9")), ScanSpec(), 100),
    ]
    assert len({scan.key for scan in scans}) == len(scans)
    assert len({unit.key for unit in scans[0].units}) == len(scans[0].units)
    assert plan_file(WIDE, head, ScanSpec(), 100).key == scans[0].key
    # The result of a file does not depend on its blocks, so its key does not either.
    assert plan_file(WIDE, head, ScanSpec(), 999).key == scans[0].key


class TestStore:
    def test_a_finished_file_is_not_read_again(self, ref: FileRef, store: UnitStore, facts: Any) -> None:
        scan = plan_file(WIDE, read_head(ref), ScanSpec(), 100)
        assert not is_known(scan, store)
        first = tally_file(scan, ThreadExecutor(2), store)
        assert is_known(scan, store)
        Path(ref.url).unlink()
        assert facts(tally_file(scan, ThreadExecutor(2), store)) == facts(first)
        assert store.keys("blocks/") == ()

    def test_a_run_that_stopped_loses_only_what_was_not_finished(
        self, ref: FileRef, store: UnitStore, tally: Any, facts: Any
    ) -> None:
        scan = plan_file(WIDE, read_head(ref), ScanSpec(), 400)
        whole = facts(tally(ref))
        done = [scan_unit(WIDE, unit, scan.columns, blocks_of(scan), store) for unit in scan.units[:3]]
        assert len(store.keys("blocks/")) == 3
        # Only what is in the store can be had of the file now, which is to say the first blocks.
        moved = Path(ref.url).rename(f"{ref.url}.moved")
        again = [scan_unit(WIDE, unit, scan.columns, blocks_of(scan), store) for unit in scan.units[:3]]
        assert [facts(part) for part in again] == [facts(part) for part in done]
        moved.rename(ref.url)
        assert facts(tally_file(scan, ThreadExecutor(2), store)) == whole

    def test_a_file_that_changed_leaves_no_result(self, ref: FileRef, store: UnitStore) -> None:
        scan = plan_file(WIDE, read_head(ref), ScanSpec(), 400)
        Path(ref.url).write_text("Time,a\n1000,1\n")
        with pytest.raises(FileChanged):
            tally_file(scan, ThreadExecutor(2), store)
        assert store.keys() == ()


def test_bytes_to_read_are_those_of_the_range_or_the_packed_file(ref: FileRef) -> None:
    head = read_head(ref)
    assert plan_file(WIDE, head, ScanSpec(), 100).bytes_to_read == ref.size
    assert plan_file(WIDE, head, ScanSpec(), 100, (200, 900)).bytes_to_read == 700
    packed = replace(head, file=replace(ref, url="X.csv.gz"))
    assert plan_file(WIDE, packed, ScanSpec(), 100).bytes_to_read == ref.size


def test_more_blocks_need_no_more_memory(write: Write, table: Any) -> None:
    """Results are merged while they come: each of these is larger than a megabyte."""

    def peak(rows: int) -> int:
        ref = write(table([["1"] * 20_000] * rows))
        scan = plan_file(WIDE, read_head(ref), ScanSpec(), 40_000)
        assert len(scan.units) >= rows
        tracemalloc.start()
        tally_file(scan, ThreadExecutor(1), None)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(2)
    assert peak(48) < 1.3 * peak(12)


def test_merging_takes_results_one_at_a_time(ref: FileRef, scan: Any, facts: Any, tally: Any) -> None:
    assert facts(merge_all(iter(scan(ref, cuts=range(100, ref.size, 100))))) == facts(tally(ref))


@pytest.mark.parametrize("workers", [1, 2, 7, 500])
@pytest.mark.parametrize("size", [0, 1, 100 << 20, 843_403_137, 6 << 30, 1 << 45])
def test_blocks_are_whole_leaves_and_enough_for_all_workers(size: int, workers: int) -> None:
    block = fitting_block_bytes(size, workers)
    assert block % LEAF_BYTES == 0
    assert SMALLEST_BLOCK <= block <= LARGEST_BLOCK
    if SMALLEST_BLOCK < block < LARGEST_BLOCK:
        assert 3 * workers < -(-size // block) <= 4 * workers
