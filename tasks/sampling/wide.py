"""Wide series files: `Time,<entity>,…`, one row a sampling instant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from schemas.metrics import CATALOGUE
from tasks.sampling import kernels
from tasks.sampling.fleet import Columns, columns_of
from tasks.sampling.hashing import key_of
from tasks.sampling.shapes import XID_CODES, Shape, shape_of
from tasks.sampling.source import Chunk, Source, chunk_rows, format_chunk, header_line
from tasks.sampling.texts import SLOT_S, TIME_WIDTH, epoch_texts, raw_text_table, time_texts
from tasks.sampling.windows import sampled_slots

SWING = 0.08  # of all levels, to either side


def has_no_rows(cluster: str, metric: str) -> bool:
    """Whether the released file is a header and nothing else."""
    return (cluster, metric) == ("kalos", "DRAM_ACTIVE")


def wide_path(cluster: str, metric: str) -> str:
    """The place of a series in the released layout."""
    return f"data/utilization/{cluster}/{metric}.csv"


def row_bytes(cluster: str, metric: str, columns: int) -> float:
    """The expected length of a row in bytes."""
    width = kernels.COVERAGE * shape_of(cluster, metric).mean_width + (1 - kernels.COVERAGE)
    return TIME_WIDTH + 1 + columns * width


def wide_source(cluster: str, metric: str, gpus: int, rows: int, seed: int, *, raw: bool = False) -> Source:
    """The file of a metric with `rows` rows for the nodes that hold `gpus` GPUs; `raw`: as exported."""
    path = wide_path(cluster, metric)
    if has_no_rows(cluster, metric):
        return Source(path=path, rows=0, header=b"Time\n", chunks=lambda: iter(()))
    columns = columns_of(cluster, metric, gpus, seed)
    header = header_line(("Time", *columns.names))
    chunks = partial(_chunks, cluster, metric, columns, rows, seed, raw)
    return Source(path=path, rows=rows, header=header, chunks=chunks)


def _chunks(cluster: str, metric: str, columns: Columns, rows: int, seed: int, raw: bool) -> Iterator[Chunk]:
    shape = shape_of(cluster, metric)
    if raw:
        shape = replace(shape, texts=raw_text_table(shape.values.tolist(), CATALOGUE[metric].scale))
    step = chunk_rows(row_bytes(cluster, metric, len(columns.names)))
    for number, slots in enumerate(sampled_slots(cluster, metric, rows, seed, step)):
        yield partial(_chunk, cluster, metric, columns, shape, slots, number * step, rows, seed, raw)


def _chunk(
    cluster: str,
    metric: str,
    columns: Columns,
    shape: Shape,
    slots: NDArray[np.int64],
    first: int,
    rows: int,
    seed: int,
    raw: bool,
) -> memoryview:
    codes = np.empty((len(slots), len(columns.names)), dtype=np.uint32)
    entity = columns.node * columns.lanes + columns.lane
    if metric == "XID_ERRORS":
        faults = (np.searchsorted(shape.values, XID_CODES) + 1).astype(np.uint32)
        kernels.fill_latched(codes, slots, entity, key_of(seed, cluster, "xid"), faults, 1)
    else:
        # One activity for all metrics of a cluster: a busy GPU is hot and draws power, too.
        # Free memory mirrors used memory and so swings with it.
        swing_key = key_of(seed, cluster, "FB_USED" if metric == "FB_FREE" else metric, "swing")
        level_key = key_of(seed, cluster, "activity")
        kernels.fill_levels(
            codes,
            slots,
            columns.node,
            columns.lane,
            columns.nodes,
            columns.lanes,
            level_key,
            swing_key,
            SWING,
            shape.grid,
        )
    exporter = CATALOGUE[metric].source
    kernels.blank_cells(codes, slots, first, rows, entity, key_of(seed, cluster, exporter, "blank"))
    times = epoch_texts(slots * SLOT_S) if raw else time_texts(slots * SLOT_S)
    return format_chunk(times, codes, shape.texts)
