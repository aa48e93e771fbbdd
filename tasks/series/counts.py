"""Value counts: the mergeable table from which every quantile follows exactly.

A table holds distinct values and how often each occurs. Where the distinct
values outgrow `limit`, the table keeps only the leading bits of each value: it
becomes a histogram over ranges of doubles, and `tasks.series.refine` finds the
exact order statistics in further passes. The number of bits dropped depends on
the set of values alone, so merging stays associative and commutative.

Quantiles are computed in `tasks.series.curve`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
KeyArray = NDArray[np.uint64]

DEFAULT_LIMIT = 1 << 19

_SIGN = np.uint64(1 << 63)


def order_keys(values: FloatArray) -> KeyArray:
    """Map finite doubles to uint64 keys of the same order; -0.0 and 0.0 share a key."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def key_values(keys: KeyArray) -> FloatArray:
    """The doubles of exact (untruncated) keys, shape as given."""
    return np.where(keys & _SIGN, keys & ~_SIGN, ~keys).view(np.float64)


@dataclass(frozen=True)
class ValueCounts:
    """Distinct keys in ascending order and their counts (int64, each at least 1).

    With `shift` 0 a key is a double's order key and the table is exact; with
    `shift` s a key stands for the 2**s doubles that share its leading bits.
    `shift` is the smallest for which at most `limit` keys are distinct.
    """

    keys: KeyArray
    counts: IntArray
    shift: int = 0
    limit: int = DEFAULT_LIMIT

    @classmethod
    def empty(cls, limit: int = DEFAULT_LIMIT) -> ValueCounts:
        """The unit of `merge`."""
        return cls(np.empty(0, np.uint64), np.empty(0, np.int64), 0, limit)

    @classmethod
    def of(
        cls, values: FloatArray, counts: IntArray | None = None, limit: int = DEFAULT_LIMIT
    ) -> ValueCounts:
        """Count finite `values`, each `counts[i]` times (once by default); any order, repeats allowed."""
        return _collect(order_keys(np.ascontiguousarray(values, np.float64)), counts, 0, limit)

    @property
    def exact(self) -> bool:
        """Whether every distinct value is kept."""
        return self.shift == 0

    @property
    def total(self) -> int:
        """How many values were counted."""
        return int(self.counts.sum())

    @property
    def values(self) -> FloatArray:
        """The distinct values, ascending. Only an exact table has them."""
        if not self.exact:
            raise ValueError(f"a table that dropped {self.shift} bits has no distinct values")
        return key_values(self.keys)

    def merge(self, other: ValueCounts) -> ValueCounts:
        """Both tables added up."""
        limit = min(self.limit, other.limit)
        if not len(self.keys) and self.limit == limit:
            return other if other.limit == limit else _collect(other.keys, other.counts, other.shift, limit)
        shift = max(self.shift, other.shift)
        keys = np.concatenate([_drop(self.keys, self.shift, shift), _drop(other.keys, other.shift, shift)])
        return _collect(keys, np.concatenate([self.counts, other.counts]), shift, limit)

    def same_as(self, other: ValueCounts) -> bool:
        """Equality of content."""
        return (
            self.shift == other.shift
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )


def _drop(keys: KeyArray, have: int, want: int) -> KeyArray:
    return keys >> np.uint64(want - have)


def _collect(keys: KeyArray, counts: IntArray | None, shift: int, limit: int) -> ValueCounts:
    keys, counts = _grouped(keys, counts)
    more = _bits_to_drop(keys, limit)
    if more:
        keys, counts = _grouped(_drop(keys, 0, more), counts)
    return ValueCounts(keys, counts, shift + more, limit)


def _grouped(keys: KeyArray, counts: IntArray | None) -> tuple[KeyArray, IntArray]:
    if not len(keys):
        return keys, np.empty(0, np.int64)
    if counts is None:
        keys = np.sort(keys)
    elif np.any(keys[1:] < keys[:-1]):
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
    starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    if counts is None:
        return keys[starts], np.diff(np.append(starts, len(keys))).astype(np.int64)
    return keys[starts], np.add.reduceat(counts, starts)


def _bits_to_drop(keys: KeyArray, limit: int) -> int:
    """The smallest s for which at most `limit` of the ascending keys differ in their upper 64 - s bits."""
    if len(keys) <= limit:
        return 0
    differing = keys[1:] ^ keys[:-1]
    # Neighbours fall together once the shift reaches the bit length of what they differ in.
    lengths = np.zeros(len(differing), np.int64)
    for bit in range(64):
        lengths[differing >> np.uint64(bit) != 0] = bit + 1
    distinct = 1 + len(lengths) - np.cumsum(np.bincount(lengths, minlength=65))
    return int(np.argmax(distinct <= limit))
