"""The canonical job table: one row a job, whatever scheduler wrote the log.

`Jobs` names the columns, their units and meanings. What the logs themselves look
like stands in `schemas.joblogs`, what may be wrong with them in
`schemas.findings`, what became of one in `schemas.job_records`; how a log becomes the
table is in `tasks.joblog`.
"""

from __future__ import annotations

from typing import Final, Literal

import pandas as pd
import pandera.pandas as pa
from pandera.engines.pandas_engine import DateTime
from pandera.typing import Series

from schemas.columns import Table, column, instant, maybe

State = Literal["COMPLETED", "CANCELLED", "FAILED"]
COMPLETED, CANCELLED, FAILED = STATES = ("COMPLETED", "CANCELLED", "FAILED")
SECONDS: Final = "s"


class Jobs(Table):
    """One row a job; `jobs/table/<cluster>.parquet`. Null where the log does not tell."""

    cluster: Series[str] = column("name of the cluster")
    job_id: Series[str] = column("the scheduler's name of the job")
    row: Series[int] = pa.Field(ge=1, description="row of the log, from 1 below its header")
    user: Series[str] = maybe("who submitted it", low=None)
    vc: Series[str] = maybe("virtual cluster, partition or queue", low=None)
    type: Series[str] = maybe("kind of work, as the log says: Pretrain, Eval, …", low=None)
    state: Series[str] = pa.Field(
        nullable=True, isin=list(STATES), description="how it ended; null where it has not, or nobody knows"
    )
    raw_state: Series[str] = maybe("the state in the scheduler's own word", low=None)
    submit: Series[DateTime] = instant("when it was submitted, UTC", nullable=True)
    start: Series[DateTime] = instant("when it began to run, UTC", nullable=True)
    end: Series[DateTime] = instant("when it ended, UTC", nullable=True)
    run_s: Series[float] = maybe("end − start", SECONDS)
    wait_s: Series[float] = maybe("start − submit", SECONDS)
    gpu_num: Series[float] = maybe("GPUs it held; may be a fraction", "GPUs")
    cpu_num: Series[float] = maybe("CPUs it held", "CPUs")
    node_num: Series[pd.Int64Dtype] = maybe("nodes it held", "nodes")
    gpu_time_s: Series[float] = maybe("run_s × gpu_num; null for jobs without GPU", "GPU·s")
    released_duration_s: Series[float] = maybe("the log's own duration, by its own rule", SECONDS, low=None)
    released_queue_s: Series[float] = maybe("the log's own queueing delay", SECONDS, low=None)
    released_gpu_time_s: Series[float] = maybe("the log's own GPU time", "GPU·s", low=None)


class Quota(Table):
    """GPUs of each virtual cluster, day by day; `jobs/quota.parquet`."""

    cluster: Series[str] = column("name of the cluster")
    date: Series[str] = pa.Field(str_matches=r"^\d{4}-\d{2}-\d{2}$", description="day, local time")
    vc: Series[str] = column("virtual cluster")
    gpus: Series[int] = pa.Field(ge=0, description="GPUs it may use", metadata={"unit": "GPUs"})
