"""The state of one long scan, as arrays that compiled code fills.

Arrays only, and the numbers of their places. What is put in is in
`tasks.longform.kernel` and `tasks.longform.counting`; what is taken out, in
`tasks.longform.scan`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from tasks.longform.columns import POWER_COLUMNS
from tasks.longform.tables import NodeTable
from tasks.series.cells import BLANK, STAGES
from tasks.series.clock import LATEST_MS, ZONE_CODES
from tasks.series.registers import NEVER
from tasks.series.rows import ROOM
from tasks.series.sums import LIMBS

# Places in `Registers.at` behind `tasks.series.registers.LINES`, which is 0.
ROWS, OUTSIDE, NODE_BEFORE, PREVIOUS_MS, STAMPS, FIXED, REALS, HOURS, SUMS, ADDED = range(1, 11)
ASKED, ASKED_STOP, LAST_NODE, LAST_LENGTH, STYLE, DENSE, DENSE_NODE = range(11, 18)
_PLACES = 18

# Columns of `Batch.facts`.
MS, NODE_NUMBER, LINE, OFFSET, BLANKS, ODD = range(6)
_FACTS = 6

# Kinds of events besides those of the wide scan.
NO_NODE = 4
KINDS = 5

# Parts of `Registers.hour`, whose other indices are slot and power column.
COUNT, ZERO, TOTAL_UNITS, LEAST, MOST = range(5)
NO_LEAST, NO_MOST = 1 << 62, -1

NAMELESS = 0  # the number of a row's node where it names none
WIDTH = len(POWER_COLUMNS)
HOUR_MS = 3_600_000
BATCH_ROWS = 256
HOUR_ROOM = 1 << 14  # close to two years
SUM_ROOM = 1 << 15
STAMP_ROOM = 1 << 15
STEP_ROOM = 1 << 12  # steps below so many whole seconds are counted in place
LAST_ROOM = 256


class Rules(NamedTuple):
    """What a scan needs besides `Params`: roles of the cells, indices of power columns, bounds, gap in ms."""

    roles: NDArray[np.int64]
    power: NDArray[np.int64]
    low_units: NDArray[np.int64]
    high_units: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gap_ms: int


class Batch(NamedTuple):
    """Rows that are staged and not yet counted; columns of the first three are power columns.

    `staged` holds cells as `tasks.series.cells` reads them, `reals` their doubles
    where they are GENERAL, `offsets` their places in the buffer. ODD in `facts` is
    whether a row has a GENERAL or BAD cell. The last three are for cells that are
    read many at a time (`tasks.series.styles`): all of a row, in the file's order.
    """

    staged: NDArray[np.int64]
    reals: NDArray[np.float64]
    offsets: NDArray[np.int64]
    facts: NDArray[np.int64]
    ends: NDArray[np.int32]
    words: NDArray[np.uint64]
    cells: NDArray[np.int32]


class Registers(NamedTuple):
    """The state of one scan; power columns by their index, nodes by number, hours by slot (from 1)."""

    at: NDArray[np.int64]
    batch: Batch
    last: NDArray[np.uint8]  # the node cell before, with its delimiter
    dense: NDArray[np.int32]  # counts of the values of one node: power column, value + STAGES
    dense_range: NDArray[np.int64]  # least and greatest index in use of each column
    fixed: NDArray[np.int64]
    real: NDArray[np.int64]
    hour_slot: NDArray[np.int32]
    hours: NDArray[np.int64]
    hour: NDArray[np.int64]
    hour_range: NDArray[np.float64]
    hour_sum: NDArray[np.int64]
    limbs: NDArray[np.int64]
    nodes: NodeTable
    node_rows: NDArray[np.int64]  # a node's rows, rows with a blank, first and last ms
    node_memory: NDArray[np.int64]  # line and offset of a node's first row without and with memory power
    steps: NDArray[np.int64]
    stamps: NDArray[np.int64]  # a row of (ms, step from the line before, line, offset) each
    zones: NDArray[np.int64]
    events: NDArray[np.int64]
    places: NDArray[np.int64]


def new_registers(cells: int, span: int, slots: int, nodes: NodeTable, node_room: int) -> Registers:
    """Registers at zero for rows of `cells` cells and values below `span`; `slots` of both hash tables."""
    at = np.zeros(_PLACES, np.int64)
    at[PREVIOUS_MS] = NEVER
    hour = np.zeros((HOUR_ROOM + 1, 5, WIDTH), np.int64)
    hour[:, LEAST], hour[:, MOST] = NO_LEAST, NO_MOST
    hour_range = np.empty((HOUR_ROOM + 1, WIDTH, 2))
    hour_range[:] = np.inf, -np.inf
    return Registers(
        at=at,
        batch=Batch(
            # A column that the file does not have stays blank.
            staged=np.full((BATCH_ROWS, WIDTH), BLANK, np.int64),
            reals=np.zeros((BATCH_ROWS, WIDTH)),
            offsets=np.zeros((BATCH_ROWS, WIDTH), np.int64),
            facts=np.zeros((BATCH_ROWS, _FACTS), np.int64),
            ends=np.zeros(BATCH_ROWS * cells + 1 + ROOM, np.int32),
            words=np.zeros(BATCH_ROWS * cells + 1 + ROOM, np.uint64),
            cells=np.zeros(BATCH_ROWS * cells, np.int32),
        ),
        last=np.zeros(LAST_ROOM + 8, np.uint8),
        dense=np.zeros((WIDTH, span + STAGES), np.int32),
        dense_range=np.tile(np.array([span + STAGES, -1]), (WIDTH, 1)),
        fixed=np.zeros((slots, 2), np.int64),
        real=np.zeros((slots, 3), np.int64),
        hour_slot=np.zeros(LATEST_MS // HOUR_MS + 1, np.int32),
        hours=np.zeros(HOUR_ROOM + 1, np.int64),
        hour=hour,
        hour_range=hour_range,
        hour_sum=np.zeros((HOUR_ROOM + 1, WIDTH), np.int64),
        limbs=np.zeros((SUM_ROOM, LIMBS), np.int64),
        nodes=nodes,
        node_rows=new_node_rows(node_room),
        node_memory=np.zeros((node_room, 2, 2), np.int64),
        steps=np.zeros(STEP_ROOM, np.int64),
        stamps=np.zeros((STAMP_ROOM, 4), np.int64),
        zones=np.zeros(ZONE_CODES, np.int64),
        events=np.zeros(KINDS, np.int64),
        places=np.zeros((KINDS, EXAMPLES_KEPT, 3), np.int64),
    )


def new_node_rows(room: int) -> NDArray[np.int64]:
    """`Registers.node_rows` of `room` nodes without a row."""
    rows = np.zeros((room, 4), np.int64)
    rows[:, 2], rows[:, 3] = LATEST_MS, -1
    return rows
