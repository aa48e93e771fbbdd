"""What `sacct --parsable2` prints: the job log of any Slurm cluster."""

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

# The command that prints all that is of use, for docs and errors; -X leaves out the steps of jobs.
SACCT = (
    "sacct --allusers --allocations --parsable2 --starttime 2024-05-01 --endtime 2024-06-01 "
    "--format JobID,User,Partition,State,Submit,Start,End,ElapsedRaw,NNodes,NCPUS,AllocTRES,ReqTRES"
)


class SacctLog(pa.DataFrameModel):
    """A row a job, or a step of one, with the columns that were asked for with --format.

    Times are those of the host's zone and name none, unless SLURM_TIME_FORMAT says
    otherwise. GPUs are read from AllocTRES, and from ReqTRES before a job started.
    """

    JobID: Series[str] = cell("number of the job; with a dot that of a step", becomes="job_id")
    JobIDRaw: Series[str] = cell("the same without the index of an array", becomes="job_id")
    User: Series[str] = cell("user name", becomes="user")
    Partition: Series[str] = cell("partition", becomes="vc")
    JobName: Series[str] = cell("name of the job")
    Account: Series[str] = cell("account")
    QOS: Series[str] = cell("quality of service")
    State: Series[str] = cell("state; a cancelled job also names who did it", becomes="raw_state")
    Submit: Series[Time] = time("when it was submitted", becomes="submit")
    Eligible: Series[Time] = time("when it might have begun", becomes="")
    Start: Series[Time] = time("when it began to run; Unknown or None if it has not", becomes="start")
    End: Series[Time] = time("when it ended; Unknown if it has not", becomes="end")
    ElapsedRaw: Series[float] = cell(
        "end − start, without suspension", becomes="released_duration_s", unit="s"
    )
    Elapsed: Series[str] = cell("the same as [days-]hours:minutes:seconds")
    NNodes: Series[float] = cell("nodes", becomes="node_num", unit="nodes", low=0)
    AllocNodes: Series[float] = cell("nodes", becomes="node_num", unit="nodes", low=0)
    NCPUS: Series[float] = cell("CPUs", becomes="cpu_num", unit="CPUs", low=0)
    AllocCPUS: Series[float] = cell("CPUs", becomes="cpu_num", unit="CPUs", low=0)
    AllocTRES: Series[str] = cell("resources it got: cpu=64,gres/gpu=8,…")
    ReqTRES: Series[str] = cell("resources it asked for")
    AllocGRES: Series[str] = cell("GPUs it got, before Slurm 21: gpu:8")
    ReqGRES: Series[str] = cell("GPUs it asked for, before Slurm 21")
    gpus: Series[float] = cell("GPUs, as read from the resources", becomes="gpu_num", unit="GPUs", low=0)


SLURM = JobLogFormat(
    name="sacct",
    title="the output of sacct --parsable2",
    model=SacctLog,
    needed=frozenset({"JobID", "State", "Submit", "Start", "End"}),
    states=SLURM_STATES,
    unfinished=SLURM_UNFINISHED,
    cluster="slurm",
    marks=frozenset({"JobID", "JobIDRaw", "AllocTRES", "ReqTRES", "ElapsedRaw", "NNodes", "Partition"}),
)
