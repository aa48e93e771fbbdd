"""Job logs in the released layout: Slurm's of Seren, Kubernetes' of Kalos.

Counts, states, types, medians of duration and queue follow the published
summary and the figures by workload type (Hu et al., NSDI '24); durations and
queues are log-normal around them. Rules are the release's own: Seren's duration
is end − start, Kalos' is end − submit; GPU time is blank without GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.sampling.hashing import bits, key_of, normals, uniforms
from tasks.sampling.source import Chunk, Source, header_line
from tasks.sampling.texts import SLOT_S
from tasks.sampling.windows import first_slot

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

JOB_TRACE = "job_trace"
_CHUNK = 20_000
_USERS = 90
_KALOS_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class _Workload:
    """A job type: its share, sizes with shares, and log-normal duration and queue (median s, sigma)."""

    name: str
    share: float
    gpus: tuple[tuple[int, float], ...]
    duration: tuple[float, float]
    queue: tuple[float, float]


@dataclass(frozen=True)
class _Log:
    """What is particular to a cluster's log."""

    columns: tuple[str, ...]
    zone: str
    most: int
    per_row: float
    gap_s: float
    last: datetime
    cpus_per_gpu: int
    shortest_s: int
    longest_s: int
    job_bytes: float
    states: tuple[tuple[str, float, float], ...]  # name, share of GPU jobs, share of CPU jobs
    workloads: tuple[_Workload, ...]


_FRONT = ("job_id", "user", "node_num", "gpu_num", "cpu_num")
_MIDDLE = ("type", "state", "submit_time", "start_time", "end_time")
_BACK = ("duration", "queue", "gpu_time")
_NO_GPU = ((0, 1.0),)

_LOGS = {
    "seren": _Log(
        columns=(*_FRONT, *_MIDDLE, *_BACK),
        zone="+08:00",
        most=818_327,
        per_row=1.5,
        gap_s=17.9,
        last=datetime.fromisoformat("2023-08-18 00:00:00+08:00"),
        cpus_per_gpu=16,
        shortest_s=1,
        longest_s=1_209_604,
        job_bytes=122.0,
        states=(
            ("COMPLETED", 0.497, 0.858),
            ("FAILED", 0.400, 0.098),
            ("CANCELLED", 0.075, 0.039),
            ("PREEMPTED", 0.012, 0.001),
            ("TIMEOUT", 0.010, 0.003),
            ("NODE_FAIL", 0.006, 0.001),
        ),
        workloads=(
            _Workload("CPU", 0.449, _NO_GPU, (14, 2.4), (1, 0.9)),
            _Workload("Eval", 0.3573, ((1, 0.60), (2, 0.12), (4, 0.08), (8, 0.20)), (129, 2.0), (1.3, 3.4)),
            _Workload("SFT", 0.0819, ((1, 0.20), (2, 0.15), (8, 0.62), (16, 0.03)), (197, 1.8), (0.8, 3.0)),
            _Workload("Other", 0.0802, ((1, 0.60), (2, 0.10), (8, 0.30)), (77, 2.2), (0.5, 2.4)),
            _Workload("MLLM", 0.0163, ((1, 0.45), (2, 0.10), (8, 0.40), (32, 0.05)), (253, 2.4), (0.5, 2.4)),
            _Workload("Debug", 0.0104, ((8, 0.90), (16, 0.05), (64, 0.05)), (114, 1.8), (0.3, 1.9)),
            _Workload(
                "Pretrain",
                0.0049,
                ((32, 0.2), (64, 0.15), (128, 0.35), (256, 0.25), (1024, 0.05)),
                (297, 2.8),
                (0.5, 2.5),
            ),
        ),
    ),
    "kalos": _Log(
        columns=(*_FRONT, "mem_per_pod_GB", "shared_mem_per_pod", *_MIDDLE, "fail_time", "stop_time", *_BACK),
        zone="+00:00",
        most=62_413,
        per_row=0.8,
        gap_s=126.0,
        last=datetime.fromisoformat("2023-08-16 15:18:02+00:00"),
        cpus_per_gpu=15,
        shortest_s=3,
        longest_s=2_968_326,
        job_bytes=144.0,
        states=(("COMPLETED", 0.541, 0.860), ("FAILED", 0.397, 0.139), ("CANCELLED", 0.062, 0.001)),
        workloads=(
            _Workload("CPU", 0.681, _NO_GPU, (22, 1.5), (9, 1.0)),
            _Workload("Eval", 0.2960, ((1, 0.93), (2, 0.02), (8, 0.05)), (118, 1.6), (17.8, 1.6)),
            _Workload("Pretrain", 0.0103, ((256, 0.35), (512, 0.45), (1024, 0.20)), (707, 2.4), (12.5, 1.3)),
            _Workload("Debug", 0.0086, ((32, 0.3), (128, 0.4), (512, 0.3)), (327, 1.3), (12.5, 1.4)),
            _Workload("Other", 0.0040, ((2, 0.3), (8, 0.4), (32, 0.3)), (293, 2.6), (12.5, 1.2)),
            _Workload("SFT", 0.0001, ((8, 1.0),), (293, 1.5), (12.5, 1.2)),
        ),
    ),
}


