"""Counts of every value of every node and column: the table all statistics follow from.

Quantiles of any group of nodes, and count, sum, minimum and maximum of a node,
are functions of this table. It is exact; where it would outgrow `MOST_ENTRIES`
the scan ends with an error, since an approximation would pass for the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from schemas.errors import AcmetraceError
from tasks.longform.tables import COLUMN_BITS
from tasks.series.counts import FloatArray, IntArray, KeyArray, key_values, order_keys

MOST_ENTRIES = 1 << 23  # 160 MB of 20 bytes each
_COLUMN_MASK = (1 << COLUMN_BITS) - 1

GroupArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Entries in ascending order of group, then key; each pair once, each count at least 1.

    A group is a node's number × 16 + the index of a power column; a key is the
    order key of a double (`tasks.series.counts.order_keys`).
    """

    groups: GroupArray
    keys: KeyArray
    counts: IntArray

    @classmethod
    def empty(cls) -> CellCounts:
        """The unit of `merge`."""
        return cls(np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.int64))

    @classmethod
    def of(cls, groups: IntArray, values: FloatArray, counts: IntArray) -> CellCounts:
        """Finite `values` that occur `counts[i]` times in `groups[i]`; any order, repeats allowed."""
        return _collect(groups.astype(np.int32), order_keys(values), counts)

    def __len__(self) -> int:
        return len(self.groups)

    def merge(self, other: CellCounts) -> CellCounts:
        """Both tables added up; their nodes have the same numbers.

        Raises:
            AcmetraceError: there would be more than MOST_ENTRIES entries.
        """
        if not len(other):
            return self
        if not len(self):
            return other
        n = _merged_length(self.groups, self.keys, other.groups, other.keys)
        _check_size(n)
        groups, keys, counts = np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.int64)
        target = (groups, keys, counts)
        _merge(self.groups, self.keys, self.counts, other.groups, other.keys, other.counts, *target)
        return CellCounts(groups, keys, counts)

    def renumbered(self, numbers: IntArray) -> CellCounts:
        """The same with node i as node `numbers[i]`; nodes that get one number fall together."""
        nodes = numbers[self.groups >> COLUMN_BITS].astype(np.int32)
        groups = (nodes << COLUMN_BITS) | (self.groups & _COLUMN_MASK)
        return _collect(groups, self.keys, self.counts)

    def of_column(self, column: int) -> tuple[IntArray, FloatArray, IntArray]:
        """Node, value and count of the entries of a column, ordered by node, then value."""
        here = np.flatnonzero((self.groups & _COLUMN_MASK) == column)
        nodes = (self.groups[here] >> COLUMN_BITS).astype(np.int64)
        return nodes, key_values(self.keys[here]), self.counts[here]

    def same_as(self, other: CellCounts) -> bool:
        """Equality of content."""
        return (
            np.array_equal(self.groups, other.groups)
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )


def _check_size(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise AcmetraceError(
            f"An IPMI file has more than {MOST_ENTRIES:,} different values of its nodes and columns.",
            hint="Power is usually in whole watts: round the columns, or split the file by nodes.",
        )


def _collect(groups: GroupArray, keys: KeyArray, counts: IntArray) -> CellCounts:
    if not len(groups):
        return CellCounts.empty()
    ordered = (groups[1:] > groups[:-1]) | ((groups[1:] == groups[:-1]) & (keys[1:] >= keys[:-1]))
    if not ordered.all():
        order = np.lexsort((keys, groups))
        groups, keys, counts = groups[order], keys[order], counts[order]
    fresh = (groups[1:] != groups[:-1]) | (keys[1:] != keys[:-1])
    starts = np.concatenate([[0], np.flatnonzero(fresh) + 1])
    _check_size(len(starts))
    return CellCounts(groups[starts], keys[starts], np.add.reduceat(counts, starts))


@njit(nogil=True, cache=True)
def _order(left_group: int, left_key: np.uint64, right_group: int, right_key: np.uint64) -> int:
    """-1, 0 or 1 where the left entry comes before, with or behind the right one."""
    if left_group != right_group:
        return -1 if left_group < right_group else 1
    if left_key == right_key:
        return 0
    return -1 if left_key < right_key else 1


@njit(nogil=True, cache=True)
def _merged_length(g: GroupArray, k: KeyArray, h: GroupArray, m: KeyArray) -> int:
    i, j, n = 0, 0, 0
    while i < len(g) and j < len(h):
        order = _order(g[i], k[i], h[j], m[j])
        i += order <= 0
        j += order >= 0
        n += 1
    return n + len(g) - i + len(h) - j


@njit(nogil=True, cache=True)
def _merge(
    g: GroupArray,
    k: KeyArray,
    c: IntArray,
    h: GroupArray,
    m: KeyArray,
    d: IntArray,
    groups: GroupArray,
    keys: KeyArray,
    counts: IntArray,
) -> None:
    """Merge entries (g, k, c) and (h, m, d) into the last three arrays."""
    i, j = 0, 0
    for n in range(len(groups)):
        if i == len(g):
            order = 1
        elif j == len(h):
            order = -1
        else:
            order = _order(g[i], k[i], h[j], m[j])
        groups[n] = g[i] if order <= 0 else h[j]
        keys[n] = k[i] if order <= 0 else m[j]
        counts[n] = 0
        if order <= 0:
            counts[n] += c[i]
            i += 1
        if order >= 0:
            counts[n] += d[j]
            j += 1
