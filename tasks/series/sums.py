"""Exact sums of float64 that do not depend on order or grouping.

Here belongs the addition of doubles without rounding: an accumulator that
compiled loops add to, and `ExactSums`, the value that crosses processes and
merges. Which values are added, and to which row, is the scan's business; means
and shares are made from `to_fractions` or `to_floats` elsewhere.

Method. Every finite double is an integer times 2^-1074, so a sum is an integer
too, of some 2100 bits. A row of `LIMBS` int64 holds it in base 2^32: limb j
weighs 2^(32·j - 1074). A double reaches three limbs, and 31 spare bits in each
put carries off (Kulisch, "Computer Arithmetic and Validity", 2008; Neal, "Fast
exact summation using small and large superaccumulators", arXiv:1505.05571,
2015). In canonical form every limb is a digit in [-2^31, 2^31). An integer has
exactly one such form, and, unlike two's complement, a small negative one has
few digits; therefore equal sums have equal arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

LIMBS = 68
"""Limbs of an accumulator: 66 for every double, two for sums of up to 2^76 of the largest."""

ADDS_BEFORE_NORMALISE = 2**30
"""Additions to one row that may follow zeros or `normalise` before the next `normalise`.

A block of fewer than 2 GiB cannot hold more cells than this, since a cell and its
separator take two bytes: a caller who normalises after each block need not count.
"""

LimbArray = NDArray[np.int64]

_LIMB_BITS = 32
_LOWEST_EXPONENT = -1074
_HALF, _BASE = 2**31, 2**32
# Rows whose digits can be added up in int64 before carries are due.
_MOST_ROWS = 2**31

# Typed constants: compiled uint64 arithmetic with a plain int would turn to float64.
_1, _5, _31, _32, _52, _63 = (np.uint64(n) for n in (1, 5, 31, 32, 52, 63))
_EXPONENT_FIELD = np.uint64(0x7FF)
_FRACTION = np.uint64(2**52 - 1)
_LIMB_MASK = np.uint64(2**32 - 1)


@njit(nogil=True, cache=True)
def add_value(limbs: LimbArray, row: int, value: float) -> bool:
    """Add `value` exactly to accumulator `row` of `limbs`, int64[n, LIMBS].

    False, with nothing added, where the value is infinite or NaN. At most
    `ADDS_BEFORE_NORMALISE` additions to a row may go between two calls of
    `normalise`; indices are not checked.
    """
    bits = np.float64(value).view(np.uint64)
    field = (bits >> _52) & _EXPONENT_FIELD
    if field == _EXPONENT_FIELD:
        return False
    # Subnormals share the exponent of the smallest normals and lack their leading bit.
    normal = np.uint64(field != 0)
    mantissa = (bits & _FRACTION) | (normal << _52)
    position = field - normal
    limb = np.int64(position >> _5)
    offset = position & _31
    low = mantissa << offset
    # Two shifts, because a shift by 64 bits is undefined.
    high = (mantissa >> _1) >> (_63 - offset)
    sign = -np.int64(bits >> _63)
    # x ^ -1 is -x - 1: negates without a branch on the sign.
    limbs[row, limb] += (np.int64(low & _LIMB_MASK) ^ sign) - sign
    limbs[row, limb + 1] += (np.int64(low >> _32) ^ sign) - sign
    limbs[row, limb + 2] += (np.int64(high) ^ sign) - sign
    return True


@njit(nogil=True, cache=True)
def normalise(limbs: LimbArray) -> None:
    """Bring each row of `limbs`, int64[n, k], to canonical form in place; sums stay.

    The last limb keeps what would be carried out of the row.
    """
    for row in range(limbs.shape[0]):
        carry = np.int64(0)
        for j in range(limbs.shape[1] - 1):
            held = limbs[row, j] + carry
            carry = (held + _HALF) >> _LIMB_BITS
            limbs[row, j] = held - (carry << _LIMB_BITS)
        if limbs.shape[1] > 0:
            limbs[row, limbs.shape[1] - 1] += carry


@dataclass(frozen=True, eq=False)
class ExactSums:
    """n exact sums in canonical form; equal sums compare equal.

    `limbs`, int64[n, k], holds the digits in [-2^31, 2^31) of each sum; column c
    weighs 2^(32·(first_limb + c) - 1074). The outer columns are not all zero; with
    k = 0, where all sums are zero, `first_limb` is 0. The array is read-only.

    Raises ValueError for anything else.
    """

    first_limb: int
    limbs: LimbArray

    def __post_init__(self) -> None:
        limbs = self.limbs
        if limbs.ndim != 2 or limbs.dtype != np.int64:
            raise ValueError(f"limbs are {limbs.dtype}[{limbs.ndim} dimensions], expected int64[n, k]")
        rows, width = limbs.shape
        if self.first_limb < 0 or self.first_limb + width > LIMBS:
            raise ValueError(f"limbs {self.first_limb} + {width} leave the range of {LIMBS}")
        if rows >= _MOST_ROWS:
            raise ValueError(f"{rows} rows, expected fewer than {_MOST_ROWS}")
        if width == 0 and self.first_limb != 0:
            raise ValueError(f"first_limb is {self.first_limb}, expected 0 where all sums are zero")
        if width and not (limbs[:, 0].any() and limbs[:, -1].any()):
            raise ValueError("an outer column of limbs is all zero")
        if limbs.size and (limbs.min() < -_HALF or limbs.max() >= _HALF):
            raise ValueError("a limb is not a digit in [-2^31, 2^31)")
        limbs.flags.writeable = False

    @classmethod
    def zeros(cls, n: int) -> ExactSums:
        """n sums of nothing: the unit of `merge`."""
        return cls(0, np.zeros((n, 0), dtype=np.int64))

    @classmethod
    def from_limbs(cls, limbs: LimbArray) -> ExactSums:
        """The sums in accumulators int64[n, LIMBS], canonical or not; `limbs` stays as it is."""
        if limbs.ndim != 2 or limbs.shape[1] != LIMBS:
            raise ValueError(f"accumulators have shape {limbs.shape}, expected (n, {LIMBS})")
        return _canonical(0, limbs.copy())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ExactSums:
        """The inverse of `to_arrays`; ValueError where the arrays are not canonical."""
        first, limbs = arrays["first_limb"], arrays["limbs"]
        if first.shape != () or first.dtype.kind != "i" or limbs.dtype.kind != "i":
            raise ValueError(
                f"found {first.dtype}{first.shape}, {limbs.dtype}{limbs.shape}, expected integers"
            )
        return cls(int(first), limbs.astype(np.int64, order="C"))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """`first_limb`, int64[], and `limbs`, int32[n, k]: plain arrays, as for `np.savez`."""
        return {"first_limb": np.array(self.first_limb, dtype=np.int64), "limbs": self.limbs.astype(np.int32)}

    def __len__(self) -> int:
        return len(self.limbs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactSums):
            return NotImplemented
        return self.first_limb == other.first_limb and np.array_equal(self.limbs, other.limbs)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return (ExactSums.from_arrays, (self.to_arrays(),))

    def merge(self, other: ExactSums) -> ExactSums:
        """Row-wise sums; associative and commutative. ValueError where n differs."""
        if len(self) != len(other):
            raise ValueError(f"merging {len(other)} sums into {len(self)}: take both to the same rows first")
        parts = [part for part in (self, other) if part.limbs.shape[1]]
        if not parts:
            return self
        first = min(part.first_limb for part in parts)
        stop = max(part.first_limb + part.limbs.shape[1] for part in parts)
        # One spare column takes the last carry: two digits make at most one.
        added = np.zeros((len(self), stop - first + 1), dtype=np.int64)
        for part in parts:
            begin = part.first_limb - first
            added[:, begin : begin + part.limbs.shape[1]] += part.limbs
        return _canonical(first, added)

    def take(self, index_map: NDArray[np.integer[Any]], n: int) -> ExactSums:
        """n sums, of which row `index_map[i]` is row i of these, and all others are zero.

        Rows that go to the same place are added. ValueError where `index_map` does
        not have one place in [0, n) for each row.
        """
        places = np.asarray(index_map)
        if places.shape != (len(self),) or (places.size and (places.min() < 0 or places.max() >= n)):
            raise ValueError(f"index map of shape {places.shape}, expected {len(self)} places in [0, {n})")
        moved = np.zeros((n, self.limbs.shape[1] + 1), dtype=np.int64)
        np.add.at(moved[:, :-1], places, self.limbs)
        return _canonical(self.first_limb, moved)

    def total(self) -> ExactSums:
        """The sum of all rows, as one row."""
        return self.take(np.zeros(len(self), dtype=np.int64), 1)

    def to_fractions(self) -> list[Fraction]:
        """Each sum as the exact rational number that it is."""
        return [Fraction(units, 1 << -_LOWEST_EXPONENT) for units in self._units()]

    def to_floats(self) -> NDArray[np.float64]:
        """Each sum rounded once, to nearest and ties to even; infinite beyond the doubles. float64[n]."""
        return np.array([_rounded(units) for units in self._units()], dtype=np.float64)

    def _units(self) -> list[int]:
        """Each sum as a multiple of the smallest subnormal."""
        units = []
        for digits in self.limbs.tolist():
            value = 0
            for digit in reversed(digits):
                value = (value << _LIMB_BITS) + digit
            units.append(value << _LIMB_BITS * self.first_limb)
        return units


def _canonical(first: int, limbs: LimbArray) -> ExactSums:
    """Normalise `limbs`, which it owns, and keep the columns that are in use."""
    normalise(limbs)
    used = np.flatnonzero(limbs.any(axis=0))
    if not used.size:
        return ExactSums.zeros(len(limbs))
    begin, stop = int(used[0]), int(used[-1]) + 1
    return ExactSums(first + begin, np.ascontiguousarray(limbs[:, begin:stop]))


def _rounded(units: int) -> float:
    """units·2^-1074 as a double: division of integers in Python rounds correctly."""
    try:
        return units / (1 << -_LOWEST_EXPONENT)
    except OverflowError:
        return np.inf if units > 0 else -np.inf
