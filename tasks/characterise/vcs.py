"""The virtual clusters of a cluster: how busy they are, and how long their jobs wait."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd

from tasks.characterise.capacity import gpus_by_minute
from tasks.characterise.occupancy import running_gpus, utilisation
from tasks.characterise.window import Floats, Window, gpu_jobs, numbers

QUARTILES = {"utilization_q1": 0.25, "utilization_median": 0.5, "utilization_q3": 0.75}
BUSY = ("gpu_quota", "utilization_mean", *QUARTILES)
COUNTS = ("job_num", "gpu_job_num")
MEASURES = ("gpu_time_s", "avg_gpu_num", "avg_run_time", "avg_pend_time")


def vc_summary(
    jobs: pd.DataFrame, quota: pd.DataFrame | None, since: datetime, until: datetime, timezone: str
) -> pd.DataFrame:
    """One row a virtual cluster of the jobs or the quota, largest first, then by name.

    Columns: vc; gpu_quota, mean over the minutes of the period; utilization_mean, _q1, _median,
    _q3 of gpu_utilization (as in `vc_sequence`) over the minutes in which it has GPUs, quartiles
    interpolated linearly; then of the jobs submitted in the period: job_num, gpu_job_num,
    gpu_time_s, and of the GPU jobs avg_gpu_num, avg_run_time, avg_pend_time. Means skip nulls
    and are null where there is nothing else; without a quota its column and utilisation are null.

    Source: Hu et al., SC '21, utilisation and queueing by virtual cluster (Earth, May). One
    sequence is held in memory at a time.

    Raises
    ------
    UsageError
        If the period holds no time or the quota has no row.
    """
    window = Window.of(since, until, timezone)
    rows_of = jobs.groupby("vc", observed=True).indices
    names = {str(name): rows for name, rows in rows_of.items()}
    if quota is not None:
        names = {str(name): np.empty(0, dtype=np.intp) for name in quota["vc"].unique()} | names
    rows = []
    for name, places in names.items():
        of_vc = jobs.iloc[places]
        rows.append([name, *_busy(of_vc, quota, name, window), *_submitted(of_vc, window)])
    frame = pd.DataFrame(rows, columns=["vc", *BUSY, *COUNTS, *MEASURES]).astype(
        {"vc": "str"} | dict.fromkeys(COUNTS, np.int64) | dict.fromkeys([*BUSY, *MEASURES], np.float64)
    )
    return frame.sort_values(["gpu_quota", "vc"], ascending=[False, True], ignore_index=True)


def _busy(jobs: pd.DataFrame, quota: pd.DataFrame | None, vc: str, window: Window) -> list[float]:
    if quota is None:
        return [np.nan] * len(BUSY)
    total = gpus_by_minute(quota, window, vc)
    used = np.minimum(running_gpus(jobs, window), total)
    ratio = utilisation(used, total)[total > 0]
    if not len(ratio):
        return [0.0] + [np.nan] * (len(BUSY) - 1)
    quartiles = np.quantile(ratio, list(QUARTILES.values()))
    return [float(total.mean()), float(ratio.mean()), *quartiles.tolist()]


def _submitted(jobs: pd.DataFrame, window: Window) -> list[float]:
    jobs = jobs[window.holds(jobs["submit"])]
    gpu = jobs[gpu_jobs(jobs)]
    means = (_mean(numbers(gpu[name])) for name in ("gpu_num", "run_s", "wait_s"))
    return [len(jobs), len(gpu), float(np.nansum(numbers(gpu["gpu_time_s"]))), *means]


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan
