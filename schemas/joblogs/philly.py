"""The job logs of Microsoft's Philly (Jeon et al., ATC '19): the original JSON, and the CSV made of it."""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from schemas.joblogs.contract import JobLogFormat, Time, cell, time
from schemas.jobs import CANCELLED, COMPLETED, FAILED

_STATES = {"Pass": COMPLETED, "Killed": CANCELLED, "Failed": FAILED}


class PhillyLog(pa.DataFrameModel):
    """A row a job; of the JSON, what `tasks.joblog.philly` makes of a record and its attempts.

    Times are Pacific time and name no zone, as those of the other files of the release say they are.
    """

    job_id: Series[str] = cell("name of the job", becomes="job_id")
    user: Series[str] = cell("hash of the user", becomes="user")
    vc: Series[str] = cell("hash of the virtual cluster", becomes="vc")
    gpu_num: Series[float] = cell("GPUs of the first attempt", becomes="gpu_num", unit="GPUs", low=0)
    cpu_num: Series[float] = cell("CPUs", becomes="cpu_num", unit="CPUs", low=0)
    node_num: Series[float] = cell("servers of the first attempt", becomes="node_num", unit="nodes", low=0)
    state: Series[str] = cell("Pass, Killed or Failed", becomes="raw_state")
    submit_time: Series[Time] = time("when it was submitted", becomes="submit")
    start_time: Series[Time] = time("when its first attempt began", becomes="start")
    end_time: Series[Time] = time("when its last attempt ended", becomes="end")
    duration: Series[float] = cell("from start to end", becomes="released_duration_s", unit="s")
    queue: Series[float] = cell("start − submit", becomes="released_queue_s", unit="s")


PHILLY = JobLogFormat(
    name="philly",
    title="the Philly trace as a CSV, as AcmeTrace and Helios use it",
    model=PhillyLog,
    needed=frozenset({"gpu_num", "state", "duration"}),
    states=_STATES,
    timezone="America/Los_Angeles",
    cluster="philly",
)
PHILLY_JSON = JobLogFormat(
    name="philly-json",
    title="Philly's original cluster_job_log (JSON)",
    model=PhillyLog,
    needed=frozenset({"jobid", "attempts"}),
    states=_STATES,
    timezone="America/Los_Angeles",
    cluster="philly",
    marks=frozenset({"jobid", "attempts"}),
)
