"""A request that makes no sense is refused, with what would be right."""

from __future__ import annotations

import pytest

from schemas.errors import UsageError
from tasks.sampling import SampleOptions, write_sample


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (SampleOptions(clusters=("mars",)), "Known: seren, kalos"),
        (SampleOptions(clusters=()), "Name one or more of"),
        (SampleOptions(clusters=("seren", "seren")), "named twice"),
        (SampleOptions(metrics=("GPU_UTILL",)), "Known: XID_ERRORS, .*GPU_AB_Power.*job_trace"),
        (SampleOptions(rows=0), "rows is 0"),
        (SampleOptions(rows=-5), "rows is -5"),
        (SampleOptions(size_bytes=-1), "size is -1"),
        (SampleOptions(workers=0), "workers is 0"),
        (SampleOptions(rows=10, size_bytes=10_000_000), "Give one"),
        (SampleOptions(gpus=12), "multiple of 8"),
        (SampleOptions(gpus=0), "multiple of 8"),
        (SampleOptions(gpus=80_000), "30,720"),
        (SampleOptions(size_bytes=100), "at least"),
        (SampleOptions(rows=10**9), "at most 100,000,000"),
        (SampleOptions(size_bytes=10**12, gpus=8, metrics=("XID_ERRORS",)), "more GPUs"),
        (SampleOptions(clusters=("kalos",), metrics=("NODE_IB_SEND",)), "belong to seren"),
    ],
)
def test_a_senseless_request_is_refused_with_a_hint(tmp_path, options, told):
    with pytest.raises(UsageError, match=told):
        write_sample(tmp_path / "s", options)
    assert not (tmp_path / "s").exists()


def test_the_smallest_size_that_a_refusal_names_is_accepted(tmp_path):
    with pytest.raises(UsageError) as refusal:
        write_sample(tmp_path / "s", SampleOptions(size_bytes=100))
    named = int("".join(c for c in refusal.value.hint.split("bytes")[0] if c.isdigit()))
    assert write_sample(tmp_path / "s", SampleOptions(size_bytes=named)).total_bytes > 0


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        write_sample(tmp_path, SampleOptions(rows=1))
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "s").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        write_sample(tmp_path / "s", SampleOptions(rows=1))


def test_an_empty_folder_is_used(tmp_path):
    report = write_sample(tmp_path, SampleOptions(rows=1, metrics=("GPU_UTIL",)))
    assert len(report.files) == 2
