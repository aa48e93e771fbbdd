"""The same request gives the same bytes; sizes are met; files appear whole."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.sampling import SampleOptions, source, write_sample
from tasks.sampling.options import FULL_FLEET_FROM_BYTES
from tasks.sampling.plan import planned_rows

SMALL = SampleOptions(rows=60, gpus=16)


def digests(root: Path) -> dict[str, str]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def written(root: Path, options: SampleOptions) -> dict[str, str]:
    write_sample(root, options)
    return digests(root)


def test_the_same_options_give_the_same_bytes(tmp_path):
    options = replace(SMALL, faults=True)
    assert written(tmp_path / "a", options) == written(tmp_path / "b", options)


def test_another_seed_gives_other_bytes(tmp_path):
    one, two = written(tmp_path / "a", SMALL), written(tmp_path / "b", replace(SMALL, seed=1))
    same = {path for path in one if one[path] == two[path]}
    assert same == {"data/utilization/kalos/DRAM_ACTIVE.csv"}


def test_bytes_do_not_depend_on_workers(tmp_path):
    one = written(tmp_path / "a", replace(SMALL, workers=1))
    assert written(tmp_path / "b", replace(SMALL, workers=5)) == one


def test_bytes_do_not_depend_on_where_chunks_are_cut(tmp_path, monkeypatch):
    options = replace(SMALL, rows=2000)
    whole = written(tmp_path / "a", options)
    monkeypatch.setattr(source, "CHUNK_BYTES", 5_000)
    assert written(tmp_path / "b", options) == whole


def test_a_file_does_not_depend_on_which_others_are_asked_for(tmp_path):
    everything = written(tmp_path / "a", SMALL)
    some = written(tmp_path / "b", replace(SMALL, metrics=("GPU_UTIL", "job_trace"), clusters=("kalos",)))
    assert set(some) == {"data/utilization/kalos/GPU_UTIL.csv", "data/job_trace/trace_kalos.csv"}
    assert some.items() <= everything.items()


@pytest.mark.parametrize("size", [2_000_000, 30_000_000])
def test_the_wanted_size_is_met_within_five_per_cent(tmp_path, size):
    report = write_sample(tmp_path / "s", SampleOptions(size_bytes=size))
    assert abs(report.total_bytes - size) < 0.05 * size


def test_one_large_file_of_the_full_fleet_meets_its_size(tmp_path):
    options = SampleOptions(size_bytes=12_000_000, gpus=1992, clusters=("seren",), metrics=("SM_ACTIVE",))
    report = write_sample(tmp_path / "s", options)
    assert abs(report.total_bytes - options.size_bytes) < 0.03 * options.size_bytes


def test_large_samples_have_the_full_fleet():
    large = SampleOptions(size_bytes=FULL_FLEET_FROM_BYTES)
    assert (large.gpus_of("seren"), large.gpus_of("kalos")) == (1992, 2344)
    assert SampleOptions().gpus_of("kalos") == 64


def test_tens_of_gigabytes_are_planned_without_being_made():
    rows = planned_rows(SampleOptions(size_bytes=80_000_000_000))
    assert 150_000 < rows < 400_000


def test_progress_adds_up_to_the_bytes_written(tmp_path):
    seen: list[int] = []
    report = write_sample(tmp_path / "s", SMALL, progress=seen.append)
    assert sum(seen) == report.total_bytes


def test_a_single_row_has_a_value_in_every_cell(tmp_path):
    write_sample(tmp_path / "s", replace(SMALL, rows=1, metrics=("GPU_UTIL",)))
    row = (tmp_path / "s/data/utilization/seren/GPU_UTIL.csv").read_text().splitlines()[1]
    assert "" not in row.split(",")


def test_an_interrupted_run_leaves_only_whole_files(tmp_path):
    whole = written(tmp_path / "a", SMALL)
    left = 10

    def stop_after_some(_: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_sample(tmp_path / "b", SMALL, progress=stop_after_some)
    assert 0 < len(digests(tmp_path / "b")) < len(whole)
    assert digests(tmp_path / "b").items() <= whole.items()
