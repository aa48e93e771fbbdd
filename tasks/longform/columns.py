"""Which columns an IPMI file has and what the scan does with each.

Columns are found by name; their order means nothing. The ten power columns have
fixed indices here, so that what is counted in one file adds up with another
whose columns stand elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.ipmi import (
    COMPONENT_COLUMNS,
    IPMI_FILES,
    MEMORY_COLUMN,
    NODE_COLUMN,
    TIME_COLUMN,
    TOTAL_COLUMN,
)
from tasks.series.discover import series_name
from tasks.series.head import Head

POWER_COLUMNS = (TOTAL_COLUMN, *COMPONENT_COLUMNS)
TOTAL = POWER_COLUMNS.index(TOTAL_COLUMN)
MEMORY = POWER_COLUMNS.index(MEMORY_COLUMN)
_SUPPLY_SUM = POWER_COLUMNS.index("PSU_IN_SUM")
# A running server draws power, so its total cannot be 0 W; one of its supplies may rest.
NEVER_ZERO = (TOTAL, _SUPPLY_SUM)

# Roles of a cell besides a power column's index.
TIME, NODE, OTHER = -1, -2, -3


@dataclass(frozen=True)
class Layout:
    """The cells of a row from left to right: `names`, and the role of each (int64)."""

    names: tuple[str, ...]
    roles: NDArray[np.int64]

    @property
    def power(self) -> tuple[int, ...]:
        """Indices in POWER_COLUMNS of the power columns that are there, ascending."""
        return tuple(sorted(role for role in self.roles.tolist() if role >= 0))

    @property
    def has_node(self) -> bool:
        """Whether a column names the node."""
        return NODE in self.roles


def layout_of(columns: tuple[str, ...]) -> Layout:
    """The layout of a file whose head gives `columns`: all of them, or all but a Time that stands first."""
    names = columns if TIME_COLUMN in columns else (TIME_COLUMN, *columns)
    known = {TIME_COLUMN: TIME, NODE_COLUMN: NODE, **{name: i for i, name in enumerate(POWER_COLUMNS)}}
    return Layout(names, np.array([known.get(name, OTHER) for name in names], np.int64))


def is_ipmi(head: Head) -> bool:
    """Whether a file is an IPMI file: it has the total power of a node and an instant.

    A file with a released name may lack the column `node`: of one of them only
    time and total are known for certain.
    """
    if TOTAL_COLUMN not in head.columns:
        return False
    return NODE_COLUMN in head.columns or series_name(head.file.url)[0] in IPMI_FILES
