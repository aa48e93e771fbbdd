"""GPU jobs by kind of work: how many, how much GPU time, how large, how long they wait."""

from __future__ import annotations

import numpy as np
import pandas as pd

from schemas.jobs import CANCELLED, COMPLETED
from tasks.characterise.summary import duration_s, queue_s
from tasks.characterise.window import Floats, gpu_jobs, numbers

WHISKER_IQR = 1.5  # matplotlib's and seaborn's


def job_types(jobs: pd.DataFrame) -> pd.DataFrame:
    """Each type of GPU job, in descending number.

    Columns: type; jobs; jobs_pct, of the GPU jobs that have a type; gpu_time_s and gpu_time_pct
    by the log's own GPU time (duration × GPUs where it has none); own_gpu_time_s and
    own_gpu_time_pct by end − start; gpus_low, gpus_q1, gpus_median, gpus_q3, gpus_high, the box
    of gpu_num with whiskers at the last value within 1.5 interquartile ranges; duration_median_s;
    queue_within_1s_pct, the share that waits at most 1 s; queue_p90_s; failed_pct, the share
    that neither was completed nor cancelled.

    Durations and queueing delays are the log's own, as published: Kalos' duration and GPU time
    hold the queue. The published shares of Kalos leave out its 8 SFT jobs.

    Source: Hu et al., NSDI '24, workload types by job count, GPU time, GPUs and queueing delay.
    """
    gpu = gpu_jobs(jobs) & jobs["type"].notna().to_numpy()
    gpus, duration = numbers(jobs["gpu_num"]), duration_s(jobs, "released")
    released = numbers(jobs["released_gpu_time_s"])
    table = pd.DataFrame(
        {
            "type": jobs["type"].astype("str")[gpu].to_numpy(dtype=object),
            "gpus": gpus[gpu],
            "gpu_time": np.where(np.isfinite(released), released, gpus * duration)[gpu],
            "own": numbers(jobs["gpu_time_s"])[gpu],
            "duration": duration[gpu],
            "queue": queue_s(jobs, "released")[gpu],
            "state": jobs["state"].astype("str")[gpu].to_numpy(dtype=object),
        }
    )
    rows = [_row(str(kind), part) for kind, part in table.groupby("type")]
    frame = pd.DataFrame(rows, columns=list(_COLUMNS)).astype({"type": "str", **_COLUMNS})
    for share, amount in (
        ("jobs_pct", "jobs"),
        ("gpu_time_pct", "gpu_time_s"),
        ("own_gpu_time_pct", "own_gpu_time_s"),
    ):
        total = frame[amount].sum()
        frame[share] = frame[amount] / total * 100 if total else np.nan
    return frame.sort_values(["jobs", "type"], ascending=[False, True], ignore_index=True)


_COLUMNS = {
    "type": "str",
    "jobs": "int64",
    "jobs_pct": "float64",
    "gpu_time_s": "float64",
    "gpu_time_pct": "float64",
    "own_gpu_time_s": "float64",
    "own_gpu_time_pct": "float64",
    "gpus_low": "float64",
    "gpus_q1": "float64",
    "gpus_median": "float64",
    "gpus_q3": "float64",
    "gpus_high": "float64",
    "duration_median_s": "float64",
    "queue_within_1s_pct": "float64",
    "queue_p90_s": "float64",
    "failed_pct": "float64",
}


def _row(kind: str, part: pd.DataFrame) -> dict[str, object]:
    queue = part["queue"].dropna().to_numpy()
    return {
        "type": kind,
        "jobs": len(part),
        "gpu_time_s": part["gpu_time"].sum(),
        "own_gpu_time_s": part["own"].sum(),
        **_box(part["gpus"].to_numpy()),
        "duration_median_s": part["duration"].median(),
        "queue_within_1s_pct": (queue <= 1).mean() * 100 if len(queue) else np.nan,
        "queue_p90_s": np.quantile(queue, 0.9) if len(queue) else np.nan,
        "failed_pct": (~part["state"].isin((COMPLETED, CANCELLED))).mean() * 100,
    }


def _box(gpus: Floats) -> dict[str, float]:
    q1, median, q3 = np.quantile(gpus, (0.25, 0.5, 0.75))
    reach = WHISKER_IQR * (q3 - q1)
    inside = gpus[(gpus >= q1 - reach) & (gpus <= q3 + reach)]
    return {
        "gpus_low": inside.min(),
        "gpus_q1": q1,
        "gpus_median": median,
        "gpus_q3": q3,
        "gpus_high": inside.max(),
    }
