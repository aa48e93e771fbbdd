"""IPMI files: one row a server and instant, all rows of a server together.

The columns are those of the released A/B file for all three files; what the
release keeps in the others besides the total is not known. Components are
sensible figures around the total, not published ones: supplies share the load
unevenly, in steps of 5 W, and are read at another moment than the total.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from schemas.ipmi import COMPONENT_COLUMNS, INTERVAL_S, NODE_COLUMN, TIME_COLUMN, TOTAL_COLUMN
from tasks.sampling import kernels
from tasks.sampling.fleet import GPUS_PER_NODE, ipmi_nodes, type_b_count
from tasks.sampling.hashing import key_of, uniforms_at
from tasks.sampling.shapes import shape_of
from tasks.sampling.source import Chunk, Source, chunk_rows, format_chunk, header_line
from tasks.sampling.texts import SLOT_S, text_table, time_texts
from tasks.sampling.windows import first_slot, present_steps

SWING = 0.08
_STEP = int(INTERVAL_S) // SLOT_S
_JITTER_S = 4
_SUPPLIES = 6
_COLUMNS = (TIME_COLUMN, NODE_COLUMN, TOTAL_COLUMN, *COMPONENT_COLUMNS)
_MEMORY = _COLUMNS.index("Memory_Power") - 2
_ROW_BYTES = 106.0
_WATTS = text_table(range(10_000))


def rows_per_node(rows: int) -> int:
    """Rows of a server that go with wide files of `rows` rows: the same time, every 5 minutes, at least 4."""
    return max(4, rows // _STEP)


def ipmi_bytes(stem: str, gpus: int, rows: int) -> float:
    """The expected size of a file beside wide files of `rows` rows."""
    return len(ipmi_nodes(stem, gpus)) * rows_per_node(rows) * _ROW_BYTES


def ipmi_path(stem: str) -> str:
    """The place of a file in the released layout."""
    return f"data/utilization/ipmi/{stem}.csv"


def ipmi_source(stem: str, gpus: int, rows: int, seed: int) -> Source:
    """An IPMI file of Seren beside wide files of `rows` rows."""
    nodes = ipmi_nodes(stem, gpus)
    return Source(
        path=ipmi_path(stem),
        rows=len(nodes) * rows_per_node(rows),
        header=header_line(_COLUMNS),
        chunks=partial(_chunks, stem, nodes, gpus, rows, seed),
    )


def _chunks(stem: str, nodes: tuple[str, ...], gpus: int, rows: int, seed: int) -> Iterator[Chunk]:
    start = first_slot("seren", rows) // _STEP
    fleet = gpus // GPUS_PER_NODE
    first = fleet - len(nodes) if stem == "GPU_C_Power" else 0
    type_b_from = len(nodes) - type_b_count(gpus) if stem == "GPU_AB_Power" else len(nodes)
    for place, node in enumerate(nodes):
        number, of = (place, len(nodes)) if stem == "CPU_D_Power" else (first + place, fleet)
        lost_key = key_of(seed, node, "slots")
        for steps in present_steps(start, rows_per_node(rows), lost_key, chunk_rows(_ROW_BYTES)):
            yield partial(_chunk, stem, node, number, of, steps, place >= type_b_from, seed)


def _chunk(
    stem: str, node: str, number: int, nodes: int, steps: NDArray[np.int64], type_b: bool, seed: int
) -> memoryview:
    total = _totals(stem, number, nodes, steps * _STEP, seed)
    watts = np.column_stack([total, *_components(total, steps, key_of(seed, node, "components"))])
    codes = watts.astype(np.uint32) + np.uint32(1)
    if type_b:
        codes[:, _MEMORY] = 0
    jitter = (uniforms_at(key_of(seed, node, "jitter"), steps) * _JITTER_S).astype(np.int64)
    name = np.frombuffer(f",{node}".encode(), dtype=np.uint8)
    prefix = np.hstack([time_texts(steps * int(INTERVAL_S) + jitter), np.tile(name, (len(steps), 1))])
    return format_chunk(prefix, codes, _WATTS)


def _totals(stem: str, number: int, nodes: int, slots: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    shape = shape_of("seren", stem)
    codes = np.empty((len(slots), 1), dtype=np.uint32)
    # GPU servers draw power when the GPUs of the wide files are busy; CPU servers live their own life.
    activity = key_of(seed, "seren", "cpu servers" if stem == "CPU_D_Power" else "activity")
    kernels.fill_levels(
        codes,
        slots,
        np.array([number]),
        np.zeros(1, dtype=np.int64),
        nodes,
        1,
        activity,
        key_of(seed, "seren", stem, "swing"),
        SWING,
        shape.grid,
    )
    return shape.values[codes[:, 0] - 1]


def _components(
    total: NDArray[np.float64], steps: NDArray[np.int64], key: np.uint64
) -> list[NDArray[np.float64]]:
    parts = _SUPPLIES + 2
    noise = uniforms_at(key, steps[:, None] * parts + np.arange(parts))
    cpu = np.round(160.0 + 0.03 * total + 40.0 * noise[:, 0])
    memory = np.round(40.0 + 0.004 * total + 8.0 * noise[:, 1])
    supplies = 5.0 * np.round(total[:, None] / _SUPPLIES * (0.75 + 0.5 * noise[:, 2:]) / 5.0)
    return [cpu, memory, *supplies.T, supplies.sum(axis=1)]
