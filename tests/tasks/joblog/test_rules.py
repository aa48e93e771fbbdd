"""Whatever is odd in a log is found, counted, and treated as its rule says; nothing goes silently."""

from __future__ import annotations

import pytest

from schemas.findings import JOB_RULES, LEFT_OUT
from tests.tasks.joblog.logs import read, same

SEREN = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time"
)
GOOD = {
    "job_id": "1",
    "user": "u1",
    "node_num": "1",
    "gpu_num": "8",
    "cpu_num": "128",
    "type": "Other",
    "state": "COMPLETED",
    "submit_time": "2023-03-01 00:00:00+08:00",
    "start_time": "2023-03-01 00:00:10+08:00",
    "end_time": "2023-03-01 00:01:40+08:00",
    "duration": "90",
    "queue": "10",
    "gpu_time": "720.0",
}


def line(**changed: str) -> str:
    return ",".join({**GOOD, **changed}.values())


def log(*lines: str, header: str = SEREN) -> bytes:
    return ("\n".join((header, *lines)) + "\n").encode()


# Rule, the changed cells of one row, and what the table must hold of that row.
CASES = [
    ("bad-cell", {"gpu_num": "eight"}, {"gpu_num": None, "gpu_time_s": None}),
    ("bad-cell", {"duration": "inf"}, {"released_duration_s": None, "run_s": 90}),
    ("out-of-range", {"gpu_num": "-8"}, {"gpu_num": None}),
    ("bad-time", {"end_time": "2023-13-01 00:00:00+08:00"}, {"run_s": 90}),
    ("no-id", {"job_id": ""}, {"job_id": "2"}),
    ("unknown-state", {"state": "EXPLODED"}, {"state": None, "raw_state": "EXPLODED", "run_s": 90}),
    ("grouped-state", {"state": "PREEMPTED"}, {"state": "FAILED", "raw_state": "PREEMPTED"}),
    ("grouped-state", {"state": "TIMEOUT"}, {"state": "FAILED", "raw_state": "TIMEOUT"}),
    ("grouped-state", {"state": "NODE_FAIL"}, {"state": "FAILED", "raw_state": "NODE_FAIL"}),
    (
        "not-ended",
        {"state": "RUNNING", "end_time": ""},
        {"state": None, "end": None, "run_s": None, "wait_s": 10},
    ),
    ("no-end", {"end_time": "", "duration": ""}, {"run_s": None, "state": "COMPLETED"}),
    ("never-started", {"state": "CANCELLED", "start_time": "", "queue": ""}, {"run_s": None, "wait_s": None}),
    ("derived-time", {"end_time": ""}, {"run_s": 90}),
    ("derived-time", {"start_time": ""}, {"wait_s": 10, "run_s": 90}),
    ("derived-time", {"submit_time": ""}, {"wait_s": 10}),
    ("negative-time", {"end_time": "2023-02-28 00:00:00+08:00"}, {"run_s": None, "wait_s": 10}),
    ("negative-time", {"submit_time": "2023-03-02 00:00:00+08:00"}, {"run_s": 90, "wait_s": None}),
    ("no-submit", {"submit_time": "", "queue": ""}, {"submit": None, "wait_s": None, "run_s": 90}),
    ("no-gpu-count", {"gpu_num": ""}, {"gpu_num": None, "gpu_time_s": None}),
    ("cpu-job", {"gpu_num": "0", "gpu_time": "", "type": "CPU"}, {"gpu_num": 0, "gpu_time_s": None}),
    ("duration-rule", {"duration": "100", "gpu_time": "800.0"}, {"run_s": 90, "released_duration_s": 100}),
    ("queue-rule", {"queue": "11"}, {"wait_s": 10, "released_queue_s": 11}),
    ("gpu-time-rule", {"gpu_time": "721.0"} | {"gpu_num": "1"}, {"gpu_time_s": 90}),
]


@pytest.mark.parametrize(
    ("rule", "changed", "expected"), CASES, ids=[f"{r}-{n}" for n, (r, _, _) in enumerate(CASES)]
)
def test_an_odd_row_is_found_where_it_stands_and_treated_as_told(tmp_path, rule, changed, expected):
    record, table = read(tmp_path, log(line(job_id="7"), line(**changed)), bad_cell_share=1.0)
    lines = {found.rule: found for found in record.audit}
    assert rule in lines, f"found only {sorted(lines)}"
    assert lines[rule].rows == 1
    assert lines[rule].treatment.startswith(JOB_RULES[rule].meaning)
    finding = next(found for found in record.findings if found.rule == rule)
    if finding.examples:
        assert finding.examples[0].row == 2
        assert finding.examples[0].byte_offset == len(SEREN) + 1 + len(line(job_id="7")) + 1
    row = table[table["row"] == 2].iloc[0]
    for column, value in expected.items():
        assert same(row[column], value), f"{column} is {row[column]!r}, not {value!r}"


def test_a_good_log_has_no_finding_and_passes(tmp_path):
    record, _ = read(tmp_path, log(line(), line(job_id="2")))
    assert record.findings == ()
    assert record.verdict == "passed"


def test_rows_with_the_wrong_number_of_cells_are_left_out_and_counted(tmp_path):
    record, table = read(tmp_path, log(line(), "2,u1,oops", line(job_id="3"), line(job_id="4") + ",more"))
    assert table["job_id"].tolist() == ["1", "3"]
    assert table["row"].tolist() == [1, 3]
    assert record.rows == 4
    found = record.findings[0]
    assert (found.rule, found.count, found.examples[0].row, found.examples[0].value) == (
        "ragged-row",
        2,
        2,
        "2,u1,oops",
    )
    assert found.examples[1].row == 4


