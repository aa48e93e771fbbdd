"""The values of one chunk: a table of rows and entities, and what was odd about the series behind it.

The only place where samples become cells: series of one entity are laid over
each other, what is no number becomes blank, values are scaled and rounded.
A part packs to bytes, for the unit store.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.errors import EntityUnclear, QueryRefused
from tasks.prometheus.answers import RangeAnswer, RangeSeries
from tasks.prometheus.labels import differ_in_passing, entity_of, label_text
from tasks.prometheus.spans import Span

_NOTES = b"acmetrace"


@dataclass(frozen=True)
class Rule:
    """How the series of a metric become cells: names, factors from the server's unit, decimals."""

    templates: tuple[str, ...]
    query_scale: float = 1.0
    scale: float = 1.0
    decimals: int | None = None

    def released(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the server in the unit and with the decimals of the release; a zero has no sign."""
        scaled = values * self.query_scale * self.scale
        return (scaled if self.decimals is None else np.round(scaled, self.decimals)) + 0.0


@dataclass(frozen=True)
class Notes:
    """What was seen in a chunk.

    `series` are digests of label sets, `samples` what the server sent; of these
    `not_numbers` (NaN) and `infinite` gave no cell. `conflicts` are cells that two
    label sets gave different values for, left blank; `conflict` names such a pair.
    """

    series: tuple[int, ...] = ()
    samples: int = 0
    not_numbers: int = 0
    infinite: int = 0
    conflicts: int = 0
    conflict: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """Values of `entities` (columns) at the instants of `span` (rows); NaN is blank."""

    span: Span
    entities: tuple[str, ...]
    values: NDArray[np.float64]
    notes: Notes = field(default=Notes())

    def to_bytes(self) -> bytes:
        """The part as a packed Arrow stream."""
        columns = [pa.array(column) for column in self.values.T]
        # Names stand in the notes: Arrow would be content with two alike.
        names = [str(place) for place in range(len(columns))]
        notes = {"span": asdict(self.span), "entities": self.entities, "notes": asdict(self.notes)}
        schema = pa.schema(
            [pa.field(name, pa.float64()) for name in names], {_NOTES: json.dumps(notes).encode()}
        )
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, schema, options=options) as writer:
            writer.write_batch(pa.record_batch(columns, schema=schema))
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, data: bytes) -> Part:
        """The inverse of `to_bytes`."""
        with pa.ipc.open_stream(data) as reader:
            batch = reader.read_next_batch()
            notes = json.loads(reader.schema.metadata[_NOTES])
        span = Span(**notes["span"])
        values = np.empty((span.rows, batch.num_columns), np.float64)
        for place, column in enumerate(batch.columns):
            values[:, place] = column.to_numpy(zero_copy_only=False)
        found = notes["notes"]
        kept = Notes(**{**found, "series": tuple(found["series"]), "warnings": tuple(found["warnings"])})
        return cls(span, tuple(notes["entities"]), values, kept)


def part_of(answer: RangeAnswer, span: Span, rule: Rule) -> Part:
    """The cells of an answer to a query over `span`.

    Raises:
        EntityUnclear: a series has no name, or two have one name and are not one entity.
        QueryRefused: the server answers for other instants than asked.
    """
    by_name: dict[str, list[RangeSeries]] = {}
    for series in answer.series:
        by_name.setdefault(entity_of(series.labels, rule.templates), []).append(series)
    columns, names, conflicts, conflict = [], [], 0, ""
    for name in sorted(by_name):
        merged = _Column(name, span.rows)
        for series in by_name[name]:
            merged.lay(series, _rows_of(series, span))
        if np.isfinite(merged.values).any():
            names.append(name)
            columns.append(merged.values)
        conflicts += merged.conflicts
        conflict = conflict or merged.conflict
    values = np.stack(columns, axis=1) if columns else np.empty((span.rows, 0))
    raw = np.concatenate([series.values for series in answer.series]) if answer.series else np.empty(0)
    notes = Notes(
        series=tuple(sorted({_digest(series.labels) for series in answer.series})),
        samples=raw.size,
        not_numbers=int(np.isnan(raw).sum()),
        infinite=int(np.isinf(raw).sum()),
        conflicts=conflicts,
        conflict=conflict,
        warnings=tuple(dict.fromkeys(answer.warnings)),
    )
    return Part(span, tuple(names), rule.released(values), notes)


class _Column:
    """The values of one entity, as the series of its label sets are laid over each other."""

    def __init__(self, name: str, rows: int) -> None:
        self.name = name
        self.values = np.full(rows, np.nan)
        self.conflicts = 0
        self.conflict = ""
        self._from = np.full(rows, -1)  # which of the series a value is of
        self._in_conflict = np.zeros(rows, np.bool_)
        self._seen: list[RangeSeries] = []

    def lay(self, series: RangeSeries, rows: NDArray[np.int64]) -> None:
        finite = np.isfinite(series.values)
        rows, values = rows[finite], series.values[finite]
        taken = self._from[rows] >= 0
        for earlier in np.unique(self._from[rows][taken]).tolist():
            self._check(self._seen[earlier], series)
        differs = taken & (self.values[rows] != values) & ~self._in_conflict[rows]
        if differs.any():
            first = self._seen[int(self._from[rows][differs][0])]
            self.conflicts += int(differs.sum())
            self.conflict = self.conflict or _pair(self.name, first, series)
            self._in_conflict[rows[differs]] = True
        self.values[rows] = np.where(self._in_conflict[rows], np.nan, values)
        self._from[rows[~taken]] = len(self._seen)
        self._seen.append(series)

    def _check(self, one: RangeSeries, other: RangeSeries) -> None:
        if not differ_in_passing(one.labels, other.labels):
            raise EntityUnclear(
                f"Two series at the same time have one name, {_pair(self.name, one, other)}.",
                hint="Tell them apart in --catalogue with [METRIC.prometheus] entity, or make them one"
                " in its query: max by (Hostname, gpu) (…).",
            )


def _pair(name: str, one: RangeSeries, other: RangeSeries) -> str:
    first, second = sorted((label_text(one.labels), label_text(other.labels)))
    return f"{name}: {first} and {second}"


def _rows_of(series: RangeSeries, span: Span) -> NDArray[np.int64]:
    places = (series.times - span.start_s) / span.step_s
    rows = places.astype(np.int64)
    if np.any(rows != places) or (rows.size and (rows.min() < 0 or rows.max() >= span.rows)):
        raise QueryRefused("The server answers for other instants than it was asked for.")
    return rows


def _digest(labels: dict[str, str]) -> int:
    return int.from_bytes(hashlib.sha256(label_text(labels).encode()).digest()[:8], "big")
