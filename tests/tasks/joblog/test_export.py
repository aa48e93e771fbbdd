"""Jobs leave in four forms, and what is read back of each is what was in the table."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.joblog.forms import export_csv, export_helios, export_parquet
from tasks.joblog.schema import load_jobs
from tasks.joblog.swf import export_swf
from tests.tasks.joblog.logs import KINDS, Job, job_lists, read

SHANGHAI = "Asia/Shanghai"
HELIOS, HELIOS_STATES = KINDS["helios"]


def table_of(folder: Path, jobs: list[Job]) -> str:
    read(folder, HELIOS(jobs), format="helios")
    return f"{folder}/out.parquet"


@settings(max_examples=12)
@given(jobs=job_lists(HELIOS_STATES))
def test_helios_form_read_back_gives_the_same_table(jobs):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = load_jobs(table_of(folder, jobs))
        export_helios(f"{folder}/out.parquet", name, "again.csv", SHANGHAI)
        _, after = read(folder, (folder / "again.csv").read_bytes(), format="helios")
    pd.testing.assert_frame_equal(after, before)


@settings(max_examples=12)
@given(jobs=job_lists(HELIOS_STATES))
def test_csv_read_by_pandas_gives_the_same_table(jobs):
    with tempfile.TemporaryDirectory() as name:
        table = table_of(Path(name), jobs)
        before = load_jobs(table)
        export_csv(table, name, "jobs.csv")
        after = pd.read_csv(f"{name}/jobs.csv", dtype={"job_id": str}, keep_default_na=False, na_values=[""])
    for column in ("submit", "start", "end"):
        after[column] = pd.to_datetime(after[column], utc=True, format="%Y-%m-%d %H:%M:%S%z")
        assert (after[column].isna() == before[column].isna()).all()
        assert (after[column].dropna() == before[column].dropna()).all()
    for column in before.columns.difference(["submit", "start", "end"]):
        left = after[column].astype(object).where(after[column].notna(), None).tolist()
        right = before[column].astype(object).where(before[column].notna(), None).tolist()
        assert left == right, column


@settings(max_examples=8)
@given(jobs=job_lists(HELIOS_STATES))
def test_parquet_is_the_table_itself(jobs):
    with tempfile.TemporaryDirectory() as name:
        table = table_of(Path(name), jobs)
        export_parquet(table, name, "copy.parquet")
        before, after = (pyarrow.parquet.read_table(path) for path in (table, f"{name}/copy.parquet"))
    assert after.equals(before, check_metadata=True)


@settings(max_examples=15)
@given(jobs=job_lists(HELIOS_STATES), processors=st.sampled_from(["gpus", "cpus"]))
def test_swf_holds_every_job_in_order_of_submission(jobs, processors):
    wanted = [job for job in jobs if processors == "cpus" or job.gpus > 0]
    with tempfile.TemporaryDirectory() as name:
        table = table_of(Path(name), jobs)
        if not wanted:
            with pytest.raises(UsageError, match="no job"):
                export_swf(table, name, "jobs.swf", cluster="c", processors=processors)
            return
        report = export_swf(table, name, "jobs.swf", cluster="c", processors=processors, timezone=SHANGHAI)
        header, lines = swf(Path(name) / "jobs.swf")
    wanted.sort(key=lambda job: (job.submit, str(job.number)))
    assert report.jobs == len(lines) == len(wanted)
    assert report.without_gpus == len(jobs) - len(wanted)
    first = wanted[0].submit
    assert int(header["UnixStartTime"][0]) == 1_588_291_200 + first
    users = dict(entry.split(" ", 1) for entry in header.get("Note: User", []))
    queues = dict(entry.split(" ", 1) for entry in header.get("Queue", []))
    for number, (fields, job) in enumerate(zip(lines, wanted, strict=True), 1):
        assert len(fields) == 18
        assert fields[:4] == [number, job.submit - first, blank(job.wait), blank(job.run)]
        assert fields[4] == fields[7] == (job.gpus if processors == "gpus" else 6)
        status = {"COMPLETED": 1, "CANCELLED": 5}.get(job.state, 0) if job.run is not None else -1
        assert fields[10] == status
        assert users.get(str(fields[11])) == job.user
        assert queues[str(fields[14])] == job.vc


def blank(value: int | None) -> int:
    return -1 if value is None else value


def swf(path: Path) -> tuple[dict[str, list[str]], list[list[int]]]:
    """An SWF file, read as its definition says: comments with names, then numbers."""
    header: dict[str, list[str]] = {}
    lines = []
    for line in path.read_text().splitlines():
        if line.startswith(";"):
            name, _, value = line[1:].strip().partition(": ")
            if name == "Note" and ": " not in value and value.split(" ")[0] in ("User:", "Executable:"):
                name, value = f"Note: {value.split(':')[0]}", value.split(": ", 1)[-1]
            for kind in ("User", "Executable"):
                if name == "Note" and value.startswith(f"{kind}: "):
                    name, value = f"Note: {kind}", value.removeprefix(f"{kind}: ")
            header.setdefault(name, []).append(value)
        else:
            lines.append([int(field) for field in line.split()])
    return header, lines


def test_fractions_of_a_gpu_are_rounded_up_in_swf(tmp_path):
    header = b"job_name,status,start_time,plan_gpu,wait_time,duration\n"
    text = header + b"a,Failed,1000,50,5,10.4\nb,Failed,900,25,5,3.5\n"
    read(tmp_path, text)
    export_swf(f"{tmp_path}/out.parquet", str(tmp_path), "jobs.swf", cluster="pai")
    _, lines = swf(tmp_path / "jobs.swf")
    assert [fields[1:5] for fields in lines] == [[0, 5, 4, 1], [100, 5, 10, 1]]


def test_cells_with_commas_and_quotes_survive_csv(tmp_path):
    text = b'job_id,user,vc,gpu_num,state,submit_time,duration\n1,"a,b",v,1,COMPLETED,2020-05-01 00:00:00,9\n'
    read(tmp_path, text)
    export_csv(f"{tmp_path}/out.parquet", str(tmp_path), "jobs.csv")
    assert pd.read_csv(tmp_path / "jobs.csv")["user"].tolist() == ["a,b"]


def test_milliseconds_are_written_where_there_are_any(tmp_path):
    text = b"job_name,status,start_time,plan_gpu,wait_time,duration\na,Failed,1000.25,50,5,10\n"
    read(tmp_path, text)
    export_csv(f"{tmp_path}/out.parquet", str(tmp_path), "jobs.csv")
    written = pd.read_csv(tmp_path / "jobs.csv")["start"]
    assert written.tolist() == ["1970-01-01 00:16:40.250+00:00"]
