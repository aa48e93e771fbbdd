"""What sacct prints, in all its forms, becomes jobs with the GPUs they held."""

from __future__ import annotations

import pytest

from tasks.joblog.slurm import elapsed_s, gpus_of
from tests.tasks.joblog.logs import read

HEADER = "JobID|User|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|AllocTRES|ReqTRES"
TIMES = "2024-05-01T00:00:00|2024-05-01T00:01:00|2024-05-01T01:01:00"


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ("billing=64,cpu=64,gres/gpu=8,mem=500G,node=1", 8),
        ("cpu=64,gres/gpu:a100=8,gres/gpu=8,node=1", 8),
        ("cpu=64,gres/gpu:a100=2,gres/gpu:v100=1", 3),
        ("gres/gpu:nvidia_h100_80gb_hbm3=4", 4),
        ("cpu=4,gres/gpumem=80G,gres/gpuutil=50,node=1", 0),
        ("cpu=4,mem=16G,node=1", 0),
        ("gpu:8", 8),
        ("gpu:tesla:2", 2),
        ("gpu=4", 4),
        ("", 0),
    ],
)
def test_gpus_are_read_from_any_list_of_resources(resources, gpus):
    assert gpus_of(resources) == gpus


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:10", 10), ("01:02:03", 3723), ("2-00:00:01", 172_801), ("05:06", 306), ("00:00:01.500", 1)],
)
def test_elapsed_times_are_read_in_every_form(text, seconds):
    assert elapsed_s(text) == seconds


def sacct(tmp_path, *rows: str, header: str = HEADER):
    return read(tmp_path, "\n".join((header, *rows, "")).encode(), timezone="UTC")


def test_steps_are_left_out_and_counted(tmp_path):
    record, table = sacct(
        tmp_path,
        f"10|ann|gpu|COMPLETED|{TIMES}|3600|1|8|cpu=8,gres/gpu=2|cpu=8",
        f"10.batch|||COMPLETED|{TIMES}|3600|1|8|cpu=8,gres/gpu=2|",
        f"10.0|||COMPLETED|{TIMES}|3600|1|8|cpu=8,gres/gpu=2|",
        f"11_3|bob|gpu|TIMEOUT|{TIMES}|3600|1|8|cpu=8,gres/gpu=2|cpu=8",
        f"12+1|bob|gpu|OUT_OF_MEMORY|{TIMES}|3600|1|8|cpu=8,gres/gpu=2|cpu=8",
    )
    assert table["job_id"].tolist() == ["10", "11_3", "12+1"]
    assert table["gpu_time_s"].tolist() == [7200.0] * 3
    assert table["state"].tolist() == ["COMPLETED", "FAILED", "FAILED"]
    assert {line.rule: line.rows for line in record.audit}["job-step"] == 2
    assert record.rows == 5


def test_a_job_that_was_cancelled_while_it_waited_keeps_what_it_asked_for_and_never_ran(tmp_path):
    record, table = sacct(
        tmp_path,
        "20|ann|gpu|CANCELLED by 1001|2024-05-01T00:00:00|None|2024-05-01T00:10:00|0|4|32||gres/gpu=32",
    )
    row = table.iloc[0]
    assert (row["state"], row["raw_state"], row["gpu_num"]) == ("CANCELLED", "CANCELLED", 32.0)
    assert row[["run_s", "wait_s"]].isna().all()
    assert {line.rule for line in record.audit} == {"never-started"}


def test_jobs_that_run_or_wait_have_no_outcome(tmp_path):
    record, table = sacct(
        tmp_path,
        "30|ann|gpu|RUNNING|2024-05-01T00:00:00|2024-05-01T00:01:00|Unknown|60|1|8|cpu=8,gres/gpu=2|cpu=8",
        "31_[5-10]|ann|gpu|PENDING|2024-05-01T00:00:00|Unknown|Unknown|0|1|8||cpu=8,gres/gpu=2",
    )
    assert table["state"].isna().all()
    assert table["wait_s"].tolist()[0] == 60
    assert table["run_s"].isna().all()
    assert next(line for line in record.audit if line.rule == "not-ended").treatment.endswith(
        "RUNNING 1, PENDING 1"
    )


