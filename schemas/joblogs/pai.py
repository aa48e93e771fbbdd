"""The job log of Alibaba's PAI (Weng et al., NSDI '22), as the CSV that AcmeTrace compares with."""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from schemas.joblogs.contract import JobLogFormat, Time, cell, time
from schemas.jobs import FAILED


class PaiLog(pa.DataFrameModel):
    """A row a job. Times are seconds on a clock of its own; resources are percent of a core or GPU."""

    job_id: Series[str] = cell("name of the job", becomes="job_id")
    job_name: Series[str] = cell("name of the job", becomes="job_id")
    user: Series[str] = cell("hash of the user", becomes="user")
    group: Series[str] = cell("hash of the group of similar jobs", becomes="vc")
    task_name: Series[str] = cell("role of the task: worker, ps, …", becomes="type")
    inst_num: Series[float] = cell("instances", unit="instances", low=0)
    plan_cpu: Series[float] = cell("requested CPU, 100 is a core", becomes="cpu_num", low=0, divide=100)
    plan_gpu: Series[float] = cell("requested GPU, 100 is a GPU", becomes="gpu_num", low=0, divide=100)
    plan_mem: Series[float] = cell("requested memory", unit="GB", low=0)
    status: Series[str] = cell("Terminated, Failed, Running, …", becomes="raw_state")
    submit_time: Series[Time] = time("when it was submitted", becomes="submit")
    start_time: Series[Time] = time("when it began to run", becomes="start")
    end_time: Series[Time] = time("when it ended", becomes="end")
    duration: Series[float] = cell("end − start", becomes="released_duration_s", unit="s")
    wait_time: Series[float] = cell("start − submit", becomes="released_queue_s", unit="s")


PAI = JobLogFormat(
    name="pai",
    title="the PAI trace as a CSV, as AcmeTrace uses it",
    model=PaiLog,
    needed=frozenset({"plan_gpu", "status"}),
    # A job that was cancelled is Terminated, too: only the failed ones are known.
    states={"Failed": FAILED, "Terminated": None, "Interrupted": None},
    unfinished=frozenset({"Running", "Waiting"}),
    timezone="+00:00",
    clock="seconds",
    cluster="pai",
    marks=frozenset({"plan_gpu", "plan_cpu", "wait_time"}),
)
