"""Compiled hash tables of the long scan: node names to numbers, and keys to counts.

Open addressing with linear probing over plain arrays whose length is a power of
two; 0 marks a free place, so keys and numbers are stored plus one. A table that
is half full is emptied by its owner (`tasks.longform.scan`), never
here. Order of insertion and size of a table never show in what it holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.series.swar import PADDING, load64

COLUMN_BITS = 4  # ten power columns
VALUE_BITS = 18  # fixed-point values and the stages below them

UNKNOWN = -1
_FEWEST_NAMES = 128

# Typed constants: compiled uint64 arithmetic with a plain int would turn to float64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_LOW3, _3, _8, _32 = np.uint64(7), np.uint64(3), np.uint64(8), np.uint64(32)
_1 = np.uint64(1)


class NodeTable(NamedTuple):
    """Node names: number i has the bytes text[starts[i]:starts[i + 1]]; `places` finds it by hash."""

    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    text: NDArray[np.uint8]


def node_table(names: list[bytes]) -> NodeTable:
    """A table of distinct `names`, numbered as they stand, with room for as many again."""
    room = max(_FEWEST_NAMES, 2 * len(names))
    table = NodeTable(
        places=np.zeros(1 << (4 * room).bit_length(), np.int64),
        starts=np.zeros(room + 1, np.int64),
        text=np.zeros(2 * sum(len(name) for name in names) + 32 * _FEWEST_NAMES + PADDING, np.uint8),
    )
    for number, name in enumerate(names):
        add_name(table, number, np.frombuffer(name, np.uint8))
    return table


@njit(nogil=True, cache=True)
def add_name(table: NodeTable, number: int, name: NDArray[np.uint8]) -> bool:
    """Enter the name of the next number; False, with nothing changed, where there is no room for it."""
    begin = table.starts[min(number, len(table.starts) - 1)]
    if number + 1 >= len(table.starts) or begin + len(name) + PADDING > len(table.text):
        return False
    for i in range(len(name)):
        table.text[begin + i] = name[i]
    table.starts[number + 1] = begin + len(name)
    mask = len(table.places) - 1
    place = _name_hash(table.text, begin, begin + len(name)) & mask
    while table.places[place] != 0:
        place = (place + 1) & mask
    table.places[place] = number + 1
    return True


@njit(nogil=True, cache=True)
def find_node(table: NodeTable, buf: NDArray[np.uint8], start: int, stop: int) -> int:
    """The number of the name buf[start:stop], or UNKNOWN."""
    mask = len(table.places) - 1
    place = _name_hash(buf, start, stop) & mask
    while table.places[place] != 0:
        number = table.places[place] - 1
        begin = table.starts[number]
        if table.starts[number + 1] - begin == stop - start and same_bytes(
            table.text, begin, buf, start, stop - start
        ):
            return int(number)
        place = (place + 1) & mask
    return UNKNOWN


@njit(nogil=True, cache=True)
def same_bytes(
    left: NDArray[np.uint8], left_at: int, right: NDArray[np.uint8], right_at: int, length: int
) -> bool:
    """Whether `length` bytes at both places are equal; eight more must be readable behind them."""
    at = 0
    while at + 8 <= length:
        if load64(left, left_at + at) != load64(right, right_at + at):
            return False
        at += 8
    rest = length - at
    if rest == 0:
        return True
    differing = load64(left, left_at + at) ^ load64(right, right_at + at)
    return bool((differing & ((_1 << np.uint64(8 * rest)) - _1)) == np.uint64(0))


@njit(nogil=True, cache=True)
def _name_hash(buf: NDArray[np.uint8], start: int, stop: int) -> int:
    mixed = _GOLDEN
    at = start
    while at + 8 <= stop:
        mixed = (mixed ^ load64(buf, at)) * _MIX
        mixed ^= mixed >> _32
        at += 8
    if at < stop:
        mixed = (mixed ^ (load64(buf, at) & ((_1 << np.uint64(8 * (stop - at))) - _1))) * _MIX
        mixed ^= mixed >> _32
    return int(np.int64(mixed >> _1))


@njit(inline="always")
def count_key(table: NDArray[np.int64], key: np.int64, times: np.int64) -> bool:
    """Count `key` so many `times` in a table of (key + 1, count); whether it is new.

    Eight neighbouring keys are looked for in one line of cache. Places are
    unsigned, which spares the check for an index from the end.
    """
    mask = np.uint64(table.shape[0] - 1)
    mixed = (np.uint64(key) >> _3) * _GOLDEN
    mixed ^= mixed >> _32
    place = ((mixed << _3) | (np.uint64(key) & _LOW3)) & mask
    while True:
        held = table[place, 0]
        if held == key + 1:
            table[place, 1] += times
            return False
        if held == 0:
            table[place, 0] = key + 1
            table[place, 1] = times
            return True
        place = (place + _1) & mask


@njit(nogil=True, cache=True)
def count_pair(table: NDArray[np.int64], group: int, bits: int) -> bool:
    """Count (group, bits) in a table of (group + 1, bits, count); whether it is new."""
    mask = table.shape[0] - 1
    mixed = (np.uint64(bits) ^ (np.uint64(group) * _GOLDEN)) * _MIX
    mixed ^= mixed >> _32
    place = np.int64((mixed * _GOLDEN) >> _8) & mask
    while True:
        if table[place, 0] == group + 1 and table[place, 1] == bits:
            table[place, 2] += 1
            return False
        if table[place, 0] == 0:
            table[place, 0] = group + 1
            table[place, 1] = bits
            table[place, 2] = 1
            return True
        place = (place + 1) & mask
