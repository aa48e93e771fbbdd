"""A wide file of unrounded floats, all different: the worst case for counting values.

Belongs here: this one generator. The sampler of the project follows the release, where
such a file is rare; the benchmark wants one in which no value comes twice, so that
neither a cache of texts nor a small table can help anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

COLUMNS = 2288
GPUS_PER_NODE = 8
BLANK_SHARE = 0.05
STEP = timedelta(seconds=15)
START = datetime.fromisoformat("2023-08-15 15:30:15+08:00")


def names(columns: int = COLUMNS) -> list[str]:
    """Column names in the form of the release: address of a node, dash, number of the GPU."""
    found = []
    for number in range(columns):
        node, gpu = divmod(number, GPUS_PER_NODE)
        found.append(f"172.31.{node // 256}.{node % 256}-{gpu}")
    return found


def rows(seed: int, columns: int = COLUMNS) -> Iterator[str]:
    """Lines without end: uniform doubles from 0 to 100 in full, some cells blank."""
    random = np.random.default_rng(seed)
    time = START
    while True:
        cells = [repr(value) for value in (random.random(columns) * 100).tolist()]
        for place in np.flatnonzero(random.random(columns) < BLANK_SHARE).tolist():
            cells[place] = ""
        yield f"{time.isoformat(sep=' ')},{','.join(cells)}\n"
        time += STEP


def write_raw(path: Path, size_bytes: int, seed: int = 0) -> None:
    """Write the file at `path`, up to a row larger than `size_bytes`."""
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="ascii", newline="") as file:
        written = file.write(",".join(["Time", *names()]) + "\n")
        for line in rows(seed):
            written += file.write(line)
            if written >= size_bytes:
                return
