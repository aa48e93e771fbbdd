"""The logs of other traces that AcmeTrace compares with, in small: `job_trace/trace_previous_work/`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from schemas.joblogs.helios import HELIOS_CLUSTERS
from tasks.sampling.hashing import key_of, normals, uniforms
from tasks.sampling.helios import helios_count, log_table
from tasks.sampling.source import Chunk, Source

_FOLDER = "data/job_trace/trace_previous_work"
_JOBS = 400
_PHILLY_FROM = np.datetime64("2017-10-03T00:00:00")
_PHILLY_SPAN_S = 58 * 86_400


def previous_sources(seed: int) -> Iterator[Source]:
    """Philly, Helios and PAI as CSV."""
    for name, table in (("philly", _philly(seed)), ("helios", _helios(seed)), ("pai", _pai(seed))):
        text = table.to_csv(index=False, lineterminator="\n", date_format="%Y-%m-%d %H:%M:%S").encode()
        yield Source(f"{_FOLDER}/{name}_trace.csv", len(table), b"", partial(_whole, text))


def _philly(seed: int) -> pd.DataFrame:
    """Pacific times without a zone; medians and shares of the published summary."""
    keys = partial(key_of, seed, "philly")
    submit = _PHILLY_FROM + (np.sort(uniforms(keys("submit"), _JOBS)) * _PHILLY_SPAN_S).astype(
        "timedelta64[s]"
    )
    queue = np.rint(189 * np.exp(2.2 * normals(keys("queue"), _JOBS))).clip(0, 500_000).astype(np.int64)
    duration = np.rint(874 * np.exp(2.4 * normals(keys("run"), _JOBS))).clip(1, 4_000_000).astype(np.int64)
    start = submit + queue.astype("timedelta64[s]")
    roll = uniforms(keys("state"), _JOBS)
    return pd.DataFrame(
        {
            "job_id": [f"application_{1_506_638_472_019 + n}" for n in range(_JOBS)],
            "user": [f"{int(place * 300):06x}" for place in uniforms(keys("user"), _JOBS)],
            "vc": np.array(["6214e9", "ee9e8c", "11cb48"])[(uniforms(keys("vc"), _JOBS) * 3).astype(int)],
            "gpu_num": np.array([1, 1, 1, 1, 2, 4, 8, 16])[(uniforms(keys("gpus"), _JOBS) * 8).astype(int)],
            "state": np.where(roll < 0.6, "Pass", np.where(roll < 0.7, "Killed", "Failed")),
            "submit_time": submit,
            "start_time": start,
            "end_time": start + duration.astype("timedelta64[s]"),
            "duration": duration,
            "queue": queue,
        }
    )


def _helios(seed: int) -> pd.DataFrame:
    """The first jobs of all four logs, with the name of their cluster."""
    parts = []
    for name in HELIOS_CLUSTERS:
        part = log_table(name, helios_count(name, 0, 10**9), seed, 0, _JOBS // 4)
        part.insert(1, "cluster", name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _pai(seed: int) -> pd.DataFrame:
    """Seconds on a clock of its own; 100 is a core or a GPU."""
    keys = partial(key_of, seed, "pai")
    start = np.sort(uniforms(keys("start"), _JOBS)) * 5_000_000 + 1_000_000
    duration = np.round(480.7 * np.exp(2.1 * normals(keys("run"), _JOBS)), 1)
    roll, gpus = uniforms(keys("state"), _JOBS), uniforms(keys("gpus"), _JOBS)
    status = np.where(roll < 0.7, "Terminated", np.where(roll < 0.98, "Failed", "Running"))
    runs = status == "Running"
    return pd.DataFrame(
        {
            "job_name": [f"{int(key_of(seed, 'pai', n)):016x}" for n in range(_JOBS)],
            "user": [f"{int(place * 1000):04x}" for place in uniforms(keys("user"), _JOBS)],
            "status": status,
            "start_time": np.round(start, 1),
            "end_time": pd.Series(np.round(np.round(start, 1) + duration, 1)).mask(runs),
            "plan_cpu": 600,
            "plan_gpu": pd.Series(np.where(gpus < 0.5, 50, 100), dtype="Int64").mask(gpus > 0.85),
            "wait_time": np.rint(9 * np.exp(1.8 * normals(keys("queue"), _JOBS))),
            "duration": pd.Series(duration).mask(runs),
        }
    )


def _whole(text: bytes) -> Iterator[Chunk]:
    yield lambda: text
