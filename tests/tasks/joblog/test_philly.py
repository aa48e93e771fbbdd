"""Philly's original JSON, with the odd forms it has."""

from __future__ import annotations

import json

import pytest

from tasks.joblog import philly
from tasks.joblog.audit import Audit
from tests.tasks.joblog.logs import read

SERVER = {"ip": "m1", "gpus": ["gpu0", "gpu1"]}


def attempt(start: str | None, end: str | None, servers: list[dict[str, object]]) -> dict[str, object]:
    return {"start_time": start, "end_time": end, "detail": servers}


def job(number: int, attempts: list[dict[str, object]], status: str = "Pass") -> dict[str, object]:
    return {
        "status": status,
        "vc": "ee9e8c",
        "jobid": f"application_{number}",
        "attempts": attempts,
        "submitted_time": "2017-10-07 01:00:00",
        "user": "ce2f4c",
    }


def test_a_retried_job_runs_from_its_first_start_to_its_last_end(tmp_path):
    first = attempt("2017-10-07 01:10:00", "2017-10-07 01:20:00", [SERVER] * 4)
    last = attempt("2017-10-07 02:00:00", "2017-10-07 03:10:00", [SERVER])
    record, table = read(tmp_path, json.dumps([job(1, [first, last])]).encode(), name="cluster_job_log")
    row = table.iloc[0]
    assert (row["run_s"], row["wait_s"]) == (7200.0, 600.0)
    assert (row["gpu_num"], row["node_num"]) == (8.0, 4)
    assert {line.rule: line.rows for line in record.audit} == {"retried-job": 1}


def test_jobs_without_attempts_or_times_are_kept_and_told(tmp_path):
    jobs = [
        job(1, [], "Killed"),
        job(2, [attempt(None, "None", [SERVER])], "Failed"),
        job(3, [attempt("2017-10-07 01:10:00", None, [SERVER])]),
    ]
    record, table = read(tmp_path, json.dumps(jobs).encode())
    assert table["run_s"].isna().all()
    assert table["state"].tolist() == ["CANCELLED", "FAILED", "COMPLETED"]
    rules = {line.rule: line.rows for line in record.audit}
    assert rules["no-gpu-count"] == 1
    assert rules["no-end"] == 3


@pytest.mark.parametrize("form", ["list", "lines", "pretty"])
def test_a_list_and_one_record_a_line_are_read_alike(tmp_path, form):
    jobs = [job(n, [attempt("2017-10-07 01:10:00", "2017-10-07 01:20:00", [SERVER])]) for n in range(5)]
    text = {
        "list": json.dumps(jobs),
        "lines": "\n".join(json.dumps(one) for one in jobs),
        "pretty": json.dumps(jobs, indent=4),
    }[form]
    _, table = read(tmp_path, text.encode())
    assert table["job_id"].tolist() == [f"application_{n}" for n in range(5)]
    assert table["run_s"].tolist() == [600.0] * 5


def test_a_log_that_breaks_off_keeps_the_whole_jobs_and_tells_of_the_rest(tmp_path):
    jobs = [job(n, [attempt("2017-10-07 01:10:00", "2017-10-07 01:20:00", [SERVER])]) for n in range(3)]
    record, table = read(tmp_path, json.dumps(jobs).encode()[:-80])
    assert len(table) == 2
    found = next(found for found in record.findings if found.rule == "ragged-row")
    assert found.examples[0].row == 3
    assert record.rows == 3


def test_json_that_never_ends_is_told_and_not_held_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(philly, "LONGEST_RECORD", 1 << 16)
    monkeypatch.setattr(philly, "_PIECE", 1 << 12)
    good = json.dumps([job(1, [])])[:-1]
    endless = good + ', {"jobid": "' + "x" * (1 << 20)
    record, table = read(tmp_path, endless.encode())
    assert len(table) == 1
    assert next(found for found in record.findings if found.rule == "ragged-row").examples[0].row == 2


def test_json_nested_beyond_reason_is_told(tmp_path):
    record, table = read(tmp_path, (json.dumps([job(1, [])])[:-1] + ', {"a":' * 200_000).encode())
    assert len(table) == 1
    assert any(found.rule == "ragged-row" for found in record.findings)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_into(self, offset: int, buffer: memoryview) -> int:
        piece = self._data[offset : offset + len(buffer)]
        buffer[: len(piece)] = piece
        return len(piece)


def test_records_are_the_same_wherever_the_text_is_cut(monkeypatch):
    text = json.dumps(
        [job(n, [attempt(None, "ünd", [SERVER])]) for n in range(4)], ensure_ascii=False
    ).encode()
    found = []
    for size in (1, 7, 64, 1 << 20):
        monkeypatch.setattr(philly, "_PIECE", size)
        parts = list(philly.read_json_parts(_Reader(text), Audit("f")))
        found.append([row for part in parts for row in part.table.to_pylist()])
    assert found[0] == found[1] == found[2] == found[3]
    assert len(found[0]) == 4