def job_count(cluster: str, rows: int, jobs: int | None = None) -> int:
    """Jobs of a log: `jobs`, or as many as go with wide files of `rows` rows; at most as many as released."""
    log = _LOGS[cluster]
    return min(log.most, max(40, int(rows * log.per_row)) if jobs is None else jobs)


def job_bytes(cluster: str, rows: int, jobs: int | None = None) -> float:
    """The expected size of a log of `jobs` jobs, or of one beside wide files of `rows` rows."""
    return job_count(cluster, rows, jobs) * _LOGS[cluster].job_bytes


def job_path(cluster: str) -> str:
    """The place of a cluster's log in the released layout."""
    return f"data/job_trace/trace_{cluster}.csv"


def job_source(cluster: str, rows: int, seed: int, jobs: int | None = None) -> Source:
    """The log of a cluster, of `jobs` jobs or as many as go with wide files of `rows` rows."""
    return Source(
        path=job_path(cluster),
        rows=job_count(cluster, rows, jobs),
        header=header_line(_LOGS[cluster].columns),
        chunks=partial(_chunks, cluster, rows, job_count(cluster, rows, jobs), seed),
    )


def _chunks(cluster: str, rows: int, count: int, seed: int) -> Iterator[Chunk]:
    table = _draw(cluster, rows, count, seed)
    for first in range(0, count, _CHUNK):
        yield partial(
            _text, cluster, {name: column[first : first + _CHUNK] for name, column in table.items()}
        )


