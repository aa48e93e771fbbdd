"""The job logs of AcmeTrace: Seren's from Slurm, Kalos' from Kubernetes (Hu et al., NSDI '24)."""

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


class SerenLog(pa.DataFrameModel):
    """`trace_seren.csv`: one row a job. Times are written with +08:00."""

    job_id: Series[str] = cell("number of the job", becomes="job_id")
    user: Series[str] = cell("hash of the user", becomes="user")
    node_num: Series[float] = cell("nodes", becomes="node_num", unit="nodes", low=0)
    gpu_num: Series[float] = cell("GPUs, 0 for a CPU job", becomes="gpu_num", unit="GPUs", low=0)
    cpu_num: Series[float] = cell("CPU threads", becomes="cpu_num", unit="CPUs", low=0)
    type: Series[str] = cell("Eval, Pretrain, SFT, MLLM, Debug, Other or CPU", becomes="type")
    state: Series[str] = cell("final state", becomes="raw_state")
    submit_time: Series[Time] = time("when it was submitted", becomes="submit")
    start_time: Series[Time] = time("when it began to run", becomes="start")
    end_time: Series[Time] = time("when it ended", becomes="end")
    duration: Series[float] = cell("end − start", becomes="released_duration_s", unit="s")
    queue: Series[float] = cell("start − submit", becomes="released_queue_s", unit="s")
    gpu_time: Series[float] = cell("duration × gpu_num", becomes="released_gpu_time_s", unit="GPU·s")


class KalosLog(SerenLog):
    """`trace_kalos.csv`: as Seren's and four columns more. Times are written with +00:00.

    Its duration counts from submission, so it contains the queue, and so does its GPU time.
    """

    mem_per_pod_GB: Series[float] = cell("memory of a pod", unit="GB")  # noqa: N815
    shared_mem_per_pod: Series[float] = cell("shared memory of a pod, where set", unit="GB")
    fail_time: Series[Time] = time("the end of a job that failed, else blank", becomes="")
    stop_time: Series[Time] = time("the end of a job that was cancelled, else blank", becomes="")


SEREN = JobLogFormat(
    name="seren",
    title="AcmeTrace's log of Seren (Slurm)",
    model=SerenLog,
    needed=frozenset({"gpu_num", "type", "state", "submit_time", "start_time", "end_time"}),
    states=SLURM_STATES,
    unfinished=SLURM_UNFINISHED,
    timezone="+08:00",
    cluster="seren",
    marks=frozenset({"type"}),
)
KALOS = JobLogFormat(
    name="kalos",
    title="AcmeTrace's log of Kalos (Kubernetes)",
    model=KalosLog,
    needed=frozenset({"gpu_num", "mem_per_pod_GB", "state", "submit_time"}),
    states={name: SLURM_STATES[name] for name in ("COMPLETED", "CANCELLED", "FAILED")},
    unfinished=frozenset({"RUNNING", "PENDING"}),
    duration_from="submit",
    timezone="+00:00",
    cluster="kalos",
    marks=frozenset({"mem_per_pod_GB", "shared_mem_per_pod", "fail_time", "stop_time"}),
)
