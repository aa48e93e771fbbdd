"""The tally: everything a scan adds up, as one small value that merges.

`Tally.merge` is associative and commutative and the empty tally is its unit;
the result of a scan depends neither on where a file was cut nor on the order of
merging. A tally holds counts and places, no judgement: verdicts are made in
`tasks.series.judge`, curves in `tasks.series.curve`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT
from tasks.series.counts import FloatArray, IntArray, ValueCounts
from tasks.series.latched import Runs
from tasks.series.sums import ExactSums
from tasks.storage.digest import joined
from tasks.storage.source import FileRef

FORMAT = 3


@dataclass(frozen=True)
class GroupStats:
    """Count, blanks, zeros, sum, least and greatest value of each group (entity or hour).

    `fixed_total` sums values that are multiples of 10**-decimals, in that unit;
    `real_total` sums all other values. Both are exact. A group without values has
    an infinite `least` and `most`. `changed`, int64[n, 2], counts the values that
    differ from those one interval before, by parity of the sampling slot; hours
    have none, nor do they count blank cells.
    """

    keys: NDArray[Any]
    count: IntArray
    blank: IntArray
    zero: IntArray
    fixed_total: IntArray
    real_total: ExactSums
    least: FloatArray
    most: FloatArray
    changed: IntArray

    @classmethod
    def empty(cls, dtype: str) -> GroupStats:
        """No groups, with keys of a NumPy `dtype`: the unit of `merge`."""
        none = np.empty(0, np.int64)
        keys, pairs = np.empty(0, dtype), np.empty((0, 2), np.int64)
        return cls(keys, none, none, none, none, ExactSums.zeros(0), np.empty(0), np.empty(0), pairs)

    def merge(self, other: GroupStats) -> GroupStats:
        """Statistics of both. Keys keep their order if both have the same, otherwise they are sorted."""
        if not len(other.keys):
            return self
        if not len(self.keys):
            return other
        if np.array_equal(self.keys, other.keys):
            keys, left, right = self.keys, self, other
        else:
            # Two sorted pieces are merged by a stable sort; np.unique would hash them.
            keys = np.sort(np.concatenate([self.keys, other.keys]), kind="stable")
            keys = keys[np.append(True, keys[1:] != keys[:-1])]
            left, right = self._spread(keys), other._spread(keys)
        return GroupStats(
            keys,
            left.count + right.count,
            left.blank + right.blank,
            left.zero + right.zero,
            left.fixed_total + right.fixed_total,
            left.real_total.merge(right.real_total),
            np.minimum(left.least, right.least),
            np.maximum(left.most, right.most),
            left.changed + right.changed,
        )

    def without_empty(self, empty: NDArray[np.bool_]) -> GroupStats:
        """All but the groups for which `empty` holds; these must have no value."""
        kept = ~empty
        n = int(kept.sum())
        # Where empty groups go does not matter: they add nothing.
        places = np.maximum(np.cumsum(kept) - 1, 0)
        return GroupStats(
            self.keys[kept],
            self.count[kept],
            self.blank[kept],
            self.zero[kept],
            self.fixed_total[kept],
            self.real_total.take(places, n) if n else ExactSums.zeros(0),
            self.least[kept],
            self.most[kept],
            self.changed[kept],
        )

    def _spread(self, keys: NDArray[Any]) -> GroupStats:
        place = np.searchsorted(keys, self.keys)
        n = len(keys)

        def at(values: NDArray[Any], fill: float) -> NDArray[Any]:
            wide = np.full((n, *values.shape[1:]), fill, values.dtype)
            wide[place] = values
            return wide

        return GroupStats(
            keys,
            at(self.count, 0),
            at(self.blank, 0),
            at(self.zero, 0),
            at(self.fixed_total, 0),
            self.real_total.take(place, n),
            at(self.least, np.inf),
            at(self.most, -np.inf),
            at(self.changed, 0),
        )


@dataclass(frozen=True, order=True)
class Spot:
    """A place where a rule is broken. `line` counts from the start of the block at `block`."""

    file: str
    offset: int
    block: int
    line: int
    column: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Spots:
    """How often a rule is broken, and the first places in file order."""

    count: int = 0
    first: tuple[Spot, ...] = ()

    def merge(self, other: Spots) -> Spots:
        """Both counts and the first places of both."""
        first = sorted({*self.first, *other.first}, key=lambda spot: (spot.file, spot.offset, spot.block))
        return Spots(self.count + other.count, tuple(first[:EXAMPLES_KEPT]))


class Extent(NamedTuple):
    """What was read of a block: where it ends, its lines, and the digests of its leaves."""

    stop: int
    lines: int
    leaves: bytes = b""


@dataclass(frozen=True)
class Tally:
    """What was counted in some blocks of one series.

    `values` holds value counts and `zeros` the number of zeros by window: "" for
    rows outside every window. `runs` are those of a latched gauge. `steps` counts the
    milliseconds between a row and the line before it. `zones` counts rows by zone code.
    `blocks` has the extent of each block by (file, start), from which row numbers and
    digests of files follow.
    """

    decimals: int = 0
    bytes_read: int = 0
    rows: int = 0
    outside_rows: int = 0
    blanks: int = 0
    bad_cells: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    missing_slots: int = 0
    values: Mapping[str, ValueCounts] = field(default_factory=dict)
    zeros: Mapping[str, int] = field(default_factory=dict)
    entities: GroupStats = field(default_factory=lambda: GroupStats.empty("U1"))
    hours: GroupStats = field(default_factory=lambda: GroupStats.empty("i8"))
    runs: Runs = field(default_factory=Runs.empty)
    steps: ValueCounts = field(default_factory=ValueCounts.empty)
    zones: Mapping[int, int] = field(default_factory=dict)
    spots: Mapping[str, Spots] = field(default_factory=dict)
    blocks: Mapping[tuple[str, int], Extent] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """Value cells of all whole rows."""
        return self.value_count + self.blanks + self.bad_cells

    @property
    def value_count(self) -> int:
        """Cells with a value."""
        return int(self.entities.count.sum())

    @property
    def bad_rows(self) -> int:
        """Rows left out because they are ragged or have no time."""
        return sum(self.spots[rule].count for rule in ("ragged-row", "bad-time") if rule in self.spots)

    def window(self, *names: str) -> ValueCounts:
        """The value counts of the named windows together; of all rows without a name."""
        wanted = names or tuple(self.values)
        merged: ValueCounts | None = None
        for name in wanted:
            part = self.values.get(name)
            if part is not None:
                merged = part if merged is None else merged.merge(part)
        return merged if merged is not None else ValueCounts.empty()

    def merge(self, other: Tally) -> Tally:
        """Both tallies added up.

        Raises:
            ValueError: they count in different decimals.
        """
        if not self.blocks and not self.rows:
            return replace(other, bytes_read=self.bytes_read + other.bytes_read)
        if not other.blocks and not other.rows:
            return replace(self, bytes_read=self.bytes_read + other.bytes_read)
        if self.decimals != other.decimals:
            raise ValueError(f"tallies in {self.decimals} and {other.decimals} decimals do not add up")
        return Tally(
            decimals=self.decimals,
            bytes_read=self.bytes_read + other.bytes_read,
            rows=self.rows + other.rows,
            outside_rows=self.outside_rows + other.outside_rows,
            blanks=self.blanks + other.blanks,
            bad_cells=self.bad_cells + other.bad_cells,
            first_ms=_either(min, self.first_ms, other.first_ms),
            last_ms=_either(max, self.last_ms, other.last_ms),
            missing_slots=self.missing_slots + other.missing_slots,
            values=_merged(self.values, other.values, ValueCounts.merge),
            zeros=_merged(self.zeros, other.zeros, int.__add__),
            entities=self.entities.merge(other.entities),
            hours=self.hours.merge(other.hours),
            runs=self.runs.merge(other.runs),
            steps=self.steps.merge(other.steps),
            zones=_merged(self.zones, other.zones, int.__add__),
            spots=_merged(self.spots, other.spots, Spots.merge),
            blocks=_merged(self.blocks, other.blocks, max),
        )

    def row_of(self, spot: Spot) -> int | None:
        """The row number (from 1 below the header) of a spot; None where earlier blocks were not read."""
        before = 0
        for start, extent in self._from_start(spot.file):
            if start == spot.block:
                return before + spot.line
            before += extent.lines
        return None

    def digests_of(self, files: Iterable[FileRef]) -> dict[str, str]:
        """Digests by url, as `tasks.storage.digest` defines them, of those files that were read whole."""
        digests = {}
        for file in files:
            extents = [extent for _, extent in self._from_start(file.url)]
            if extents and extents[-1].stop >= file.size:
                digests[file.url] = joined(extent.leaves for extent in extents)
        return digests

    def _from_start(self, file: str) -> Iterator[tuple[int, Extent]]:
        """The blocks of a file in order, as far as they follow each other from byte 0."""
        reached = 0
        for (name, start), extent in sorted(self.blocks.items()):
            if name == file and start == reached:
                yield start, extent
                reached = extent.stop

    def to_bytes(self) -> bytes:
        """The tally as an npz archive of plain arrays and one JSON text; no pickle inside."""
        arrays: dict[str, NDArray[Any]] = {}
        for prefix, group in (("entities", self.entities), ("hours", self.hours)):
            for name in _COLUMNS:
                arrays[f"{prefix}.{name}"] = getattr(group, name)
            for name, array in group.real_total.to_arrays().items():
                arrays[f"{prefix}.real.{name}"] = array
        for name, array in self.runs.to_arrays().items():
            arrays[f"runs.{name}"] = array
        tables = {**{f"values.{name}": table for name, table in self.values.items()}, "steps": self.steps}
        for name, table in tables.items():
            arrays[f"{name}.keys"], arrays[f"{name}.counts"] = table.keys, table.counts
        meta = {name: getattr(self, name) for name in _PLAIN} | {
            "format": FORMAT,
            "tables": {name: [table.shift, table.limit] for name, table in tables.items()},
            "zones": list(self.zones.items()),
            "zeros": dict(self.zeros),
            "blocks": [[*place, e.stop, e.lines, e.leaves.hex()] for place, e in self.blocks.items()],
            "spots": {rule: [s.count, [asdict(spot) for spot in s.first]] for rule, s in self.spots.items()},
        }
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        target = io.BytesIO()
        np.savez(target, allow_pickle=False, **arrays)
        return target.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """The inverse of `to_bytes`.

        Raises:
            ValueError: the bytes are no tally of this format.
        """
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        meta = json.loads(arrays["meta"].tobytes())
        if meta["format"] != FORMAT:
            raise ValueError(f"a tally of format {meta['format']}, expected {FORMAT}")

        def group(prefix: str) -> GroupStats:
            real = {name: arrays[f"{prefix}.real.{name}"] for name in ("first_limb", "limbs")}
            return GroupStats(
                **{name: arrays[f"{prefix}.{name}"] for name in _COLUMNS},
                real_total=ExactSums.from_arrays(real),
            )

        tables = {
            name: ValueCounts(arrays[f"{name}.keys"], arrays[f"{name}.counts"], shift, limit)
            for name, (shift, limit) in meta["tables"].items()
        }
        plain = {name: meta[name] for name in _PLAIN}
        return cls(
            values={
                name.removeprefix("values."): t for name, t in tables.items() if name.startswith("values.")
            },
            steps=tables["steps"],
            entities=group("entities"),
            hours=group("hours"),
            runs=Runs.from_arrays({name: arrays[f"runs.{name}"] for name in ("files", "entities", "rows")}),
            zeros=meta["zeros"],
            zones={int(code): rows for code, rows in meta["zones"]},
            blocks={
                (file, start): Extent(stop, lines, bytes.fromhex(leaves))
                for file, start, stop, lines, leaves in meta["blocks"]
            },
            spots={
                rule: Spots(count, tuple(Spot(**spot) for spot in first))
                for rule, (count, first) in meta["spots"].items()
            },
            **plain,
        )


_COLUMNS = ("keys", "count", "blank", "zero", "fixed_total", "least", "most", "changed")
_PLAIN = (
    "decimals",
    "bytes_read",
    "rows",
    "outside_rows",
    "blanks",
    "bad_cells",
    "first_ms",
    "last_ms",
    "missing_slots",
)


def _either(choose: Any, left: int | None, right: int | None) -> int | None:
    known = [value for value in (left, right) if value is not None]
    return choose(known) if known else None


def _merged(left: Mapping[Any, Any], right: Mapping[Any, Any], add: Any) -> dict[Any, Any]:
    both = dict(left)
    for key, value in right.items():
        both[key] = add(both[key], value) if key in both else value
    return dict(sorted(both.items()))
