"""Latched gauges: when a value began, when it was last seen, and what was seen before.

XID_ERRORS repeats the last code at every sample until it is cleared, so cells say
nothing; what counts is a change. A *run* is a longest stretch of samples of an
entity with the same value, blanks aside. Blocks of a file give the runs in them,
and runs that a cut parted are joined when all are known, so that the result does not
depend on where a file was cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.counts import IntArray

# An onset so soon after the end of the same code is the same episode.
SAME_EPISODE_MS = 30_000

# Columns of `Runs.rows`.
FILE, START, ENTITY, VALUE, FIRST, LAST, SAMPLES = range(7)
# Columns of the kernel's register.
FIELDS = 5


@njit(nogil=True, cache=True)
def note_runs(
    staged: NDArray[np.int32],
    ms: int,
    current: NDArray[np.int64],
    runs: NDArray[np.int64],
    used: int,
) -> int:
    """Add a staged row to the current runs (value, first, last, samples); the used rows of `runs` after it.

    A value that changes closes its run, which goes to `runs` with its column in front. What is
    blank or no fixed-point number changes nothing.
    """
    for c in range(len(staged)):
        value = np.int64(staged[c])
        if value < 0:
            continue
        if value != current[c, 0]:
            if current[c, 3] > 0:
                runs[used, 0] = c
                for k in range(4):
                    runs[used, k + 1] = current[c, k]
                used += 1
            current[c, 0] = value
            current[c, 1] = ms
            current[c, 3] = 0
        current[c, 2] = ms
        current[c, 3] += 1
    return used


@dataclass(frozen=True)
class Runs:
    """The runs of some blocks: a row each, by entity, file and block, in the order of the file.

    rows, int64[n, 7]: index of the file, start of the block, index of the entity, value as an
    integer of 10**-decimals, first and last time (UTC ms), samples.
    """

    files: tuple[str, ...]
    entities: NDArray[np.str_]
    rows: IntArray

    @classmethod
    def empty(cls) -> Runs:
        """No run: the unit of `merge`."""
        return cls((), np.empty(0, "U1"), np.empty((0, 7), np.int64))

    @classmethod
    def of_block(cls, url: str, start: int, columns: Sequence[str], found: IntArray) -> Runs:
        """Those of one block; `found` has column, value, first, last, samples of each in order."""
        rows = np.zeros((len(found), 7), np.int64)
        rows[:, START] = start
        rows[:, ENTITY:] = found
        names = np.array(columns, np.str_) if len(columns) else np.empty(0, "U1")
        return cls((url,), names, _ordered(rows))

    def merge(self, other: Runs) -> Runs:
        """Those of both; no block may be in both."""
        if not len(other.rows):
            return self
        if not len(self.rows):
            return other
        files = tuple(sorted({*self.files, *other.files}))
        entities = np.union1d(self.entities, other.entities)
        rows = np.concatenate([part._renumbered(files, entities) for part in (self, other)])
        return Runs(files, entities, _ordered(rows))

    def joined(self) -> IntArray:
        """The runs with those joined that a cut parted; rows as in `rows`, with 1 for the first in START.

        START tells whether the run is the first of its entity: what was before it, nobody saw.
        """
        rows = self.rows
        if not len(rows):
            return rows
        new_entity = np.append(True, rows[1:, ENTITY] != rows[:-1, ENTITY])
        begins = new_entity | np.append(True, rows[1:, VALUE] != rows[:-1, VALUE])
        edges = np.flatnonzero(begins)
        whole = rows[edges].copy()
        whole[:, START] = new_entity[edges]
        whole[:, FIRST] = np.minimum.reduceat(rows[:, FIRST], edges)
        whole[:, LAST] = np.maximum.reduceat(rows[:, LAST], edges)
        whole[:, SAMPLES] = np.add.reduceat(rows[:, SAMPLES], edges)
        return whole

    def episodes(self) -> IntArray:
        """Stretches with a value other than zero, int64[n, 6].

        Columns: entity, value, first and last time, samples, and 1 where the entity had the value
        at its first sample, so that the onset is not known. Two of the same entity and value are
        one if nothing but zeros and at most 30 s lie between them.
        """
        faulty = self.joined()
        faulty = faulty[faulty[:, VALUE] != 0]
        if not len(faulty):
            return np.empty((0, 6), np.int64)
        follows = (
            (faulty[1:, ENTITY] == faulty[:-1, ENTITY])
            & (faulty[1:, VALUE] == faulty[:-1, VALUE])
            & (faulty[1:, FIRST] - faulty[:-1, LAST] <= SAME_EPISODE_MS)
        )
        edges = np.flatnonzero(np.append(True, ~follows))
        return np.stack(
            [
                faulty[edges, ENTITY],
                faulty[edges, VALUE],
                faulty[edges, FIRST],
                np.maximum.reduceat(faulty[:, LAST], edges),
                np.add.reduceat(faulty[:, SAMPLES], edges),
                faulty[edges, START],
            ],
            axis=1,
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays."""
        files = np.array(self.files, np.str_) if self.files else np.empty(0, "U1")
        return {"files": files, "entities": self.entities, "rows": self.rows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Runs:
        """The inverse of `to_arrays`."""
        return cls(tuple(arrays["files"].tolist()), arrays["entities"], arrays["rows"])

    def _renumbered(self, files: tuple[str, ...], entities: NDArray[np.str_]) -> IntArray:
        rows = self.rows.copy()
        rows[:, FILE] = np.array([files.index(file) for file in self.files], np.int64)[rows[:, FILE]]
        rows[:, ENTITY] = np.searchsorted(entities, self.entities)[rows[:, ENTITY]]
        return rows


def _ordered(rows: IntArray) -> IntArray:
    """By entity, file and block; runs of a block stay in their order."""
    return rows[np.lexsort((rows[:, START], rows[:, FILE], rows[:, ENTITY]))]
