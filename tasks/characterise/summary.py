"""`cluster_summary.csv`: a row of figures a cluster, with the columns and rounding of the published file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
import pandas as pd

from schemas.jobs import CANCELLED, COMPLETED
from tasks.characterise.window import Floats, Mask, cpu_jobs, gpu_jobs, numbers

Times = Literal["released", "own"]

SUMMARY_COLUMNS = (
    *("job_num", "cpu_job_num", "gpu_job_num"),
    *("avg_run_time_gpu", "avg_que_time_gpu", "avg_gpu_num"),
    *("med_run_time_gpu", "med_que_time_gpu", "med_gpu_num"),
    *("max_run_time_gpu", "max_gpu"),
    *("complete_rate_gpu", "cancel_rate_gpu", "fail_rate_gpu"),
    *("complete_gpu_time", "cancel_gpu_time", "fail_gpu_time"),
    *("complete_rate_gpu_time", "cancel_rate_gpu_time", "fail_rate_gpu_time"),
    *("avg_run_time_cpu", "avg_que_time_cpu", "med_run_time_cpu", "med_que_time_cpu"),
    *("complete_rate_cpu", "cancel_rate_cpu", "fail_rate_cpu"),
)
COUNTS = SUMMARY_COLUMNS[:3]
DECIMALS = 3


def duration_s(jobs: pd.DataFrame, times: Times) -> Floats:
    """The durations to be summarised: the log's own where it has any, else end − start."""
    released = numbers(jobs["released_duration_s"])
    return released if times == "released" and np.isfinite(released).any() else numbers(jobs["run_s"])


def queue_s(jobs: pd.DataFrame, times: Times) -> Floats:
    """The queueing delays to be summarised: the log's own where it has any, else start − submit."""
    released = numbers(jobs["released_queue_s"])
    return released if times == "released" and np.isfinite(released).any() else numbers(jobs["wait_s"])


def cluster_summary(jobs: pd.DataFrame, times: Times = "released") -> dict[str, float]:
    """The figures of one cluster, rounded to 3 decimals; NaN where the log does not tell.

    GPU jobs hold more than 0 GPUs, CPU jobs 0; job_num counts all, also those of which it
    is not known. Means, medians and maxima are over the known values. GPU time is duration ×
    GPUs. Failed is whatever is neither completed nor cancelled, so also what has not ended.
    Rates are NaN where the log tells of no job that it was completed or cancelled.

    With times "released" durations and queueing delays are the log's own, as published: those
    of Kalos hold the queue. With "own" they are end − start and start − submit.

    Source: `cluster_summary.csv` of AcmeTrace (Hu et al., NSDI '24); its definitions were
    recovered from its values: the rates add up to 1 in every row, and RUNNING and TIMEOUT jobs
    are not left out.
    """
    gpu, cpu = gpu_jobs(jobs), cpu_jobs(jobs)
    duration, queue, gpus = duration_s(jobs, times), queue_s(jobs, times), numbers(jobs["gpu_num"])
    found: dict[str, float] = {
        "job_num": len(jobs),
        "cpu_job_num": int(cpu.sum()),
        "gpu_job_num": int(gpu.sum()),
        "avg_run_time_gpu": _mean(duration[gpu]),
        "avg_que_time_gpu": _mean(queue[gpu]),
        "avg_gpu_num": _mean(gpus[gpu]),
        "med_run_time_gpu": _median(duration[gpu]),
        "med_que_time_gpu": _median(queue[gpu]),
        "med_gpu_num": _median(gpus[gpu]),
        "max_run_time_gpu": _max(duration[gpu]),
        "max_gpu": _max(gpus[gpu]),
        **_rates(jobs, gpu, "gpu"),
        **_gpu_times(jobs, gpu, duration * gpus),
        "avg_run_time_cpu": _mean(duration[cpu]),
        "avg_que_time_cpu": _mean(queue[cpu]),
        "med_run_time_cpu": _median(duration[cpu]),
        "med_que_time_cpu": _median(queue[cpu]),
        **_rates(jobs, cpu, "cpu"),
    }
    return {name: found[name] if name in COUNTS else round(found[name], DECIMALS) for name in SUMMARY_COLUMNS}


def summary_csv(rows: Mapping[str, Mapping[str, float]]) -> bytes:
    """The file: a row a cluster in the order of `rows`, blank where a figure is not known."""
    table = pd.DataFrame.from_dict(dict(rows), orient="index", columns=list(SUMMARY_COLUMNS))
    table = table.astype(dict.fromkeys(COUNTS, "int64"))
    text: str = table.to_csv(index_label="id", lineterminator="\n")
    return text.encode()


def pooled(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The columns that a summary needs of several clusters together."""
    needed = ["state", "gpu_num", "run_s", "wait_s", "released_duration_s", "released_queue_s"]
    return pd.concat([table[needed] for table in tables], ignore_index=True)


def _rates(jobs: pd.DataFrame, chosen: Mask, kind: str) -> dict[str, float]:
    completed, cancelled, told = _outcomes(jobs)
    count = int(chosen.sum())
    if not count or not told:
        return {f"{name}_rate_{kind}": np.nan for name in ("complete", "cancel", "fail")}
    complete, cancel = (float((chosen & mask).sum() / count) for mask in (completed, cancelled))
    return {
        f"complete_rate_{kind}": complete,
        f"cancel_rate_{kind}": cancel,
        f"fail_rate_{kind}": 1 - cancel - complete,
    }


def _gpu_times(jobs: pd.DataFrame, gpu: Mask, gpu_time: Floats) -> dict[str, float]:
    completed, cancelled, told = _outcomes(jobs)
    names = ("complete", "cancel", "fail")
    total = float(np.nansum(gpu_time[gpu]))
    if not told or not gpu.any():
        return {name: np.nan for kind in names for name in (f"{kind}_gpu_time", f"{kind}_rate_gpu_time")}
    complete, cancel = (float(np.nansum(gpu_time[gpu & mask])) for mask in (completed, cancelled))
    spent = dict(zip(names, (complete, cancel, total - complete - cancel), strict=True))
    rates = {f"{name}_rate_gpu_time": time / total if total else np.nan for name, time in spent.items()}
    return {f"{name}_gpu_time": time for name, time in spent.items()} | rates


def _outcomes(jobs: pd.DataFrame) -> tuple[Mask, Mask, bool]:
    completed, cancelled = (
        (jobs["state"] == state).to_numpy(dtype=bool, na_value=False) for state in (COMPLETED, CANCELLED)
    )
    return completed, cancelled, bool(completed.any() or cancelled.any())


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else np.nan


def _max(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else np.nan
