"""Logs of every kind become the same table, equal to a plain reading of the jobs they were made of."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.jobs import Jobs
from tests.tasks.joblog.logs import KINDS, ZONES, Job, at, job_lists, read, same

OUTCOME = {"COMPLETED": "COMPLETED", "CANCELLED": "CANCELLED"}


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=15)
@given(data=st.data())
def test_every_kind_of_log_gives_the_jobs_that_are_in_it(kind, data):
    write, states = KINDS[kind]
    jobs = data.draw(job_lists(states))
    with tempfile.TemporaryDirectory() as folder:
        record, table = read(Path(folder), write(jobs), format=kind, timezone=ZONES.get(kind))
    assert record.format == kind
    assert len(table) == record.jobs == len(jobs)
    assert record.rows == record.jobs + record.left_out
    for row, job in zip(table.to_dict("records"), jobs, strict=True):
        for column, expected in plain(job, kind).items():
            assert same(row[column], expected), f"{column} is {row[column]!r}, not {expected!r}, of {job}"


def plain(job: Job, kind: str) -> dict[str, object]:
    """What the table must hold of a job, field by field."""
    open_ = job.run is None
    gpu_time = None if open_ or not job.gpus else float(job.run * job.gpus)
    return {
        "user": job.user,
        "vc": None if kind in ("seren", "kalos") else job.vc,
        "type": job.kind if kind in ("seren", "kalos") else None,
        "state": None if open_ else OUTCOME.get(job.state, "FAILED"),
        "submit": at(job.submit),
        "start": at(job.start),
        "end": at(job.end),
        "run_s": None if open_ else float(job.run),
        "wait_s": None if job.wait is None else float(job.wait),
        "gpu_num": float(job.gpus),
        "gpu_time_s": gpu_time,
    }


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"philly-json"}))
@settings(max_examples=15)
@given(data=st.data())
def test_rows_are_the_same_wherever_the_text_is_cut(kind, data):
    from tasks.joblog.head import read_head
    from tasks.joblog.parts import read_parts
    from tasks.storage.source import open_reader, stat_file

    write, states = KINDS[kind]
    text = write(data.draw(job_lists(states)))
    if data.draw(st.booleans()):
        text = text.replace(b"\n", b"\r\n")
    if data.draw(st.booleans()):
        text = text[:-1]
    size = data.draw(st.integers(1, 300))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(text)
        ref = stat_file(str(path))
        columns = read_head(ref, kind).columns
        found = []
        for part_bytes in (size, 1 << 20):
            rows = []
            with open_reader(ref) as reader:
                for part in read_parts(reader, columns, part_bytes=part_bytes):
                    cells = part.table.to_pylist()
                    rows += [
                        (int(number), part.place(int(number)), row)
                        for number, row in zip(part.numbers, cells, strict=True)
                    ]
            found.append(rows)
    assert found[0] == found[1]
    for _, place, row in found[0]:
        line = text[place:].splitlines()[0].decode()
        assert all(value in line for value in row.values() if value), "the place is not that of the row"


def test_the_table_holds_its_contract_and_tells_its_units(tmp_path):
    import pyarrow.parquet

    write, _ = KINDS["seren"]
    job = Job(1, "u", "v", "Eval", "COMPLETED", 5, 3, 10, 1)
    _, table = read(tmp_path, write([job]))
    assert list(table) == list(Jobs.to_schema().columns)
    schema = pyarrow.parquet.read_schema(tmp_path / "out.parquet")
    assert schema.field("run_s").metadata[b"unit"] == b"s"
    assert schema.metadata == {b"cluster": b"c", b"format": b"seren", b"timezone": b"+08:00"}


def test_kalos_run_time_does_not_hold_the_queue_as_its_duration_does(tmp_path):
    write, _ = KINDS["kalos"]
    _, table = read(tmp_path, write([Job(1, "u", "v", "Other", "FAILED", 0, 10, 8, 64)]))
    row = table.iloc[0]
    assert (row["released_duration_s"], row["run_s"], row["wait_s"]) == (18, 8, 10)
    assert (row["released_gpu_time_s"], row["gpu_time_s"]) == (18 * 64, 8 * 64)


def test_pai_percents_become_gpus_and_its_seconds_times(tmp_path):
    text = (
        b"job_name,user,status,start_time,end_time,plan_cpu,plan_gpu,wait_time,duration\n"
        b"a,u,Terminated,1000.5,1480.25,600,50,9.5,479.75\n"
        b"b,u,Failed,2000,2001,600,,0,1\n"
        b"c,u,Running,3000,,600,200,1,\n"
    )
    record, table = read(tmp_path, text)
    assert record.format == "pai"
    assert table["gpu_num"].tolist()[::2] == [0.5, 2.0]
    assert table["cpu_num"].tolist() == [6.0, 6.0, 6.0]
    assert table["run_s"].tolist()[:2] == [479.75, 1.0]
    assert table["wait_s"].tolist() == [9.5, 0.0, 1.0]
    assert table["state"].isna().tolist() == [True, False, True]
    rules = {line.rule: line.rows for line in record.audit}
    assert rules["untold-outcome"] == 1
    assert rules["not-ended"] == 1
    assert rules["no-gpu-count"] == 1
