"""Samples as the exporters of a small cluster leave them, and what PromQL makes of them, in plain Python.

Label sets are those of real scrapes of dcgm-exporter: with and without
`Hostname`, with the labels of a pod, of a MIG instance, of a node that comes late.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from tests.doubles.prometheus import Sampled

START = int(datetime(2024, 5, 6, tzinfo=UTC).timestamp())
SCRAPES = 480  # two hours, 15 s apart
INTERVAL = 15
LOOK_BACK = 300

Points = list[tuple[float, float]]


def gpu_labels(host: str, gpu: int, **more: str) -> dict[str, str]:
    """The labels of a GPU in a real scrape, with those that Prometheus adds."""
    labels = {
        "gpu": str(gpu),
        "UUID": f"GPU-{host}-{gpu}",
        "pci_bus_id": f"00000000:{gpu + 16:02X}:00.0",
        "device": f"nvidia{gpu}",
        "modelName": "NVIDIA L40S",
        "Hostname": host,
        "DCGM_FI_DRIVER_VERSION": "595.58.03",
        "instance": "10.42.0.7:9400",
        "job": "dcgm",
    }
    return {name: text for name, text in {**labels, **more}.items() if text}


def points(values: Sequence[float], first: int = 0, shift: float = 3.2) -> Points:
    """Values as scraped from scrape number `first` on, a little after the full step."""
    return [(round(START + INTERVAL * (first + i) + shift, 3), float(v)) for i, v in enumerate(values)]


GPU_VALUES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "DCGM_FI_DEV_GPU_UTIL": lambda rng, n: rng.integers(0, 101, n),
    "DCGM_FI_DEV_POWER_USAGE": lambda rng, n: np.round(rng.uniform(60, 400, n), 3),
    "DCGM_FI_DEV_FB_USED": lambda rng, n: rng.integers(0, 46_000, n),
    "DCGM_FI_PROF_SM_ACTIVE": lambda rng, n: np.round(rng.uniform(0, 1, n), 6),
}


def gpus() -> Iterator[Sampled]:
    """GPU metrics of all kinds of label sets."""
    rng = np.random.default_rng(7)
    for name, draw in GPU_VALUES.items():
        for gpu in range(2):
            yield Sampled(name, gpu_labels("gpu1-wl8sg", gpu), points(draw(rng, SCRAPES)))
        # One GPU, two pods after one another: the second label set starts when the first is forgotten.
        for pod, first, count in (("train-1", 0, 200), ("train-2", 230, 150)):
            labels = gpu_labels("gpu10-x2", 0, exported_pod=pod, exported_container="main")
            yield Sampled(name, labels, points(draw(rng, count), first, 7.9))
        for instance in ("1", "2"):
            labels = gpu_labels("gpu2-mig", 0, GPU_I_ID=instance, GPU_I_PROFILE="3g.20gb")
            yield Sampled(name, labels, points(draw(rng, SCRAPES), shift=1.0))
        yield Sampled(
            name, gpu_labels("", 0, instance="10.0.9.4:9400"), points(draw(rng, SCRAPES), shift=14.5)
        )
        late = gpu_labels("gpu3-late", 1)
        yield Sampled(name, late, points(draw(rng, SCRAPES - 300), first=300))


def nodes() -> Iterator[Sampled]:
    """node_exporter and ipmi_exporter of two nodes; the second node is started anew half way."""
    rng = np.random.default_rng(8)
    for node, instance in enumerate(("10.0.0.1:9100", "10.0.0.2:9100")):
        labels = {"instance": instance, "job": "node"}
        reset = node * SCRAPES // 2
        for cpu in range(2):
            idle = rng.uniform(0, INTERVAL, SCRAPES)
            for mode, rate in (("idle", idle), ("user", INTERVAL - idle)):
                yield Sampled(
                    "node_cpu_seconds_total",
                    {**labels, "cpu": str(cpu), "mode": mode},
                    points(_counter(rate, reset), shift=2.5),
                )
        total = 1024**3 * 512
        yield Sampled("node_memory_MemTotal_bytes", labels, points([total] * SCRAPES, shift=2.5))
        free = rng.integers(0, total, SCRAPES)
        yield Sampled("node_memory_MemAvailable_bytes", labels, points(free, shift=2.5))
        for device in ("mlx5_0", "mlx5_1"):
            sent = np.floor(rng.uniform(0, 1.5e11, SCRAPES))
            yield Sampled(
                "node_infiniband_port_data_transmitted_bytes_total",
                {**labels, "device": device, "port": "1"},
                points(_counter(sent, reset), shift=2.5),
            )
        watts = rng.integers(800, 6000, SCRAPES)
        if node == 0:
            yield Sampled("ipmi_dcmi_power_consumption_watts", labels, points(watts, shift=9.0))
        else:
            yield Sampled("ipmi_power_watts", {**labels, "name": "Pwr"}, points(watts, shift=9.0))
            yield Sampled("ipmi_power_watts", {**labels, "name": "PSU1"}, points(watts // 2, shift=9.0))


def _counter(steps: np.ndarray, reset: int) -> np.ndarray:
    """A counter that grows by `steps` and starts from 0 at sample number `reset` (0 is never)."""
    counts = np.cumsum(steps)
    if reset:
        counts[reset:] -= counts[reset]
    return np.round(counts, 2)


def instant(sampled: Points, times: Sequence[int]) -> np.ndarray:
    """What a selector gives at `times`: the last sample, if it is less than five minutes old."""
    when = np.array([time for time, _ in sampled])
    what = np.array([value for _, value in sampled])
    places = np.searchsorted(when, times, side="right") - 1
    fresh = (places >= 0) & (np.asarray(times) - when[places] < LOOK_BACK)
    return np.where(fresh, what[places], np.nan)


def rate(sampled: Points, times: Sequence[int], window: int) -> np.ndarray:
    """What `rate` gives at `times`: the increase over the window without resets, extended to its ends."""
    found = []
    for time in times:
        inside = [(when, value) for when, value in sampled if time - window <= when <= time]
        if len(inside) < 2:
            found.append(np.nan)
            continue
        (first, low), (last, high) = inside[0], inside[-1]
        grown = high - low
        for (_, before), (_, after) in itertools.pairwise(inside):
            grown += before if after < before else 0
        covered = last - first
        step = covered / (len(inside) - 1)
        ahead, behind = first - (time - window), time - last
        if grown > 0:
            ahead = min(ahead, covered * low / grown)
        reach = covered
        reach += ahead if ahead < 1.1 * step else step / 2
        reach += behind if behind < 1.1 * step else step / 2
        found.append(grown * reach / covered / window)
    return np.array(found)


def expected_gpus(metric: str, times: Sequence[int], scale: float, decimals: int) -> pd.DataFrame:
    """The wide table of a GPU metric, made of the samples alone."""
    columns: dict[str, pd.Series] = {}
    for one in gpus():
        if one.name != metric:
            continue
        host = one.labels.get("Hostname") or one.labels["instance"].removesuffix(":9400")
        entity = f"{host}-{one.labels['gpu']}"
        if "GPU_I_ID" in one.labels:
            entity += f":{one.labels['GPU_I_ID']}"
        values = pd.Series(instant(list(one.points), times), index=list(times))
        values = (values * scale).round(decimals)
        columns[entity] = columns[entity].combine_first(values) if entity in columns else values
    return pd.DataFrame(columns).dropna(how="all")
