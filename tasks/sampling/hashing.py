"""Counter-based randomness: every draw is a pure function of a key and a counter.

A value depends on what it is (seed, file, entity, slot), never on which thread
or chunk made it, so any cut of the work gives the same bytes. Mixing function:
splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
generators", OOPSLA '14). What is done with the draws belongs elsewhere.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


def key_of(*parts: object) -> np.uint64:
    """A 64-bit key for a list of names and numbers; equal parts give equal keys on every machine."""
    text = "\x1f".join(map(str, parts)).encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))


@njit(cache=True, nogil=True, inline="always")
def draw(key: np.uint64, counter: int) -> np.uint64:
    """64 random bits at a position of a key's stream, inside compiled code."""
    z = key + np.uint64(counter) * _STEP
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


def bits(key: np.uint64, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The same stream as `draw` for an array of positions; same shape as `counters`."""
    z = key + counters.astype(np.uint64) * _STEP
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


def uniforms_at(key: np.uint64, counters: NDArray[np.int64]) -> FloatArray:
    """Numbers in (0, 1) for an array of positions: both ends are left out, so logarithms are safe."""
    return ((bits(key, counters) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def uniforms(key: np.uint64, count: int) -> FloatArray:
    """The first `count` numbers of a key's stream, in (0, 1)."""
    return uniforms_at(key, np.arange(count))


def normals(key: np.uint64, count: int) -> FloatArray:
    """`count` standard normal numbers (Box–Muller)."""
    pairs = uniforms(key, 2 * count)
    return np.sqrt(-2.0 * np.log(pairs[::2])) * np.cos(2.0 * np.pi * pairs[1::2])


def shuffled(key: np.uint64, count: int) -> NDArray[np.int64]:
    """A permutation of 0 … count − 1."""
    return np.argsort(bits(key, np.arange(count)), kind="stable").astype(np.int64)
