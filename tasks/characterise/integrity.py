"""Whether a job log can be whole: beside its capacity, and beside the telemetry of the same hours.

GPU utilisation is at most 100 % a GPU, so the mean utilisation times the GPUs that
report is a number of GPUs that were busy at least. Where the log has fewer running,
jobs are missing in it, whatever else may be true.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tasks.characterise.window import gpu_jobs, numbers

HOUR = pd.Timedelta(hours=1)


def job_hours(sequence: pd.DataFrame) -> pd.DataFrame:
    """GPUs that the log has running, by hour of a `cluster_sequence`.

    Columns: hour, UTC; running_gpus, mean over the minutes of the hour, not capped; most_gpus, the
    most of a minute; capacity_gpus, NaN where not known.
    """
    hour = sequence["time"].dt.floor("h")
    running = (sequence["running_gpu_multi"] + sequence["running_gpu_single"]).groupby(hour)
    return pd.DataFrame(
        {
            "hour": pd.DatetimeIndex(running.mean().index).as_unit("ms"),
            "running_gpus": running.mean().to_numpy(),
            "most_gpus": running.max().to_numpy(),
            "capacity_gpus": sequence["total_gpu_num"].groupby(hour).mean().to_numpy(dtype=np.float64),
        }
    )


def beside_telemetry(hours: pd.DataFrame, utilisation: pd.DataFrame, interval_s: float) -> pd.DataFrame:
    """The hours of the log with what the telemetry says of the same hours, null where it says nothing.

    `utilisation` has the hourly GPU_UTIL of the cluster (hour, count, mean), `interval_s` its sampling
    interval. Columns added to those of `job_hours`: reporting_gpus = count ÷ samples of a full hour;
    utilisation_pct, the mean; busy_gpus = reporting_gpus × utilisation, the least number of GPUs that
    were busy; unexplained_gpus = how many of these the log has no job for.
    """
    merged = hours.merge(utilisation[["hour", "count", "mean"]], on="hour", how="left")
    reporting = merged["count"] * interval_s / HOUR.total_seconds()
    busy = reporting * merged["mean"] / 100
    told = {"reporting_gpus": reporting, "utilisation_pct": merged["mean"], "busy_gpus": busy}
    merged = merged.drop(columns=["count", "mean"]).assign(**told)
    return merged.assign(unexplained_gpus=(busy - merged["running_gpus"]).clip(lower=0))


def integrity(
    jobs: pd.DataFrame,
    hours: pd.DataFrame,
    telemetry: tuple[pd.Timestamp, pd.Timestamp] | None,
) -> pd.DataFrame:
    """Are jobs missing? What the log, its capacity and the telemetry say, as measure, value and unit.

    `hours` are those of `beside_telemetry`, `telemetry` the first and last time of GPU_UTIL; None where
    there is none.
    """
    gpu = jobs[gpu_jobs(jobs)]
    rows: list[tuple[str, float, str]] = [
        ("gpu_jobs", len(gpu), "jobs"),
        ("gpu_jobs_without_run_time", int(np.isnan(numbers(gpu["run_s"])).sum()), "jobs"),
        ("logged_gpu_time", float(np.nansum(numbers(gpu["gpu_time_s"]))) / 3600, "GPU·h"),
        ("most_concurrent_gpus", float(hours["most_gpus"].max()) if len(hours) else np.nan, "GPUs"),
        ("mean_running_gpus", float(hours["running_gpus"].mean()) if len(hours) else np.nan, "GPUs"),
    ]
    capacity = hours["capacity_gpus"]
    if len(hours) and (capacity > 0).all():
        above = hours["most_gpus"] > capacity
        rows += [
            ("capacity", float(capacity.mean()), "GPUs"),
            ("logged_occupancy", float(hours["running_gpus"].sum() / capacity.sum() * 100), "%"),
            ("most_concurrent_share", float((hours["most_gpus"] / capacity).max() * 100), "%"),
            ("hours_above_capacity", int(above.sum()), "h"),
        ]
    if telemetry is not None:
        rows += _beside(gpu, hours, telemetry)
    return pd.DataFrame(rows, columns=["measure", "value", "unit"]).astype({"value": "float64"})


def _beside(
    gpu: pd.DataFrame, hours: pd.DataFrame, telemetry: tuple[pd.Timestamp, pd.Timestamp]
) -> list[tuple[str, float, str]]:
    first, last = telemetry
    begins, ends = gpu["submit"].min(), gpu["end"].max()
    overlap = (
        (min(last, ends) - max(first, begins)) / HOUR if not pd.isna(begins) and not pd.isna(ends) else 0.0
    )
    inside = ((gpu["start"] <= last) & (gpu["end"] >= first)).sum()
    rows: list[tuple[str, float, str]] = [
        ("telemetry_window", float((last - first) / HOUR), "h"),
        ("log_and_telemetry_overlap", max(float(overlap), 0.0), "h"),
        ("gpu_jobs_in_overlap", int(inside), "jobs"),
    ]
    shared = hours[hours["busy_gpus"].notna()]
    if len(shared):
        busy, missing = float(shared["busy_gpus"].sum()), float(shared["unexplained_gpus"].sum())
        rows += [
            ("shared_hours", len(shared), "h"),
            ("telemetry_busy_gpu_hours", busy, "GPU·h"),
            ("logged_gpu_hours", float(shared["running_gpus"].sum()), "GPU·h"),
            ("unexplained_gpu_hours", missing, "GPU·h"),
            ("unexplained_share", missing / busy * 100 if busy else np.nan, "%"),
        ]
    return rows
