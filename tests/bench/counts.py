"""Value counts to the number of values and their curve, the same for every contender.

Belongs here: what a contender hands back, and the one piece of arithmetic that turns
counts into it. Plain NumPy only, nothing of `tasks.series`: a mistake in the product
must not be able to hide in the yardstick it is checked with.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEVELS = 1000
# Parts are merged once this many entries wait: rarely where all values differ, and never
# so late that the waiting parts would be what the memory is spent on.
_WAITING = 4_000_000


@dataclass(frozen=True)
class Outcome:
    """What a contender found: how many values, and their quantiles; None where it finds neither."""

    count: int | None = None
    curve: FloatArray | None = None

    @classmethod
    def joined(cls, parts: list[Outcome]) -> Outcome:
        """Several curves behind each other, their counts added: what a file of server types has."""
        curves = [part.curve for part in parts if part.curve is not None]
        return cls(sum(part.count or 0 for part in parts), np.concatenate(curves) if curves else None)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Outcome:
        """The inverse of `to_json`."""
        curve = found["curve"]
        return cls(found["count"], None if curve is None else np.array(curve, np.float64))

    def to_json(self) -> dict[str, Any]:
        """Plain values; JSON keeps each double exactly."""
        return {"count": self.count, "curve": None if self.curve is None else self.curve.tolist()}

    @property
    def digest(self) -> str | None:
        """A short name of the curve, for result files; adding 0.0 makes both zeros one."""
        if self.curve is None:
            return None
        return hashlib.sha256((self.curve + 0.0).tobytes()).hexdigest()[:16]


def levels() -> FloatArray:
    """The levels of the published curves, fractions of 1."""
    return np.linspace(0, 1, LEVELS)


def quantiles(values: FloatArray, counts: IntArray, at: FloatArray) -> FloatArray:
    """Quantiles of ascending `values` that occur `counts[i]` times, as `np.quantile` gives them.

    The side an interpolation starts from decides its last bit, so both are kept here too.
    """
    ends = np.cumsum(counts)
    total = int(ends[-1])
    position = (total - 1) * at
    rank = np.floor(position).astype(np.int64)
    share = position - rank
    left = values[np.searchsorted(ends, rank, side="right")]
    right = values[np.searchsorted(ends, np.minimum(rank + 1, total - 1), side="right")]
    step = right - left
    return np.where(share >= 0.5, right - step * (1 - share), left + step * share)


@dataclass
class Counts:
    """Counts of values that come in parts, in any order; a value may come again in each part."""

    _values: list[FloatArray] = field(default_factory=list)
    _counts: list[IntArray] = field(default_factory=list)
    _entries: int = 0

    def add(self, values: Any, counts: Any) -> None:
        """Take a part: `values[i]`, never NaN, seen `counts[i]` times more."""
        values, counts = np.asarray(values, np.float64), np.asarray(counts, np.int64)
        self._values.append(values)
        self._counts.append(counts)
        self._entries += len(values)
        if self._entries > _WAITING and len(self._values) > 1:
            before = len(self._values[0])
            self._merge()
            # Mostly new values: wait for as many again, or merging would cost the square of the size.
            self._entries = 0 if len(self._values[0]) > 1.5 * before else len(self._values[0]) // 2

    def add_cells(self, cells: FloatArray) -> None:
        """Take an array of values of any shape, NaN where a cell is blank."""
        flat = cells.ravel()
        self.add(*np.unique(flat[~np.isnan(flat)], return_counts=True))

    def outcome(self) -> Outcome:
        """Number and curve of all parts together."""
        self._merge()
        values, counts = self._values[0], self._counts[0]
        if not len(values):
            return Outcome(0, None)
        return Outcome(int(counts.sum()), quantiles(values, counts, levels()))

    def _merge(self) -> None:
        values = np.concatenate([np.empty(0), *self._values])
        counts = np.concatenate([np.empty(0, np.int64), *self._counts])
        order = np.argsort(values, kind="stable")
        values, counts = values[order], counts[order]
        first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])[: len(values)]
        merged = np.add.reduceat(counts, first) if len(values) else counts
        self._values, self._counts = [values[first]], [merged]
