"""Cumulative distributions of GPU jobs: how long they take and wait, how many GPUs they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from tasks.characterise.summary import duration_s, queue_s
from tasks.characterise.window import Floats, Mask, gpu_jobs, numbers

DURATION_AT = tuple(float(2**power) for power in range(22))
QUEUE_AT = tuple(float(2**power) for power in range(16))
GPUS_AT = tuple(float(count) for count in range(1025))
ALL_TYPES = "all"
BY_JOBS, BY_GPU_TIME, BY_OWN_GPU_TIME = "jobs", "gpu_time", "own_gpu_time"


def ecdf(values: Floats, at: Sequence[float], weights: Floats | None = None) -> Floats:
    """The share of `values` ≤ x in percent, for each x of `at`; of their weights, if given.

    Nothing is interpolated; NaN values and weights are dropped. NaN where nothing is left.

    Source: the figure notebook of AcmeTrace, which counts so, as Helios' does.
    """
    known = np.isfinite(values)
    if weights is not None:
        known &= np.isfinite(weights)
    order = np.argsort(values[known], kind="stable")
    ordered = values[known][order]
    place = np.searchsorted(ordered, np.asarray(at, dtype=np.float64), side="right")
    reached = (
        np.arange(len(ordered) + 1, dtype=np.float64)
        if weights is None
        else np.concatenate([[0.0], np.cumsum(weights[known][order])])
    )
    total = reached[-1]
    return reached[place] / total * 100 if total > 0 else np.full(len(at), np.nan)


def job_ecdfs(jobs: pd.DataFrame) -> pd.DataFrame:
    """All curves of a cluster's GPU jobs.

    Columns: measure; weight; type, a kind of work or "all"; x; share_pct, of the weights of jobs
    whose measure is ≤ x; jobs, the number the curve stands on.

    Measures: duration and queue, the log's own (at 2^0 … 2^21 and 2^0 … 2^15 s; Kalos'
    duration holds the queue); run = end − start and wait = start − submit, at the same places;
    gpu_num at 0 … 1,024. Weights: jobs, of all types; and of all jobs together gpu_time =
    gpu_num × duration for the measures of the log, own_gpu_time = gpu_num × run for ours, and
    both for gpu_num.

    Source: Hu et al., NSDI '24, distributions of duration, of GPUs, and of both times by workload type.
    """
    gpu = gpu_jobs(jobs)
    gpus, run = numbers(jobs["gpu_num"]), numbers(jobs["run_s"])
    duration, queue = duration_s(jobs, "released"), queue_s(jobs, "released")
    measures = {
        "duration": (duration, DURATION_AT),
        "queue": (queue, QUEUE_AT),
        "run": (run, DURATION_AT),
        "wait": (numbers(jobs["wait_s"]), QUEUE_AT),
    }
    parts = [
        _curve(name, BY_JOBS, kind, values[mask], at)
        for kind, mask in _types(jobs, gpu)
        for name, (values, at) in measures.items()
    ]
    spent = {BY_GPU_TIME: (gpus * duration)[gpu], BY_OWN_GPU_TIME: (gpus * run)[gpu]}
    for name, (values, at) in measures.items():
        weight = BY_GPU_TIME if name in ("duration", "queue") else BY_OWN_GPU_TIME
        parts.append(_curve(name, weight, ALL_TYPES, values[gpu], at, spent[weight]))
    for weight, worth in {BY_JOBS: None, **spent}.items():
        parts.append(_curve("gpu_num", weight, ALL_TYPES, gpus[gpu], GPUS_AT, worth))
    return pd.concat(parts, ignore_index=True)


def _types(jobs: pd.DataFrame, gpu: Mask) -> Iterator[tuple[str, Mask]]:
    yield ALL_TYPES, gpu
    kinds = jobs["type"].astype("category").cat
    names = [str(name) for name in kinds.categories]
    codes = kinds.codes.to_numpy()
    for code in sorted(range(len(names)), key=names.__getitem__):
        chosen = gpu & (codes == code)
        if chosen.any():
            yield names[code], chosen


def _curve(
    measure: str,
    weight: str,
    kind: str,
    values: Floats,
    at: Sequence[float],
    weights: Floats | None = None,
) -> pd.DataFrame:
    known = np.isfinite(values) if weights is None else np.isfinite(values) & np.isfinite(weights)
    return pd.DataFrame(
        {
            "measure": measure,
            "weight": weight,
            "type": kind,
            "x": np.asarray(at, dtype=np.float64),
            "share_pct": ecdf(values, at, weights),
            "jobs": int(known.sum()),
        }
    )
