"""Which jobs were seen before, over all parts of a log, in 48 bytes a job.

A job is told by 128 bits of a hash: twice the same means the same name and times
for all logs there are. Hashes are kept as sorted runs whose lengths double, so
that looking up and adding cost little however long the log is.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
_KEYS = ("acmetrace-jobs-1", "acmetrace-jobs-2")
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


class Seen:
    """Names and names with times of the jobs seen so far."""

    def __init__(self) -> None:
        self._names = _Runs()
        self._jobs = _Runs()

    def add(
        self, ids: list[str], submit: NDArray[np.int64], start: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Take the next jobs: which repeat an earlier one, and which only repeat its name."""
        text = np.array(ids, dtype=object)
        names = [pd.util.hash_array(text, hash_key=key, categorize=False) for key in _KEYS]
        times = submit.view(np.uint64) * _ODD[0] + start.view(np.uint64) * _ODD[1]
        with np.errstate(over="ignore"):
            jobs = [(name + times) * odd for name, odd in zip(names, _ODD, strict=True)]
        again = self._jobs.add(*jobs)
        return again, self._names.add(*names) & ~again


class _Runs:
    def __init__(self) -> None:
        self._runs: list[tuple[Hashes, Hashes]] = []

    def add(self, first: Hashes, second: Hashes) -> NDArray[np.bool_]:
        """Add hashes; which of them were there, or stand earlier among these."""
        order = np.lexsort((np.arange(len(first)), second, first))
        a, b = first[order], second[order]
        known = np.zeros(len(a), bool)
        known[1:] = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
        for run_a, run_b in self._runs:
            place = np.searchsorted(run_a, a)
            inside = place < len(run_a)
            at = place[inside]
            known[inside] |= (run_a[at] == a[inside]) & (run_b[at] == b[inside])
        fresh = ~known
        self._append(a[fresh], b[fresh])
        found = np.zeros(len(a), bool)
        found[order] = known
        return found

    def _append(self, a: Hashes, b: Hashes) -> None:
        while self._runs and len(self._runs[-1][0]) <= 2 * len(a):
            run_a, run_b = self._runs.pop()
            a, b = np.concatenate([run_a, a]), np.concatenate([run_b, b])
            order = np.argsort(a, kind="stable")
            a, b = a[order], b[order]
        if len(a):
            self._runs.append((a, b))