def test_a_row_that_repeats_a_job_is_left_out_but_a_requeued_job_is_kept(tmp_path):
    again = line(start_time="2023-03-01 00:00:20+08:00", queue="20", duration="80", gpu_time="640.0")
    record, table = read(tmp_path, log(line(), line(job_id="2"), line(), again, line()))
    assert table["row"].tolist() == [1, 2, 4]
    rules = {found.rule: found for found in record.findings}
    assert rules["duplicate-job"].count == 2
    assert [example.row for example in rules["duplicate-job"].examples] == [3, 5]
    assert rules["repeated-id"].examples[0].row == 4
    assert (record.rows, record.jobs, record.left_out) == (5, 3, 2)


def test_each_row_is_in_the_table_or_in_a_line_of_the_audit(tmp_path):
    record, table = read(tmp_path, log(line(), line(), "ragged", line(job_id="2", state="?")))
    left_out = {found.rule for found in record.audit if found.left_out}
    assert left_out <= LEFT_OUT
    assert record.rows == 4
    assert len(table) == record.rows - record.left_out


def test_blank_lines_are_no_rows_but_do_not_shift_the_others(tmp_path):
    record, table = read(tmp_path, log("", line(), "", "", line(job_id="2"), ""))
    assert table["row"].tolist() == [2, 5]
    assert record.jobs == record.rows == 2


def test_a_log_with_too_many_unreadable_cells_fails(tmp_path):
    record, _ = read(tmp_path, log(*(line(job_id=str(n), gpu_num="?") for n in range(20))))
    assert record.verdict == "failed"
    assert {found.rule for found in record.findings if found.severity == "error"} == {"too-many-bad-cells"}


def test_missing_and_unknown_columns_are_named(tmp_path):
    header = SEREN.replace("user,", "").replace(",gpu_time", ",colour")
    row = line().replace("u1,", "", 1)
    record, table = read(tmp_path, log(row, header=header), bad_cell_share=1.0)
    said = {found.rule: found.message for found in record.findings}
    assert said["missing-column"].endswith(": user, gpu_time")
    assert said["unknown-column"].endswith(": colour")
    assert table["user"].isna().all()


def test_a_log_without_rows_is_valid_and_says_no_data(tmp_path):
    record, table = read(tmp_path, log())
    assert record.verdict == "no data"
    assert len(table) == 0


def test_bytes_that_are_no_text_are_marked_and_lose_no_row(tmp_path):
    text = log(line(), line(job_id="2", user="caf\xe9")).replace("é".encode(), b"\xe9")
    record, table = read(tmp_path, text)
    assert len(table) == 2
    assert table["user"].tolist() == ["u1", "caf�"]
    assert record.findings[0].rule == "not-text"


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path):
    plain = log(line(), line(job_id="2"))
    _, expected = read(tmp_path, plain)
    _, found = read(tmp_path, b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    assert found.equals(expected)


@pytest.mark.parametrize("pack", ["gz", "zst"])
def test_packed_logs_are_read_as_they_are(tmp_path, pack):
    import gzip

    import zstandard

    plain = log(*(line(job_id=str(n)) for n in range(50)))
    _, expected = read(tmp_path, plain)
    packed = gzip.compress(plain) if pack == "gz" else zstandard.compress(plain)
    _, found = read(tmp_path, packed, name=f"log.csv.{pack}")
    assert found.equals(expected)


def test_local_times_that_occur_twice_or_never_are_found(tmp_path):
    header = "job_id,user,vc,gpu_num,state,submit_time,start_time,end_time,duration,queue"
    rows = [
        "a,u,v,1,Pass,2017-11-05 00:30:00,2017-11-05 01:30:00,2017-11-05 03:00:00,9000,3600",
        "b,u,v,1,Pass,2017-03-12 01:00:00,2017-03-12 02:30:00,2017-03-12 04:00:00,5400,1800",
    ]
    record, table = read(tmp_path, log(*rows, header=header))
    assert record.format == "philly"
    found = next(found for found in record.findings if found.rule == "unclear-time")
    assert found.count == 2
    # 01:30 is taken as the first one, in summer time: 2.5 h before 03:00 in winter time.
    assert table["run_s"].iloc[0] == 2.5 * 3600


def test_times_without_a_zone_are_asked_for_where_nobody_knows_it(tmp_path):
    from schemas.errors import NotAJobLog

    times = b"2024-05-01T00:00:00|2024-05-01T00:00:00|2024-05-01T01:00:00"
    text = b"JobID|State|Submit|Start|End\n1|COMPLETED|" + times + b"\n"
    with pytest.raises(NotAJobLog, match=r"have no zone.*--timezone") as caught:
        read(tmp_path, text)
    assert caught.value.rule == "no-zone"
    assert (caught.value.place.row, caught.value.place.column) == (1, "Submit")
    assert caught.value.place.value == "2024-05-01T00:00:00"
    _, table = read(tmp_path, text, timezone="+02:00")
    assert str(table["submit"].iloc[0]) == "2024-04-30 22:00:00+00:00"


def test_epoch_seconds_need_no_zone(tmp_path):
    text = b"JobID|State|Submit|Start|End\n1|COMPLETED|1714521600|1714521610|1714521700\n"
    _, table = read(tmp_path, text)
    assert table[["wait_s", "run_s"]].iloc[0].tolist() == [10.0, 90.0]
