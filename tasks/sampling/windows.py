"""When something is measured: the instants of a file, with sampling slots missing.

Kalos files start on 15 August 2023 as in the release. Seren files straddle the
start of August, so that an August-only curve leaves rows out; a long file ends
where the release ends and reaches back. Starts differ by metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tasks.sampling.hashing import bits, key_of
from tasks.sampling.texts import SLOT_S

IntArray = NDArray[np.int64]

_BLOCK = 64  # steps, of which at most 8 go missing
_LOSS_SHARE = 0.15
_SEREN_AUGUST = datetime.fromisoformat("2023-08-01 00:00:00+08:00")
_KALOS_START = datetime.fromisoformat("2023-08-15 15:30:15+08:00")
_ENDS = {
    "seren": datetime.fromisoformat("2023-08-18 08:00:00+08:00"),
    "kalos": datetime.fromisoformat("2023-08-31 08:00:00+08:00"),
}


def slot_of(moment: datetime) -> int:
    """The number of whole 15-s steps from the epoch to a moment."""
    return int(moment.timestamp()) // SLOT_S


def first_slot(cluster: str, rows: int) -> int:
    """The slot in which a cluster's files of `rows` rows start, before a metric's own delay."""
    latest = slot_of(_ENDS[cluster]) - rows - rows // 50
    if cluster == "kalos":
        return min(slot_of(_KALOS_START), latest)
    return min(slot_of(_SEREN_AUGUST) - min(480, rows // 4), latest)


def sampled_slots(cluster: str, metric: str, rows: int, seed: int, size: int) -> Iterator[IntArray]:
    """The `rows` slots of a file, ascending, in arrays of `size` (the last may be shorter)."""
    # FB_FREE answers FB_USED instant by instant.
    window = key_of(seed, cluster, "FB_USED" if metric == "FB_FREE" else metric, "start")
    delay = int(window % np.uint64(1 + min(40, rows // 10)))
    return present_steps(
        first_slot(cluster, rows) + delay, rows, key_of(seed, cluster, metric, "slots"), size
    )


def present_steps(first: int, count: int, key: np.uint64, size: int) -> Iterator[IntArray]:
    """The first `count` steps from `first` on that were not lost, ascending, in arrays of `size`.

    One in a hundred is lost, in runs of up to 8.
    """
    held = np.empty(0, dtype=np.int64)
    while count > 0:
        wanted = min(size, count)
        while len(held) < wanted:
            span = np.arange(first, first + wanted + _BLOCK, dtype=np.int64)
            held = np.concatenate([held, span[~_lost(span, key)]])
            first += len(span)
        yield held[:wanted]
        held = held[wanted:]
        count -= wanted


def _lost(steps: IntArray, key: np.uint64) -> NDArray[np.bool_]:
    block, place = np.divmod(steps, _BLOCK)
    own = bits(key, block)
    start = ((own >> np.uint64(8)) % np.uint64(_BLOCK - 8)).astype(np.int64)
    length = 1 + ((own >> np.uint64(16)) & np.uint64(7)).astype(np.int64)
    lossy = (own >> np.uint64(32)).astype(np.float64) * 2.0**-32 < _LOSS_SHARE
    return lossy & (place >= start) & (place < start + length)
