"""Helios' job logs and quotas, in the form and at the size of HeliosData.

Numbers of jobs, shares of states, sizes and GPU time by size, medians of durations and
means of queues follow Hu et al., SC '21 (CC-BY-4.0). Durations are log-normal around
what a size's GPU time asks for; most queues are zero. Everything else is invented in the
form of the release: local times without a zone, duration = end − start, queue = start −
submit. A row is a function of its number, so that any piece of a log can be made by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from schemas.joblogs.helios import HELIOS_CLUSTERS
from tasks.sampling.hashing import key_of, uniforms_at
from tasks.sampling.source import Chunk, Source, header_line

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_COLUMNS = (
    *("job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state"),
    *("submit_time", "start_time", "end_time", "duration", "queue"),
)
_TYPES = {
    **dict.fromkeys(("user", "vc", "state"), pa.string()),
    **dict.fromkeys(("submit_time", "start_time", "end_time"), pa.timestamp("s")),
}
_CHUNK = 50_000
_SIZES = np.array([1, 2, 4, 8, 16, 32, 64, 128])
_FIRST, _LAST = np.datetime64("2020-03-18T00:00:00"), np.datetime64("2020-09-28T23:59:59")
_QUOTA_FROM, _QUOTA_TO = "2020-04-01", "2020-09-28"
_LONGEST_S = 4_320_000  # 50 days
_STATES = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL")
_ROWS_A_SHARE = 500_000  # wide rows that go with the logs at their real size
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class _Cluster:
    """A cluster as published.

    Shares in %: of GPU jobs and GPU time by size, of completed, cancelled and failed jobs. GPU time
    in GPU·s; `sigma` of the log-normal durations; CPU jobs have their median in s and sigma.
    """

    cpu_jobs: int
    gpu_jobs: int
    gpu_time: float
    size_pct: tuple[float, ...]
    gpu_time_pct: tuple[float, ...]
    sigma: float
    cpu_duration: tuple[float, float]
    queue_mean_s: float
    gpu_states: tuple[float, float, float]
    cpu_states: tuple[float, float, float]
    vcs: int
    gpus: tuple[tuple[str, int], ...]  # from a day on


_CLUSTERS = {
    "Venus": _Cluster(
        cpu_jobs=121_405,
        gpu_jobs=125_303,
        gpu_time=12.21e9,
        size_pct=(51.8, 5.5, 7.4, 25.2, 4.2, 3.6, 1.0, 1.3),
        gpu_time_pct=(4.6, 3.4, 4.8, 29.4, 16.2, 25.1, 7.5, 9.0),
        sigma=2.88,
        cpu_duration=(21, 2.95),
        queue_mean_s=1253.3,
        gpu_states=(52.6, 27.2, 20.2),
        cpu_states=(86.0, 9.7, 4.3),
        vcs=27,
        gpus=(("2020-04-01", 1008), ("2020-07-01", 1064)),
    ),
    "Earth": _Cluster(
        cpu_jobs=445_738,
        gpu_jobs=427_148,
        gpu_time=11.43e9,
        size_pct=(89.2, 0.8, 2.1, 5.4, 1.6, 0.66, 0.12, 0.12),
        gpu_time_pct=(11.5, 1.1, 6.3, 27.9, 20.0, 17.1, 7.3, 8.8),
        sigma=2.48,
        cpu_duration=(1, 3.19),
        queue_mean_s=319.5,
        gpu_states=(73.5, 13.6, 12.9),
        cpu_states=(88.5, 0.5, 11.0),
        vcs=25,
        gpus=(("2020-04-01", 784), ("2020-04-09", 856), ("2020-06-30", 1120), ("2020-08-27", 1144)),
    ),
    "Saturn": _Cluster(
        cpu_jobs=1_054_182,
        gpu_jobs=698_896,
        gpu_time=27.65e9,
        size_pct=(68.3, 2.8, 8.3, 15.6, 2.5, 1.8, 0.45, 0.27),
        gpu_time_pct=(5.4, 1.7, 5.6, 27.5, 17.5, 26.4, 8.7, 7.2),
        sigma=2.74,
        cpu_duration=(2, 3.39),
        queue_mean_s=611.6,
        gpu_states=(58.2, 27.2, 14.6),
        cpu_states=(94.3, 1.9, 3.8),
        vcs=28,
        gpus=(("2020-04-01", 2072), ("2020-08-01", 2096)),
    ),
    "Uranus": _Cluster(
        cpu_jobs=161_192,
        gpu_jobs=329_117,
        gpu_time=26.56e9,
        size_pct=(66.3, 3.2, 4.3, 18.6, 5.5, 1.7, 0.36, 0.04),
        gpu_time_pct=(3.3, 1.2, 3.9, 31.4, 24.8, 27.2, 7.1, 1.1),
        sigma=2.64,
        cpu_duration=(32, 2.70),
        queue_mean_s=1949.2,
        gpu_states=(60.7, 20.1, 19.2),
        cpu_states=(79.1, 11.6, 9.3),
        vcs=25,
        gpus=(("2020-04-01", 2120), ("2020-08-01", 2112)),
    ),
}


def helios_sources(rows: int, seed: int, jobs: int | None) -> Iterator[Source]:
    """Log and quotas of each cluster: as many jobs as go with `rows` wide rows, or at most `jobs` a log."""
    for name in HELIOS_CLUSTERS:
        count = helios_count(name, rows, jobs)
        folder = f"data/helios/{name}"
        yield Source(
            path=f"{folder}/cluster_log.csv",
            rows=count,
            header=header_line(_COLUMNS),
            chunks=partial(_chunks, name, count, seed),
        )
        quota = _quota_text(name, seed)
        yield Source(f"{folder}/cluster_gpu_number.csv", quota.count(b"\n"), b"", partial(_whole, quota))


def helios_count(name: str, rows: int, jobs: int | None) -> int:
    """Jobs of a cluster's log."""
    cluster = _CLUSTERS[name]
    real = cluster.cpu_jobs + cluster.gpu_jobs
    return min(real, max(40, real * rows // _ROWS_A_SHARE) if jobs is None else jobs)


def log_table(name: str, count: int, seed: int, first: int, rows: int) -> pd.DataFrame:
    """Rows `first` to `first + rows` of a log of `count` jobs; of one that runs end and duration are null."""
    cluster, number = _CLUSTERS[name], np.arange(first, min(first + rows, count))

    def roll(what: str) -> FloatArray:
        return uniforms_at(key_of(seed, "helios", name, what), number)

    is_gpu = roll("kind") < cluster.gpu_jobs / (cluster.cpu_jobs + cluster.gpu_jobs)
    size = _chosen(cluster.size_pct, roll("size"))
    gpus = np.where(is_gpu, _SIZES[size], 0)
    normal = _normals(key_of(seed, "helios", name, "duration"), number)
    of_gpu = _medians(name)[size] * np.exp(cluster.sigma * normal)
    of_cpu = cluster.cpu_duration[0] * np.exp(cluster.cpu_duration[1] * normal)
    duration = np.clip(np.rint(np.where(is_gpu, of_gpu, of_cpu)), 0, _LONGEST_S).astype(np.int64)
    queue = _queues(cluster, roll("waits"), _normals(key_of(seed, "helios", name, "queue"), number))
    submit = _submitted(name, count, seed, number)
    state = np.where(
        is_gpu, _states(cluster.gpu_states, roll("state")), _states(cluster.cpu_states, roll("state"))
    )
    vc = _chosen(_vc_weights(cluster.vcs), roll("vc"))
    user = (_users(cluster) * roll("user") ** 3).astype(np.int64)
    runs = is_gpu & (number >= count - max(2, count // 30_000))
    start = submit + queue.astype("timedelta64[s]")
    end = start + duration.astype("timedelta64[s]")
    words = np.array([*_STATES, "RUNNING"])
    few_cpus = 1 + (roll("cpus") * 8).astype(np.int64)
    return pd.DataFrame(
        {
            "job_id": 700_001 + number,
            "user": np.array([f"u{_code(name, n, 4)}" for n in range(_users(cluster))])[user],
            "vc": np.array(vc_names(name, seed))[vc],
            "gpu_num": gpus,
            "cpu_num": np.where(is_gpu, gpus * 6, few_cpus),
            "node_num": np.maximum(-(-gpus // 8), 1),
            "state": words[np.where(runs, len(_STATES), state)],
            "submit_time": submit,
            "start_time": start,
            "end_time": pd.Series(end).mask(runs),
            "duration": pd.Series(duration, dtype="Int64").mask(runs),
            "queue": queue,
        }
    )


def vc_names(name: str, seed: int) -> tuple[str, ...]:
    """The virtual clusters of a cluster, the largest first."""
    return tuple(f"vc{_code(name, n, 3)}" for n in range(_CLUSTERS[name].vcs))


def quota_table(name: str, seed: int) -> pd.DataFrame:
    """GPUs of each virtual cluster by day, in nodes of 8, and their total."""
    cluster = _CLUSTERS[name]
    days = pd.date_range(_QUOTA_FROM, _QUOTA_TO, freq="D").strftime("%Y-%m-%d")
    totals = np.array([max((day, gpus) for day, gpus in cluster.gpus if day <= now)[1] for now in days])
    weights = np.array(_vc_weights(cluster.vcs))
    shares = np.floor(np.outer(totals / 8, weights / weights.sum())).astype(np.int64)
    shares[:, 0] += totals // 8 - shares.sum(axis=1)
    table = pd.DataFrame(shares * 8, columns=list(vc_names(name, seed)))
    table.insert(0, "date", days)
    return table.assign(total=shares.sum(axis=1) * 8)


def _chunks(name: str, count: int, seed: int) -> Iterator[Chunk]:
    for first in range(0, count, _CHUNK):
        yield partial(_log_text, name, count, seed, first)


def _log_text(name: str, count: int, seed: int, first: int) -> memoryview:
    table = log_table(name, count, seed, first, _CHUNK)
    schema = pa.schema([(column, _TYPES.get(column, pa.int64())) for column in _COLUMNS])
    sink = pa.BufferOutputStream()
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    pyarrow.csv.write_csv(pa.Table.from_pandas(table, schema=schema, preserve_index=False), sink, options)
    return memoryview(sink.getvalue())


def _quota_text(name: str, seed: int) -> bytes:
    text: str = quota_table(name, seed).to_csv(index=False, lineterminator="\n")
    return text.encode()


def _whole(text: bytes) -> Iterator[Chunk]:
    yield lambda: text


@lru_cache(maxsize=8)
def _medians(name: str) -> FloatArray:
    """The median duration of each size in s, so that its GPU time is the published share."""
    cluster = _CLUSTERS[name]
    jobs = np.array(cluster.size_pct) / sum(cluster.size_pct) * cluster.gpu_jobs
    spent = np.array(cluster.gpu_time_pct) / sum(cluster.gpu_time_pct) * cluster.gpu_time
    mean = spent / (jobs * _SIZES)
    medians: FloatArray = mean * np.exp(-(cluster.sigma**2) / 2)
    return medians


def _queues(cluster: _Cluster, roll: FloatArray, normal: FloatArray) -> IntArray:
    """Six of ten jobs do not wait; the others so that the mean is the published one."""
    waiting, median = 0.4, 30.0
    sigma = np.sqrt(2 * np.log(cluster.queue_mean_s / (waiting * median)))
    seconds = np.minimum(median * np.exp(sigma * normal), 1_000_000)
    queues: IntArray = np.where(roll < waiting, np.ceil(seconds), 0).astype(np.int64)
    return queues


def _states(pct: tuple[float, float, float], roll: FloatArray) -> IntArray:
    completed, cancelled, failed = pct
    return _chosen((completed, cancelled, failed * 0.85, failed * 0.1, failed * 0.05), roll)


def _submitted(name: str, count: int, seed: int, number: IntArray) -> NDArray[np.datetime64]:
    """Times of submission in order, few at dawn and many in the afternoon."""
    span = int((_LAST - _FIRST).astype(np.int64))
    hours = np.arange(0, span + 3600, 3600)
    rate = 1 + 0.5 * np.cos(2 * np.pi * (hours / 3600 % 24 - 16) / 24)
    passed = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2)])
    share = (number + uniforms_at(key_of(seed, "helios", name, "submit"), number)) / count
    seconds = np.interp(share * passed[-1], passed, hours)
    passed_s = np.minimum(seconds, span).astype(np.int64).astype("timedelta64[s]")
    times: NDArray[np.datetime64] = _FIRST + passed_s
    return times


def _chosen(shares: tuple[float, ...], roll: FloatArray) -> IntArray:
    edges = np.cumsum(shares) / np.sum(shares)
    places: IntArray = np.minimum(np.searchsorted(edges, roll), len(shares) - 1).astype(np.int64)
    return places


def _vc_weights(count: int) -> tuple[float, ...]:
    return tuple(float(weight) for weight in 1 / (3 + np.arange(count)))


def _users(cluster: _Cluster) -> int:
    return 40 + (cluster.gpu_jobs + cluster.cpu_jobs) // 6000


def _normals(key: np.uint64, number: IntArray) -> FloatArray:
    """Standard normal numbers (Box–Muller), a pair of draws each."""
    radius = np.sqrt(-2.0 * np.log(uniforms_at(key, 2 * number)))
    normal: FloatArray = radius * np.cos(2.0 * np.pi * uniforms_at(key, 2 * number + 1))
    return normal


def _code(name: str, number: int, length: int) -> str:
    """Letters and digits for the name of a user or virtual cluster, another for each number."""
    value = int(key_of("helios", name, "code")) % 62**length + number * 977
    digits = []
    for _ in range(length):
        value, digit = divmod(value, 62)
        digits.append(_LETTERS[digit])
    return "".join(digits)
