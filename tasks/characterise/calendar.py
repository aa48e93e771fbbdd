"""The day and the months of a cluster: how busy it is, and what is submitted, when."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.characterise.window import MINUTE_MS, Mask, Window, cpu_jobs, gpu_jobs, numbers

UTILISATIONS = ["gpu_utilization", "gpu_utilization_multi", "gpu_utilization_single"]


def hourly_pattern(sequence: pd.DataFrame, jobs: pd.DataFrame, timezone: str) -> pd.DataFrame:
    """The mean day of a cluster, by local hour: 24 rows.

    Columns: hour, 0 to 23; minutes, of the sequence in that hour of day; gpu_utilization, the
    mean over these; submit_gpu_job, GPU jobs submitted in that hour of day within the period of
    the sequence, over the number of such hours in it. The last two are null without minutes.

    Source: Hu et al., SC '21, daily pattern of the cluster usage (utilisation and submission
    rate by hour); `sequence` is that of `cluster_sequence`.
    """
    hour = _local(sequence["time"], timezone).hour.to_numpy()
    table = pd.DataFrame(
        {"gpu_utilization": sequence["gpu_utilization"].to_numpy(), "minutes": np.ones(len(hour), np.int64)}
    )
    by_hour = table.groupby(hour).agg({"minutes": "sum", "gpu_utilization": "mean"}).reindex(range(24))
    submitted = jobs.loc[gpu_jobs(jobs) & _within(jobs["submit"], sequence), "submit"]
    counts = np.bincount(_local(submitted, timezone).hour, minlength=24)
    minutes = by_hour["minutes"].fillna(0).to_numpy(dtype=np.int64)
    rate = np.divide(counts * 60, minutes, out=np.full(24, np.nan), where=minutes > 0)
    return pd.DataFrame(
        {
            "hour": np.arange(24, dtype=np.int64),
            "minutes": minutes,
            "gpu_utilization": by_hour["gpu_utilization"].to_numpy(dtype=np.float64),
            "submit_gpu_job": rate,
        }
    )


def monthly(sequence: pd.DataFrame, jobs: pd.DataFrame, timezone: str) -> pd.DataFrame:
    """The local months of a sequence, ascending: what was submitted in them, how busy the cluster was.

    Columns: month, YYYY-MM; job_num, cpu_job_num, gpu_job_num, and of the latter
    gpu_job_num_single with one GPU or less and gpu_job_num_multi with more: jobs by month of
    submission, within the period of the sequence; gpu_utilization, gpu_utilization_multi,
    gpu_utilization_single, means over the minutes.

    Source: `all_cluster_monthly_job_num.csv` and `all_cluster_monthly_utilization.csv` of
    HeliosArtifact; Hu et al., SC '21, monthly trends. `sequence` is that of `cluster_sequence`.
    """
    month = _months(sequence["time"], timezone)
    means = sequence[UTILISATIONS].groupby(month).mean()
    within = _within(jobs["submit"], sequence)
    gpu, single = gpu_jobs(jobs), numbers(jobs["gpu_num"]) <= 1
    kinds = {
        "job_num": within,
        "cpu_job_num": within & cpu_jobs(jobs),
        "gpu_job_num": within & gpu,
        "gpu_job_num_single": within & gpu & single,
        "gpu_job_num_multi": within & gpu & ~single,
    }
    submitted = _months(jobs.loc[within, "submit"], timezone)
    columns: dict[str, object] = {"month": means.index.to_numpy(dtype="str")}
    for name, mask in kinds.items():
        counts = pd.Series(submitted[mask[within]]).value_counts()
        columns[name] = counts.reindex(means.index, fill_value=0).to_numpy(dtype=np.int64)
    columns |= {name: means[name].to_numpy(dtype=np.float64) for name in UTILISATIONS}
    return pd.DataFrame(columns)


def _months(times: pd.Series, timezone: str) -> NDArray[np.str_]:
    """The local month of each time, YYYY-MM; few are different, so few are written."""
    local = _local(times, timezone)
    months, which = np.unique(local.year * 12 + local.month - 1, return_inverse=True)
    names = np.array([f"{month // 12:04d}-{month % 12 + 1:02d}" for month in months.tolist()], dtype=np.str_)
    return names[which] if len(names) else np.empty(0, dtype=np.str_)


def _local(times: pd.Series, timezone: str) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(times).tz_convert(timezone)


def _within(times: pd.Series, sequence: pd.DataFrame) -> Mask:
    """Which times are in the minutes of the sequence, from its first to its last."""
    minutes = sequence["time"]
    if minutes.empty:
        return np.zeros(len(times), dtype=np.bool_)
    until = minutes.iloc[-1] + pd.Timedelta(milliseconds=MINUTE_MS)
    return Window(minutes.iloc[0], until, "UTC").holds(times)
