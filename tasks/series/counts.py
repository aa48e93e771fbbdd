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
from numba import njit
from numpy.typing import NDArray

from tasks.series.swar import leading_zeros

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
KeyArray = NDArray[np.uint64]

DEFAULT_LIMIT = 1 << 19

_SIGN = np.uint64(1 << 63)
_63 = np.int64(63)


@njit(nogil=True, cache=True)
def order_key(value: float) -> np.uint64:
    """The uint64 key of a finite double; keys have the doubles' order, and -0.0 that of 0.0."""
    bits = np.float64(value + 0.0).view(np.uint64)
    # All ones for a negative number: its bits are turned over.
    return bits ^ (np.uint64(np.int64(bits) >> _63) | _SIGN)


@njit(nogil=True, cache=True)
def order_keys(values: FloatArray) -> KeyArray:
    """The `order_key` of each of n finite doubles."""
    keys = np.empty(len(values), np.uint64)
    for i in range(len(values)):
        keys[i] = order_key(values[i])
    return keys


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
        return cls.empty(limit).add(values, counts)

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

    def add(self, values: FloatArray, counts: IntArray | None = None) -> ValueCounts:
        """With finite `values` counted too, each `counts[i]` times (once by default)."""
        keys = order_keys(np.array(values, np.float64))
        if counts is None:
            keys >>= np.uint64(self.shift)
            # Short keys are sorted in half the time.
            short = keys.astype(np.uint32) if self.shift >= 32 else keys
            short.sort()
            return self._with(*_counted(short), self.shift, self.limit)
        order = np.argsort(keys, kind="stable")
        return self._with(*_grouped(keys[order], counts[order], 0), 0, self.limit)

    def merge(self, other: ValueCounts) -> ValueCounts:
        """Both tables added up."""
        return self._with(other.keys, other.counts, other.shift, min(self.limit, other.limit))

    def _with(self, keys: KeyArray, counts: IntArray, shift: int, limit: int) -> ValueCounts:
        """With distinct, ascending `keys` that have lost `shift` bits."""
        most = max(self.shift, shift, _bits_to_drop(keys, limit) + shift)
        keys, counts = _grouped(keys, counts, most - shift)
        mine, my_counts = _grouped(self.keys, self.counts, most - self.shift)
        keys, counts = _merged(mine, my_counts, keys, counts)
        more = _bits_to_drop(keys, limit)
        return ValueCounts(*_grouped(keys, counts, more), most + more, limit)

    def same_as(self, other: ValueCounts) -> bool:
        """Equality of content."""
        return (
            self.shift == other.shift
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )


# The loops below make no branch of a comparison of keys: its outcome cannot be foretold.


@njit(nogil=True, cache=True)
def _counted(keys: NDArray[np.uint32 | np.uint64]) -> tuple[KeyArray, IntArray]:
    """Distinct keys of an ascending array, and how often each occurs."""
    distinct = np.empty(len(keys), np.uint64)
    counts = np.zeros(len(keys) + 1, np.int64)
    filled = 0
    for i in range(len(keys)):
        distinct[filled] = keys[i]
        counts[filled] += 1
        filled += i + 1 == len(keys) or keys[i + 1] != keys[i]
    return distinct[:filled].copy(), counts[:filled].copy()


@njit(nogil=True, cache=True)
def _grouped(keys: KeyArray, counts: IntArray, bits: int) -> tuple[KeyArray, IntArray]:
    """Ascending keys without their lowest `bits`, distinct, and the counts of equal ones added up."""
    distinct = np.empty(len(keys), np.uint64)
    added = np.zeros(len(keys) + 1, np.int64)
    filled = 0
    for i in range(len(keys)):
        key = keys[i] >> np.uint64(bits)
        distinct[filled] = key
        added[filled] += counts[i]
        filled += i + 1 == len(keys) or keys[i + 1] >> np.uint64(bits) != key
    return distinct[:filled].copy(), added[:filled].copy()


@njit(nogil=True, cache=True)
def _merged(
    left: KeyArray, left_counts: IntArray, right: KeyArray, right_counts: IntArray
) -> tuple[KeyArray, IntArray]:
    """Distinct, ascending keys of two such arrays, and their counts added up."""
    keys = np.empty(len(left) + len(right), np.uint64)
    counts = np.empty(len(keys), np.int64)
    i, j, filled = 0, 0, 0
    while i < len(left) and j < len(right):
        from_left, from_right = left[i] <= right[j], right[j] <= left[i]
        keys[filled] = min(left[i], right[j])
        counts[filled] = left_counts[i] * from_left + right_counts[j] * from_right
        i += from_left
        j += from_right
        filled += 1
    for rest in range(i, len(left)):
        keys[filled], counts[filled] = left[rest], left_counts[rest]
        filled += 1
    for rest in range(j, len(right)):
        keys[filled], counts[filled] = right[rest], right_counts[rest]
        filled += 1
    return keys[:filled].copy(), counts[:filled].copy()


@njit(nogil=True, cache=True)
def _bits_to_drop(keys: KeyArray, limit: int) -> int:
    """The smallest s for which at most `limit` of the keys differ in their upper 64 - s bits.

    Keys are distinct and ascend.
    """
    if len(keys) <= limit:
        return 0
    # Neighbours fall together once the shift reaches the bit length of what they differ in.
    of_length = np.zeros(65, np.int64)
    for i in range(1, len(keys)):
        of_length[64 - leading_zeros(keys[i] ^ keys[i - 1])] += 1
    distinct = len(keys)
    for shift in range(65):
        distinct -= of_length[shift]
        if distinct <= limit:
            return shift
    return 64
