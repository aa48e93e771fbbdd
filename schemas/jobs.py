"""The canonical job table: one row a job, whatever scheduler wrote the log.

`Jobs` names the columns, their units and meanings. What the logs themselves look
like stands in `schemas.joblogs`, what may be wrong with them in
`schemas.findings`, what became of one in `schemas.job_records`; how a log becomes the
table is in `tasks.joblog`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import pandas as pd
import pandera.pandas as pa
from pandera.engines.pandas_engine import DateTime
from pandera.typing import Series

State = Literal["COMPLETED", "CANCELLED", "FAILED"]
COMPLETED, CANCELLED, FAILED = STATES = ("COMPLETED", "CANCELLED", "FAILED")
SECONDS: Final = "s"


def _text(description: str, *, nullable: bool = True) -> Any:
    return pa.Field(nullable=nullable, description=description)


def _number(description: str, unit: str, *, low: float | None = 0) -> Any:
    return pa.Field(nullable=True, ge=low, description=description, metadata={"unit": unit})


def _time(description: str) -> Any:
    return pa.Field(nullable=True, dtype_kwargs={"unit": "ms", "tz": "UTC"}, description=description)


class Jobs(pa.DataFrameModel):
    """One row a job; `jobs/table/<cluster>.parquet`. Null where the log does not tell."""

    cluster: Series[str] = _text("name of the cluster", nullable=False)
    job_id: Series[str] = _text("the scheduler's name of the job", nullable=False)
    row: Series[int] = pa.Field(ge=1, description="row of the log, from 1 below its header")
    user: Series[str] = _text("who submitted it")
    vc: Series[str] = _text("virtual cluster, partition or queue")
    type: Series[str] = _text("kind of work, as the log says: Pretrain, Eval, …")
    state: Series[str] = pa.Field(
        nullable=True, isin=list(STATES), description="how it ended; null where it has not, or nobody knows"
    )
    raw_state: Series[str] = _text("the state in the scheduler's own word")
    submit: Series[DateTime] = _time("when it was submitted, UTC")
    start: Series[DateTime] = _time("when it began to run, UTC")
    end: Series[DateTime] = _time("when it ended, UTC")
    run_s: Series[float] = _number("end − start", SECONDS)
    wait_s: Series[float] = _number("start − submit", SECONDS)
    gpu_num: Series[float] = _number("GPUs it held; may be a fraction", "GPUs")
    cpu_num: Series[float] = _number("CPUs it held", "CPUs")
    node_num: Series[pd.Int64Dtype] = _number("nodes it held", "nodes")
    gpu_time_s: Series[float] = _number("run_s × gpu_num; null for jobs without GPU", "GPU·s")
    released_duration_s: Series[float] = _number("the log's own duration, by its own rule", SECONDS, low=None)
    released_queue_s: Series[float] = _number("the log's own queueing delay", SECONDS, low=None)
    released_gpu_time_s: Series[float] = _number("the log's own GPU time", "GPU·s", low=None)

    class Config:
        strict = True
        ordered = True


class Quota(pa.DataFrameModel):
    """GPUs of each virtual cluster, day by day; `jobs/quota/<cluster>.parquet`."""

    cluster: Series[str] = _text("name of the cluster", nullable=False)
    date: Series[str] = pa.Field(str_matches=r"^\d{4}-\d{2}-\d{2}$", description="day, local time")
    vc: Series[str] = _text("virtual cluster", nullable=False)
    gpus: Series[int] = pa.Field(ge=0, description="GPUs it may use", metadata={"unit": "GPUs"})

    class Config:
        strict = True
        ordered = True
