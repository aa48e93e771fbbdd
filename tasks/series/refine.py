"""Exact order statistics of values too many to keep, found in several passes.

A truncated `ValueCounts` says in which range of doubles each wanted rank lies.
The next pass counts only values inside those ranges, with finer keys, until the
keys are whole doubles. Memory stays at the table's limit; the number of passes
is small because each divides a range by limit ÷ ranks (at least 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.counts import FloatArray, IntArray, KeyArray, ValueCounts, key_values, order_key, order_keys


@dataclass(frozen=True)
class KeyRanges:
    """Closed, disjoint, ascending ranges of order keys: what a refining pass counts."""

    lows: KeyArray
    highs: KeyArray

    @classmethod
    def union(cls, parts: list[KeyRanges]) -> KeyRanges:
        """All keys of any part. Ranges that overlap are those of nested bins and melt into one."""
        parts = [part for part in parts if len(part.lows)]
        if not parts:
            return cls(np.empty(0, np.uint64), np.empty(0, np.uint64))
        lows = np.concatenate([part.lows for part in parts])
        highs = np.concatenate([part.highs for part in parts])
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], np.maximum.accumulate(highs[order])
        fresh = np.ones(len(lows), bool)
        fresh[1:] = lows[1:] > highs[:-1]
        last = np.append(np.flatnonzero(fresh)[1:] - 1, len(lows) - 1)
        return cls(lows[fresh], highs[last])

    def hold(self, values: FloatArray) -> NDArray[np.bool_]:
        """Which of the finite `values` lie inside a range; shape as given."""
        if not len(self.lows):
            return np.zeros(np.shape(values), bool)
        keys = order_keys(values)
        place = np.searchsorted(self.lows, keys, side="right") - 1
        return (place >= 0) & (keys <= self.highs[np.maximum(place, 0)])

    def sieve(self) -> tuple[NDArray[np.bool_], int]:
        """A table, and how many low bits of a key to drop, for `may_hold`."""
        table = np.zeros(_SIEVE_SIZE, np.bool_)
        shift = int(np.bitwise_or.reduce(self.lows ^ self.highs, initial=0)).bit_length()
        if shift == 64:
            table[:] = True
            return table, 0
        for key in self.lows:
            table[_sieve_place(key, shift)] = True
        return table, shift


_SIEVE_SIZE = 1 << 16
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: Knuth, TAOCP vol. 3, section 6.4
_48 = np.uint64(48)


@njit(nogil=True, cache=True)
def _sieve_place(key: np.uint64, shift: int) -> np.uint64:
    return ((key >> np.uint64(shift)) * _SPREAD) >> _48


@njit(nogil=True, cache=True)
def may_hold(sieve: NDArray[np.bool_], shift: int, value: float) -> bool:
    """False only for a finite value that no range holds, and for most of these."""
    return bool(sieve[_sieve_place(order_key(value), shift)])


@dataclass(frozen=True)
class RankSearch:
    """Where the wanted ranks lie after the passes so far.

    `ranks` ascending; rank i is the (ranks[i] - below[i])-th key (from 0) inside
    [lows[i], highs[i]]. Done when every range is a single double.
    """

    ranks: IntArray
    lows: KeyArray
    highs: KeyArray
    below: IntArray

    @classmethod
    def start(cls, ranks: IntArray) -> RankSearch:
        """Nothing known: every rank may be any double."""
        return cls(
            ranks,
            np.zeros(len(ranks), np.uint64),
            np.full(len(ranks), np.iinfo(np.uint64).max),
            np.zeros(len(ranks), np.int64),
        )

    @property
    def done(self) -> bool:
        """Whether every wanted value is known."""
        return bool(np.all(self.lows == self.highs))

    def ranges(self) -> KeyRanges:
        """The ranges the next pass has to count."""
        open_ = self.lows < self.highs
        lows, first = np.unique(self.lows[open_], return_index=True)
        return KeyRanges(lows, self.highs[open_][first])

    def advance(self, table: ValueCounts) -> RankSearch:
        """The search after a pass whose `table` counts at least all values inside `ranges()`.

        Where the table is no finer than what is known already, as it can be when it
        serves other searches too, nothing changes.
        """
        shift = np.uint64(table.shift)
        bin_width = (np.uint64(1) << shift) - np.uint64(1)
        cumulative = np.concatenate([[0], np.cumsum(table.counts)])
        first_keys = table.keys << shift
        lows, highs, below = self.lows.copy(), self.highs.copy(), self.below.copy()
        open_ = self.highs - self.lows > bin_width
        before = cumulative[np.searchsorted(first_keys, self.lows[open_])]
        place = np.searchsorted(cumulative, self.ranks[open_] - self.below[open_] + before, side="right") - 1
        lows[open_] = first_keys[place]
        highs[open_] = first_keys[place] | bin_width
        below[open_] += cumulative[place] - before
        return RankSearch(self.ranks, lows, highs, below)

    def same_as(self, other: RankSearch) -> bool:
        """Whether both know the same."""
        return np.array_equal(self.lows, other.lows) and np.array_equal(self.highs, other.highs)

    def values(self, ranks: IntArray) -> FloatArray:
        """The order statistics at `ranks`, each one of the wanted."""
        return key_values(self.lows[np.searchsorted(self.ranks, ranks)])
