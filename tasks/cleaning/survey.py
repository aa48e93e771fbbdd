"""What a raw series holds, learnt in one pass: values by column, order of rows, what cannot be read.

Blocks are surveyed by themselves and put together here. Nothing is kept of a row
but its part in these numbers, and of rows in ascending order one entry a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT, Example
from schemas.ipmi import TIME_COLUMN
from tasks.cleaning import kernel
from tasks.cleaning.rules import Rule
from tasks.series.clock import zone_table
from tasks.series.feed import CHUNK_BYTES, cell_text, feed
from tasks.series.head import Head
from tasks.series.spec import Block
from tasks.storage.source import open_reader

_RULES = {kernel.BAD_CELL: "bad-cell", kernel.BAD_TIME: "bad-time", kernel.RAGGED_ROW: "ragged-row"}
_TEXT_SHOWN = 40


@dataclass(frozen=True)
class Run:
    """Rows in ascending order: those of file number `file` that begin in [start, stop); times are UTC ms."""

    file: int
    start: int
    stop: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True)
class Trouble:
    """What keeps a series from being cleaned: a rule, how often it was broken, and where first."""

    rule: str
    count: int
    places: tuple[Example, ...]


@dataclass(frozen=True)
class BlockSurvey:
    """What one block of a file holds; arrays are by column of the file, as in `kernel.Columns`."""

    block: Block
    rows: int
    fractions: int
    filled: NDArray[np.bool_]
    blank: NDArray[np.bool_]
    real: NDArray[np.bool_]
    first: NDArray[np.bool_]
    runs: tuple[Run, ...]
    troubles: tuple[Trouble, ...]
    leaves: bytes


def survey_block(file: int, head: Head, block: Block, rule: Rule, timezone: str | None) -> BlockSurvey:
    """Survey the rows of a block; times without a zone are read in `timezone`.

    Raises:
        FileChanged, ReadFailed, NotASeries: as `tasks.series.scan.scan_block`.
    """
    with open_reader(block.file, block.stop) as reader:
        scan = _Survey(file, head, block, rule, timezone)
        feed(scan, reader, CHUNK_BYTES)
        return scan.result()


class _Survey:
    """The state of surveying one block."""

    def __init__(self, file: int, head: Head, block: Block, rule: Rule, timezone: str | None) -> None:
        count = len(head.columns)
        self.file = file
        self.head = head
        self.block = block
        self.bytes_read = 0
        self.leaves = b""
        self.rule = rule
        self.zone = zone_table(timezone)
        self.columns = kernel.Columns(*(np.zeros(count, np.bool_) for _ in range(4)))
        self.room = kernel.room_for(count)
        self.at = np.zeros(kernel.FIELDS, np.int64)
        self.at[kernel.PREVIOUS_MS] = kernel.NEVER
        self.found = np.zeros((kernel.RUN_ROOM, 3), np.int64)
        self.runs: list[list[int]] = []
        self.events = np.zeros(kernel.EVENTS, np.int64)
        self.places = np.zeros((kernel.EVENTS, EXAMPLES_KEPT, 3), np.int64)
        self.troubles: dict[int, Trouble] = {}

    def run(self, array: NDArray[np.uint8], place: int, stop: int, base: int, *, peek: bool) -> int:
        """Survey lines as `tasks.series.feed.LineScan` says."""
        while not peek:
            place, why = kernel.survey_lines(
                array,
                place,
                stop,
                base,
                self.rule.window_from,
                self.rule.window_until,
                *self.zone,
                self.columns,
                *self.room,
                self.at,
                self.found,
                self.events,
                self.places,
            )
            self._fold_events(array, base)
            if why == kernel.DONE:
                break
            self._fold_runs()
        return place

    def _fold_runs(self) -> None:
        """Take out the runs; the last one may go on and is begun anew."""
        self.runs += self.found[: self.at[kernel.RUNS]].tolist()
        self.at[kernel.RUNS] = 0
        if self.runs:
            self.found[0] = self.runs.pop()
            self.at[kernel.RUNS] = 1

    def _fold_events(self, array: NDArray[np.uint8], base: int) -> None:
        for kind in np.flatnonzero(self.events).tolist():
            known = self.troubles.get(kind, Trouble(_RULES[kind], 0, ()))
            new = self.places[kind, : min(self.events[kind], EXAMPLES_KEPT - len(known.places))].tolist()
            places = [self._place(array, base, kind, *where) for where in new]
            self.troubles[kind] = Trouble(
                known.rule, known.count + int(self.events[kind]), (*known.places, *places)
            )
            self.events[kind] = 0

    def _place(
        self, array: NDArray[np.uint8], base: int, kind: int, line: int, column: int, place: int
    ) -> Example:
        name = self.head.columns[column] if column >= 0 else TIME_COLUMN if kind == kernel.BAD_TIME else None
        return Example(
            file=self.block.file.url,
            row=line,  # of the block; made one of the file where blocks are put together
            column=name,
            byte_offset=base + place,
            value=cell_text(array, place)[:_TEXT_SHOWN] if name is not None else None,
        )

    def result(self) -> BlockSurvey:
        """What the block holds."""
        self._fold_runs()
        runs = self.runs + self.found[: self.at[kernel.RUNS]].tolist()
        stops = [start for start, _, _ in runs[1:]] + [self.block.stop] * bool(runs)
        return BlockSurvey(
            self.block,
            int(self.at[kernel.ROWS]),
            int(self.at[kernel.FRACTIONS]),
            *self.columns,
            tuple(
                Run(self.file, run[0], stop, run[1], run[2]) for run, stop in zip(runs, stops, strict=True)
            ),
            tuple(self.troubles.values()),
            self.leaves,
        )


@dataclass(frozen=True)
class Survey:
    """What a whole series holds: its files, their blocks in order, and its columns.

    `columns` are those of all files in the order they first appear. `whole` says of
    each whether all its cells are whole numbers and none is blank.
    """

    heads: tuple[Head, ...]
    blocks: tuple[tuple[BlockSurvey, ...], ...]
    columns: tuple[str, ...]
    whole: NDArray[np.bool_]

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs in file order; one that goes on in the next block is still two."""
        return tuple(run for survey in self.all_blocks() for run in survey.runs)

    def all_blocks(self) -> Iterator[BlockSurvey]:
        """The blocks of all files in order."""
        for blocks in self.blocks:
            yield from blocks

    def total(self, name: str) -> int:
        """The sum of a number over all blocks."""
        return sum(int(getattr(survey, name)) for survey in self.all_blocks())

    def columns_of(self, file: int) -> NDArray[np.int64]:
        """The file's column of each of `columns`; -1 where the file has none."""
        at = {name: i for i, name in enumerate(self.heads[file].columns)}
        return np.array([at.get(name, -1) for name in self.columns], np.int64)

    def real_in(self, file: int) -> NDArray[np.bool_]:
        """Which of `columns` have a cell in the file that is not written as a whole number."""
        real = np.zeros(len(self.heads[file].columns) + 1, np.bool_)
        for survey in self.blocks[file]:
            real[:-1] |= survey.real
        return real[self.columns_of(file)]

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Why the series cannot be cleaned; empty where it can."""
        found: dict[str, Trouble] = {}
        for file in self.blocks:
            rows_before = 0
            for survey in file:
                for trouble in survey.troubles:
                    known = found.get(trouble.rule, Trouble(trouble.rule, 0, ()))
                    places = [
                        place.model_copy(update={"row": (place.row or 0) + rows_before})
                        for place in trouble.places
                    ]
                    found[trouble.rule] = Trouble(
                        trouble.rule, known.count + trouble.count, (*known.places, *places)[:EXAMPLES_KEPT]
                    )
                rows_before += survey.rows + sum(
                    trouble.count for trouble in survey.troubles if trouble.rule != "bad-cell"
                )
        return tuple(found.values())


def put_together(heads: Sequence[Head], blocks: Sequence[Sequence[BlockSurvey]]) -> Survey:
    """The survey of a series from those of its files' blocks, in order. A file without rows adds nothing."""
    filled = [any(block.rows for block in file) for file in blocks]
    names = (name for head, has_rows in zip(heads, filled, strict=True) if has_rows for name in head.columns)
    columns = tuple(dict.fromkeys(names))
    whole = np.ones(len(columns), np.bool_)
    survey = Survey(tuple(heads), tuple(tuple(file) for file in blocks), columns, whole)
    for number, has_rows in enumerate(filled):
        source = survey.columns_of(number)
        for block in survey.blocks[number] if has_rows else ():
            odd = np.append(block.blank | block.real, True)  # a column the file has not is blank in it
            whole &= ~odd[source]
    return survey
