"""Facts about the machine and the software that a result must be read with.

Belongs here: what is the same for a whole run, and `parallel_gain`, which says how much a
second thread can give on this machine at best.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numba import njit

PACKAGES = ("numpy", "numba", "pandas", "pyarrow", "polars", "duckdb", "dask")
OURSELVES = "acmetrace-pipeline"
_STEPS = 100_000_000  # a few tenths of a second: well above the start of a thread


def facts() -> dict[str, Any]:
    """Processor, cores, memory, kernel, Python and versions, as plain values."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "ram_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in (OURSELVES, *PACKAGES)},
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@njit(nogil=True)
def _spin(steps: int, seed: np.uint64) -> np.uint64:
    """A chain of arithmetic in registers that no compiler can shorten."""
    state = seed
    for _ in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


def parallel_gain(steps: int = _STEPS) -> float:
    """How many times the work of one thread two threads get done: 2 on two free cores.

    Many virtual machines sell two threads of one core as two processors. No program
    gains more there than the core has units to spare, so that the gain of ours from a
    second thread is to be read beside this one, which touches no memory at all.
    """
    _spin(1, np.uint64(1))
    return 2 * _seconds(1, steps) / _seconds(2, steps)


def _seconds(threads: int, steps: int) -> float:
    workers = [
        threading.Thread(target=_spin, args=(steps, np.uint64(number + 1))) for number in range(threads)
    ]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - begin
