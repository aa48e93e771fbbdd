"""The job logs of Helios: Venus, Earth, Saturn and Uranus, all Slurm (Hu et al., SC '21)."""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from schemas.joblogs.contract import (
    SLURM_STATES,
    SLURM_UNFINISHED,
    JobLogFormat,
    Time,
    cell,
    time,
)

HELIOS_CLUSTERS = ("Venus", "Earth", "Saturn", "Uranus")


class HeliosLog(pa.DataFrameModel):
    """`cluster_log.csv`: one row a job. Times are local (Asia/Shanghai) and name no zone."""

    job_id: Series[str] = cell("number of the job, in order of submission", becomes="job_id")
    cluster: Series[str] = cell("name of the cluster, where logs were put together", becomes="cluster")
    user: Series[str] = cell("hash of the user", becomes="user")
    vc: Series[str] = cell("hash of the virtual cluster", becomes="vc")
    gpu_num: Series[float] = cell("GPUs, 0 for a CPU job", becomes="gpu_num", unit="GPUs", low=0)
    cpu_num: Series[float] = cell("CPUs", becomes="cpu_num", unit="CPUs", low=0)
    node_num: Series[float] = cell("nodes", becomes="node_num", unit="nodes", low=0)
    state: Series[str] = cell("final state", becomes="raw_state")
    submit_time: Series[Time] = time("when it was submitted", becomes="submit")
    start_time: Series[Time] = time("when it began to run", becomes="start")
    end_time: Series[Time] = time("when it ended", becomes="end")
    duration: Series[float] = cell("end − start", becomes="released_duration_s", unit="s")
    queue: Series[float] = cell("start − submit", becomes="released_queue_s", unit="s")


HELIOS = JobLogFormat(
    name="helios",
    title="HeliosData's cluster_log.csv (Slurm)",
    model=HeliosLog,
    needed=frozenset({"vc", "gpu_num", "state", "submit_time", "duration"}),
    states=SLURM_STATES,
    unfinished=SLURM_UNFINISHED,
    timezone="Asia/Shanghai",
    cluster="helios",
)
