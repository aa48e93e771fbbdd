"""The tally of an IPMI file: everything a scan adds up, as one value that merges.

`LongTally.merge` is associative and commutative and the empty tally is its unit.
A tally holds counts and places, no judgement: types are decided in
`tasks.longform.servers`, verdicts in `tasks.longform.judge`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace

import numpy as np

from schemas.errors import AcmetraceError
from tasks.longform.columns import POWER_COLUMNS
from tasks.longform.counts import MOST_ENTRIES, CellCounts
from tasks.longform.nodes import NodeFacts
from tasks.longform.tables import COLUMN_BITS
from tasks.series.counts import IntArray
from tasks.series.sums import LIMBS, ExactSums
from tasks.series.tally import GroupStats, Tally


@dataclass(frozen=True, eq=False)
class LongTally:
    """What was counted in some blocks of one IPMI file.

    `base` holds what both forms of file have: rows, zones, steps, spots, lines.
    Steps are those between rows of one node on neighbouring lines. The keys of
    `base.hours` are hour × 16 + the index of a power column; `base.values` and
    `base.entities` are empty, since both follow from `cells`, whose nodes are
    numbered as in `nodes.names`.
    """

    base: Tally = field(default_factory=Tally)
    nodes: NodeFacts = field(default_factory=NodeFacts)
    cells: CellCounts = field(default_factory=CellCounts.empty)

    @property
    def rows(self) -> int:
        """Whole rows inside the period."""
        return self.base.rows

    @property
    def rows_without_blank(self) -> int:
        """Rows that the published rule takes for servers of type A; all other rows it takes for B."""
        return int((self.nodes.rows - self.nodes.blank_rows).sum())

    def merge(self, other: LongTally) -> LongTally:
        """Both tallies added up.

        Raises:
            AcmetraceError: the result would have more entries than are kept.
            ValueError: they count in different decimals.
        """
        nodes = self.nodes.merge(other.nodes)
        cells = self.cells.renumbered(self.nodes.numbers_in(nodes.names)).merge(
            other.cells.renumbered(other.nodes.numbers_in(nodes.names))
        )
        return LongTally(checked(self.base.merge(other.base)), nodes, cells)

    def hours_of(self, column: int) -> GroupStats:
        """Statistics of a power column by hour, all nodes together."""
        hours = self.base.hours
        here = np.flatnonzero((hours.keys & ((1 << COLUMN_BITS) - 1)) == column)
        return _rows_of(replace(hours, keys=hours.keys >> COLUMN_BITS), here)

    def to_bytes(self) -> bytes:
        """The tally as an npz archive of plain arrays; no pickle inside."""
        arrays = {f"nodes.{name}": array for name, array in self.nodes.to_arrays().items()}
        arrays |= {f"cells.{name}": getattr(self.cells, name) for name in _CELLS}
        arrays["base"] = np.frombuffer(self.base.to_bytes(), np.uint8)
        target = io.BytesIO()
        np.savez(target, allow_pickle=False, **arrays)
        return target.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> LongTally:
        """The inverse of `to_bytes`.

        Raises:
            ValueError: the bytes are no tally of this format.
        """
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return cls(
            Tally.from_bytes(arrays["base"].tobytes()),
            NodeFacts.from_arrays(
                {name[6:]: array for name, array in arrays.items() if name.startswith("nodes.")}
            ),
            CellCounts(*(arrays[f"cells.{name}"] for name in _CELLS)),
        )


_CELLS = ("groups", "keys", "counts")


def checked(base: Tally) -> Tally:
    """`base`, unless it has more hours than are kept.

    Raises:
        AcmetraceError: it has.
    """
    if len(base.hours.keys) > MOST_ENTRIES:
        raise AcmetraceError(
            f"An IPMI file has rows in more than {MOST_ENTRIES // len(POWER_COLUMNS):,} different hours.",
            hint="Are its times right? Give a period with --since and --until.",
        )
    return base


def _rows_of(groups: GroupStats, rows: IntArray) -> GroupStats:
    real = groups.real_total
    limbs = np.zeros((len(rows), LIMBS), np.int64)
    limbs[:, real.first_limb : real.first_limb + real.limbs.shape[1]] = real.limbs[rows]
    return GroupStats(
        keys=groups.keys[rows],
        count=groups.count[rows],
        blank=groups.blank[rows],
        zero=groups.zero[rows],
        fixed_total=groups.fixed_total[rows],
        real_total=ExactSums.from_limbs(limbs),
        least=groups.least[rows],
        most=groups.most[rows],
        changed=groups.changed[rows],
    )
