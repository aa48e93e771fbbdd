"""Compiled loops: which value every cell of a chunk has, and its text.

A chunk is a matrix of codes (rows × columns, uint32): 0 is a blank, any other
code a line of a text table. Loops keep a little state per column but refresh
it from absolute slots (15-s steps since the epoch), so that a chunk does not
depend on where it starts. Shapes of distributions are in `shapes`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tasks.sampling.hashing import draw

Codes = NDArray[np.uint32]
IntArray = NDArray[np.int64]

HOLD_SLOTS = 240  # an hour on one level, about what a short job keeps a GPU busy
# Nodes change over within twenty minutes of each other: the further apart, the less a short
# sample covers the whole curve.
_CHANGEOVER = np.uint64(80)
# Odd hold times, so that no file looks as if it were collected at half the rate.
_HOLDS = np.array([1, 3, 5, 7], dtype=np.int64)
_WEAK_EVERY, _WEAK_BLANK = 20, 0.55
_STRONG_BLANK = 0.055
_LONE_BLANK = 0.02
COVERAGE = 0.90
_FAULT_SLOTS = 1440
_FAULT_SHARE = 0.06
_LOW32 = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
_UNIT = 2.0**-32


@njit(cache=True, nogil=True)
def _level(key: np.uint64, segment: int, node: int, nodes: int, lane: int, lanes: int) -> np.int64:
    """The level of a GPU in a segment, 0 … 2³² − 1 for a quantile from 0 to 1.

    Levels are stratified: in a segment the nodes stand on a random permutation
    of equal strata, and the GPUs of a node share its stratum as they share its
    job. A fleet therefore covers the whole curve at every moment, and a sample
    of a few hours already follows it.
    """
    seed = draw(key, segment)
    stride = np.int64(seed % np.uint64(nodes))
    while True:
        a, b = stride, np.int64(nodes)
        while b:
            a, b = b, a % b
        if a == 1:
            break
        stride += 1
    rank = (stride * node + np.int64((seed >> _S32) % np.uint64(nodes))) % nodes
    own = draw(seed ^ key, node)
    seat = (lane + np.int64(own >> np.uint64(61))) % lanes
    jitter = np.int64(draw(own, lane) & _LOW32)
    return (((rank * lanes + seat) << 32) + jitter) // (nodes * lanes)


@njit(cache=True, nogil=True)
def fill_levels(
    out: Codes,
    slots: IntArray,
    node: IntArray,
    lane: IntArray,
    nodes: int,
    lanes: int,
    level_key: np.uint64,
    swing_key: np.uint64,
    swing: float,
    grid: Codes,
) -> None:
    """Codes of a metric that follows the activity of its entity.

    Each entity stands on a level for an hour and swings around it by ±`swing`
    (a fraction of all levels), each reading held for 1, 3, 5 or 7 slots. Levels
    are reflected at both ends, which keeps them uniform; `grid` maps the upper
    16 bits of a level to a code, so cells follow the curve behind `grid`.
    """
    rows, columns = out.shape
    level = np.zeros(columns, np.int64)
    level_end = np.full(columns, -1, np.int64)
    hold_end = np.full(columns, -1, np.int64)
    current = np.zeros(columns, np.uint32)
    own = np.empty(columns, np.uint64)
    hold = np.empty(columns, np.int64)
    shift = np.empty(columns, np.int64)
    for c in range(columns):
        own[c] = draw(swing_key, -1 - (node[c] * lanes + lane[c]))
        hold[c] = _HOLDS[np.int64(own[c] & np.uint64(3))]
        shift[c] = np.int64((own[c] >> np.uint64(2)) & np.uint64(7))
    top = np.int64(1) << 32
    width = np.int64(swing * 65536)
    for r in range(rows):
        slot = slots[r]
        for c in range(columns):
            if slot < hold_end[c] and slot < level_end[c]:
                out[r, c] = current[c]
                continue
            if slot >= level_end[c]:
                shifted = slot + np.int64(draw(level_key, -1 - node[c]) % _CHANGEOVER)
                segment = shifted // HOLD_SLOTS
                level[c] = _level(level_key, segment, node[c], nodes, lane[c], lanes)
                level_end[c] = slot + HOLD_SLOTS - shifted % HOLD_SLOTS
            shifted = slot + shift[c]
            step = shifted // hold[c]
            hold_end[c] = (step + 1) * hold[c] - shift[c]
            turn = np.int64(draw(own[c], step) & _LOW32)
            at = level[c] + ((2 * turn - top + 1) * width >> 16)
            if at < 0:
                at = -1 - at
            if at >= top:
                at = 2 * top - 1 - at
            current[c] = grid[at >> 16]
            out[r, c] = current[c]


@njit(cache=True, nogil=True)
def fill_latched(
    out: Codes, slots: IntArray, entity: IntArray, key: np.uint64, faults: Codes, healthy: int
) -> None:
    """Codes of a latched gauge: `healthy` until a fault, then one of `faults` until it is cleared.

    In each six-hour window a few per cent of the entities meet a fault at a random moment.
    """
    rows, columns = out.shape
    for r in range(rows):
        for c in range(columns):
            shifted = slots[r] + np.int64(draw(key, -1 - entity[c]) % np.uint64(_FAULT_SLOTS))
            own = draw(draw(key, shifted // _FAULT_SLOTS), entity[c])
            out[r, c] = healthy
            if np.float64(own & _LOW32) * _UNIT < _FAULT_SHARE:
                onset = np.int64((own >> _S32) & np.uint64(0xFFFF)) % _FAULT_SLOTS
                if shifted % _FAULT_SLOTS >= onset:
                    out[r, c] = faults[np.int64(own >> np.uint64(48)) % len(faults)]


@njit(cache=True, nogil=True)
def blank_cells(
    out: Codes, slots: IntArray, first_row: int, all_rows: int, entity: IntArray, key: np.uint64
) -> None:
    """Takes about a tenth of the cells away: in runs, by entity and hour, and here and there.

    One entity in twenty is weak and silent more than half of the time. No
    column and no row loses all its values: the release drops those.
    """
    rows, columns = out.shape
    weak = np.int64(key % np.uint64(_WEAK_EVERY))
    gone = np.zeros(columns, np.bool_)
    run_end = np.full(columns, -1, np.int64)
    for r in range(rows):
        slot = slots[r]
        row = first_row + r
        kept = row % columns
        for c in range(columns):
            if slot >= run_end[c]:
                own = draw(key, -1 - entity[c])
                run = 24 + np.int64((own >> _S32) & np.uint64(127))
                shifted = slot + np.int64(own >> np.uint64(50))
                start = slot - shifted % run
                run_end[c] = start + run
                share = _WEAK_BLANK
                if (entity[c] + weak) % _WEAK_EVERY != 0:
                    hour = np.float64(draw(key ^ _LOW32, start // HOLD_SLOTS) & _LOW32) * _UNIT
                    share = _STRONG_BLANK * (0.4 + 1.2 * hour)
                gone[c] = np.float64(draw(own, shifted // run) & _LOW32) * _UNIT < share
            lone = np.float64(draw(key, row * columns + c) & _LOW32) * _UNIT < _LONE_BLANK
            if (gone[c] or lone) and c != kept and row != c % all_rows:
                out[r, c] = 0


@njit(cache=True, nogil=True)
def format_rows(
    buffer: NDArray[np.uint8],
    prefix: NDArray[np.uint8],
    codes: Codes,
    words: NDArray[np.uint64],
    lengths: IntArray,
) -> int:
    """Writes rows as text, `prefix` first, and returns the number of bytes.

    `prefix` is rows × width; `words[code]` holds up to 16 bytes of text, comma
    first. Eight bytes are stored at a time, so `buffer` needs 16 bytes to spare.
    """
    at = 0
    for r in range(codes.shape[0]):
        for k in range(prefix.shape[1]):
            buffer[at + k] = prefix[r, k]
        at += prefix.shape[1]
        for c in range(codes.shape[1]):
            code = codes[r, c]
            word = words[code, 0]
            for k in range(8):
                buffer[at + k] = np.uint8((word >> np.uint64(8 * k)) & np.uint64(0xFF))
            if lengths[code] > 8:
                word = words[code, 1]
                for k in range(8):
                    buffer[at + 8 + k] = np.uint8((word >> np.uint64(8 * k)) & np.uint64(0xFF))
            at += lengths[code]
        buffer[at] = np.uint8(10)
        at += 1
    return at