def _draw(cluster: str, rows: int, count: int, seed: int) -> dict[str, NDArray[Any]]:
    log = _LOGS[cluster]
    keys = partial(key_of, seed, cluster, "jobs")
    kind = _choose(np.array([w.share for w in log.workloads]), uniforms(keys("type"), count))
    gpus = _sizes(log, kind, uniforms(keys("size"), count))
    duration = _spread([w.duration for w in log.workloads], kind, normals(keys("duration"), count))
    duration = np.clip(np.rint(duration), log.shortest_s, log.longest_s).astype(np.int64)
    queue = _spread([w.queue for w in log.workloads], kind, normals(keys("queue"), count))
    queue = np.minimum(queue, 200_000).astype(np.int64)
    state = _states(log, gpus, uniforms(keys("state"), count))
    if cluster == "kalos":
        # The log's duration holds the queue: a wait is shorter than it.
        queue = np.clip(queue, 1, duration - 1)
        # The jobs submitted last are still running when the log ends.
        state[np.flatnonzero(gpus)[-max(1, count // 20_000) :]] = len(log.states)
    else:
        duration[uniforms(keys("zero"), count) < 0.002] = 0
    return {
        "number": np.arange(count),
        "own": bits(keys("id"), np.arange(count)),
        "user": (_USERS * uniforms(keys("user"), count) ** 3).astype(np.int64),
        "kind": kind,
        "gpus": gpus,
        "state": state,
        "submit": _submissions(log, first_slot(cluster, rows) * SLOT_S, uniforms(keys("gap"), count)),
        "duration": duration,
        "queue": queue,
    }


def _choose(shares: FloatArray, roll: FloatArray) -> IntArray:
    edges = np.cumsum(shares) / np.sum(shares)
    return np.minimum(np.searchsorted(edges, roll), len(shares) - 1).astype(np.int64)


def _spread(median_sigma: list[tuple[float, float]], kind: IntArray, normal: FloatArray) -> FloatArray:
    median, sigma = np.array(median_sigma).T
    seconds: FloatArray = median[kind] * np.exp(sigma[kind] * normal)
    return seconds


def _sizes(log: _Log, kind: IntArray, roll: FloatArray) -> IntArray:
    gpus = np.zeros(len(kind), dtype=np.int64)
    for number, workload in enumerate(log.workloads):
        sizes, shares = map(np.array, zip(*workload.gpus, strict=True))
        gpus[kind == number] = sizes[_choose(shares, roll[kind == number])]
    return gpus


def _states(log: _Log, gpus: IntArray, roll: FloatArray) -> IntArray:
    of_gpu_jobs, of_cpu_jobs = np.array([shares for _, *shares in log.states]).T
    return np.where(gpus > 0, _choose(of_gpu_jobs, roll), _choose(of_cpu_jobs, roll))


def _submissions(log: _Log, telemetry_start: int, roll: FloatArray) -> IntArray:
    """Times of a steady stream at the published rate that begins with the telemetry, or ends with the log."""
    span = len(roll) * log.gap_s
    first = min(telemetry_start, int(log.last.timestamp() - span))
    arrival = np.cumsum(-np.log(roll))
    seconds: IntArray = (span * arrival / arrival[-1]).astype(np.int64)
    return first + seconds


def _text(cluster: str, table: dict[str, NDArray[Any]]) -> bytes:
    log = _LOGS[cluster]
    names = (*(name for name, _, _ in log.states), "RUNNING")
    start = table["submit"] + table["queue"]
    end = table["submit"] + table["duration"] + (table["queue"] if cluster == "seren" else 0)
    times = zip(*(_times(column, log.zone) for column in (table["submit"], start, end)), strict=True)
    columns = ("kind", "gpus", "duration", "queue", "state", "own", "number", "user")
    rows = zip(*(table[column].tolist() for column in columns), times, strict=True)
    lines = []
    for kind, gpus, duration, queue, state, own, number, user, (submitted, started, ended) in rows:
        cpus = gpus * log.cpus_per_gpu if gpus else 1 << own % 6
        hashed = f"u{(user * 40_503 + 977) % 65_536:04x}"
        front = f"{_job_id(cluster, number, own)},{hashed},{-(-gpus // 8) or 1},{gpus},{cpus}"
        middle = f"{log.workloads[kind].name},{names[state]},{submitted},{started}"
        spent = f"{float(gpus * duration)}" if gpus else ""
        if cluster == "seren":
            lines.append(f"{front},{middle},{ended},{duration},{queue},{spent}\n")
        else:
            pod = f"{1000 if gpus >= 8 else 120 if gpus else 20},{'100.0' if own % 40 == 0 else ''}"
            failed, stopped = (ended if names[state] == name else "" for name in ("FAILED", "CANCELLED"))
            closed = "" if names[state] == "RUNNING" else ended
            lines.append(
                f"{front},{pod},{middle},{closed},{failed},{stopped},{duration},{float(queue)},{spent}\n"
            )
    return "".join(lines).encode()


def _job_id(cluster: str, number: int, own: int) -> str:
    if cluster == "seren":
        return str(5_778_432 + 7 * number + own % 7)
    digits = []
    for _ in range(12):
        own, digit = divmod(own, 36)
        digits.append(_KALOS_LETTERS[digit])
    # The number makes the name unique where random letters might not.
    return "dlc" + _KALOS_LETTERS[number % 36] + "".join(digits)


def _times(epoch_s: NDArray[Any], zone: str) -> list[str]:
    shift = 8 * 3600 if zone == "+08:00" else 0
    texts = np.datetime_as_string((epoch_s.astype(np.int64) + shift).astype("datetime64[s]"))
    return [text.replace("T", " ") + zone for text in texts.tolist()]
