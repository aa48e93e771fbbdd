"""A log is known by its columns and words; what is none is refused with a reason that helps."""

from __future__ import annotations

import pytest

from schemas.errors import NotAJobLog, UsageError
from schemas.joblogs import FORMATS
from tasks.joblog.head import read_head
from tasks.storage.source import stat_file
from tests.tasks.joblog.logs import KINDS, Job


def head_of(tmp_path, text: bytes, wanted: str | None = None, name: str = "log.csv"):
    path = tmp_path / name
    path.write_bytes(text)
    return read_head(stat_file(str(path)), wanted)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_is_known_by_itself(tmp_path, kind):
    write, _ = KINDS[kind]
    jobs = [Job(n, "u", "v", "Eval", "COMPLETED", 5, 3, 10, 1) for n in range(3)]
    assert head_of(tmp_path, write(jobs)).kind.name == kind


def test_philly_and_helios_have_the_same_columns_and_are_told_apart_by_their_states(tmp_path):
    header = b"job_id,user,vc,gpu_num,state,submit_time,start_time,end_time,duration,queue\n"
    row = b"1,u,v,1,%s,2020-05-01 00:00:00,2020-05-01 00:00:00,2020-05-01 00:00:09,9,0\n"
    assert head_of(tmp_path, header + row % b"Pass").kind.name == "philly"
    assert head_of(tmp_path, header + row % b"COMPLETED").kind.name == "helios"


def test_what_may_be_two_kinds_asks_which(tmp_path):
    header = b"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    with pytest.raises(NotAJobLog, match=r"may be .* or .*--format helios or philly") as caught:
        head_of(tmp_path, header)
    assert caught.value.rule == "unclear-format"


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        (b"", "empty-file", "no bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "lfs-pointer", "LFS pointer"),
        (b"<!DOCTYPE html><html>", "html-page", "web page"),
        (b"PAR1\0\0\0", "not-a-job-log", "no text"),
        (b"just words\n", "not-a-job-log", "no header"),
        (b"Time,a-0,a-1\n", "not-a-job-log", "no known job log: Time, a-0, a-1"),
        (b"JobID,State\n1,2\n", "not-a-job-log", "sacct --allusers"),
        (b"job_id,duration,gpu_num\n", "not-a-job-log", "--format seren | kalos"),
        (b"job_id,job_id,gpu_num\n", "not-a-job-log", "job_id more than once"),
        (b'{"a": 1}', "not-a-job-log", "is JSON, but not"),
        (b"\xff\xfea,b\n", "not-a-job-log", "no UTF-8"),
        (b"job_id," + b"x," * 200_000, "not-a-job-log", "first line of more than 262,144 bytes"),
    ],
)
def test_what_is_no_job_log_is_refused_with_its_reason(tmp_path, text, rule, words):
    with pytest.raises(NotAJobLog) as caught:
        head_of(tmp_path, text)
    assert caught.value.rule == rule
    assert words in str(caught.value)
    assert str(tmp_path / "log.csv") in str(caught.value)


def test_a_kind_that_is_not_known_is_bad_usage_and_names_those_that_are(tmp_path):
    with pytest.raises(UsageError, match=r"no kind of job log 'pbs'.*seren, kalos, helios"):
        head_of(tmp_path, b"a,b\n", "pbs")


def test_a_kind_cannot_be_forced_on_a_file_that_tells_nothing_of_jobs(tmp_path):
    with pytest.raises(NotAJobLog, match="has none of the columns gpu_num, submit_time"):
        head_of(tmp_path, b"Time,a-0\n", "kalos")


def test_every_kind_says_what_its_columns_mean():
    for kind in FORMATS.values():
        for name, column in kind.model.to_schema().columns.items():
            assert column.description, f"{kind.name}.{name}"


def test_every_kind_tells_which_column_is_the_state_and_the_submission():
    for kind in FORMATS.values():
        becomes = {column.becomes for column in kind.columns}
        assert {"raw_state", "submit", "start", "end", "gpu_num", "job_id", "released_duration_s"} <= becomes