def test_elapsed_stands_in_for_elapsed_raw_and_a_suspended_job_breaks_the_rule(tmp_path):
    record, table = sacct(
        tmp_path,
        f"40|ann|gpu|COMPLETED|{TIMES}|01:00:00|gres/gpu=1",
        f"41|ann|gpu|COMPLETED|{TIMES}|00:30:00|gres/gpu=1",
        header="JobID|User|Partition|State|Submit|Start|End|Elapsed|AllocTRES",
    )
    assert table["released_duration_s"].tolist() == [3600.0, 1800.0]
    assert table["run_s"].tolist() == [3600.0, 3600.0]
    assert {line.rule: line.rows for line in record.audit}["duration-rule"] == 1


def test_a_line_of_sacct_that_ends_with_a_bar_is_read_too(tmp_path):
    # sacct --parsable, without the 2.
    _, table = sacct(
        tmp_path, f"50|ann|gpu|COMPLETED|{TIMES}|3600|1|8|gres/gpu=2|cpu=8|", header=HEADER + "|"
    )
    assert table["gpu_num"].tolist() == [2.0]


def test_names_with_bars_make_a_ragged_row_that_is_told(tmp_path):
    record, table = sacct(
        tmp_path,
        f"60|train|v2|ann|COMPLETED|{TIMES}|gres/gpu=1",
        f"61|train|ann|COMPLETED|{TIMES}|gres/gpu=1",
        header="JobID|JobName|User|State|Submit|Start|End|AllocTRES",
    )
    assert table["job_id"].tolist() == ["61"]
    assert record.findings[-1].rule == "ragged-row" or "ragged-row" in {f.rule for f in record.findings}


def test_quotes_in_names_are_letters_like_others(tmp_path):
    _, table = sacct(
        tmp_path,
        f'70|"half|ann|COMPLETED|{TIMES}|gres/gpu=1',
        f"71|plain|bob|COMPLETED|{TIMES}|gres/gpu=1",
        header="JobID|JobName|User|State|Submit|Start|End|AllocTRES",
    )
    assert table["user"].tolist() == ["ann", "bob"]


# What sacct of Slurm 22.05 printed of a small cluster: done, failed, still running, cancelled while
# it ran and while it waited, an array, waiting.
PRINTED = """\
JobID|User|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|AllocTRES|ReqTRES
1|root|gpu|COMPLETED|{d}31|{d}32|{d}35|3|1|1|billing=1,cpu=1,gres/gpu=1,node=1|billing=1,cpu=1,gres/gpu=1,mem=1M,node=1
2|root|gpu|FAILED|{d}31|{d}36|{d}36|0|1|1|billing=1,cpu=1,gres/gpu=2,node=1|billing=1,cpu=1,gres/gpu=2,mem=1M,node=1
3|root|gpu|RUNNING|{d}31|{d}36|Unknown|24|1|1|billing=1,cpu=1,node=1|billing=1,cpu=1,mem=1M,node=1
4|root|gpu|CANCELLED by 0|{d}31|{d}39|{d}45|6|1|1|billing=1,cpu=1,gres/gpu=1,node=1|billing=1,cpu=1,node=1
6|root|gpu|CANCELLED by 0|{d}31|None|{d}45|0|1|1||billing=1,cpu=1,gres/gpu=2,mem=1M,node=1
5_0|root|gpu|COMPLETED|{d}31|{d}46|{d}51|5|1|1|billing=1,cpu=1,gres/gpu=1,node=1|billing=1,cpu=1,gres/gpu=1,node=1
7|root|gpu|PENDING|{d}45|Unknown|Unknown|0|1|1||billing=1,cpu=1,gres/gpu=1,mem=1M,node=1
"""


def test_what_a_real_sacct_printed_is_read_to_the_last_job(tmp_path):
    text = PRINTED.replace("{d}", "2026-05-01T17:19:").encode()
    record, table = read(tmp_path, text, timezone="UTC")
    assert record.verdict == "passed"
    assert table["job_id"].tolist() == ["1", "2", "3", "4", "6", "5_0", "7"]
    assert table["gpu_num"].tolist() == [1, 2, 0, 1, 2, 1, 1]
    assert table["run_s"].fillna(-1).tolist() == [3, 0, -1, 6, -1, 5, -1]
    assert table["wait_s"].fillna(-1).tolist() == [1, 5, 5, 8, -1, 15, -1]
    states = ["COMPLETED", "FAILED", None, "CANCELLED", "CANCELLED", "COMPLETED", None]
    assert table["state"].astype(object).where(table["state"].notna(), None).tolist() == states
    rules = {line.rule: line.rows for line in record.audit}
    assert rules == {"not-ended": 2, "never-started": 1, "cpu-job": 1}
