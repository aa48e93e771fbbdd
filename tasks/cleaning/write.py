"""Writing a surveyed series: cleaned rows in the order of their times, piece by piece.

Pieces are cleaned by several threads and written in order; how many are on
their way is bounded, so that memory depends neither on the file nor on how far
one thread is ahead of the others.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.ipmi import TIME_COLUMN
from tasks.cleaning import kernel
from tasks.cleaning.lines import LineCleaner, offsets_of
from tasks.cleaning.merge import Zone, merged
from tasks.cleaning.order import Stretch
from tasks.cleaning.rules import Rule
from tasks.cleaning.survey import Run, Survey
from tasks.series.clock import zone_table
from tasks.series.feed import CHUNK_BYTES, feed
from tasks.series.spec import Block
from tasks.series.swar import PADDING
from tasks.storage.source import open_reader

_AHEAD = 3  # pieces a thread may be ahead of the writer


@dataclass(frozen=True)
class Cleaned:
    """Cleaned lines, how many they are, and how many more were left out in the window or without a value."""

    text: bytes
    rows: int
    in_window: int = 0
    blank_rows: int = 0


Sink = Callable[[Cleaned], None]


@dataclass(frozen=True)
class Plan:
    """How a surveyed series is written.

    `kept` says which of the survey's columns are; `order` holds its stretches as
    `tasks.cleaning.order.in_order` gives them. Times without a zone are read in `timezone`.
    """

    survey: Survey
    rule: Rule
    order: tuple[tuple[Stretch, ...], ...]
    kept: NDArray[np.bool_]
    timezone: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are written, by their new names."""
        names = (name for name, kept in zip(self.survey.columns, self.kept, strict=True) if kept)
        return tuple(self.rule.name_of(name) for name in names)

    def change(self, file: int) -> kernel.Change:
        """The compiled pass's parameters for a file."""
        return kernel.Change(
            self.rule.scale,
            self.rule.decimals,
            self.rule.drop_blank_rows,
            self.rule.window_from,
            self.rule.window_until,
            self.survey.total("fractions") > 0,
            *zone_table(self.timezone),
            *offsets_of(self.rule.timezone),
            self.survey.columns_of(file)[self.kept],
            (self.survey.whole & self.rule.whole_scale)[self.kept],
            self.survey.real_in(file)[self.kept],
        )


def plan_of(survey: Survey, rule: Rule, order: Sequence[tuple[Stretch, ...]], timezone: str | None) -> Plan:
    """The plan for a survey; where stretches overlap, their rows are read to see which columns hold a value.

    Raises:
        FileChanged, ReadFailed: as `open_reader`.
    """
    filled = np.zeros(len(survey.columns), np.bool_)
    tangled = {run for group in order if len(group) > 1 for stretch in group for run in stretch.runs}
    uncounted: set[Run] = set()
    before: Run | None = None
    for number, blocks in enumerate(survey.blocks):
        source = survey.columns_of(number)
        for block in blocks:
            own = block.filled
            if not (block.runs and before is not None and block.runs[0].first_ms == before.last_ms):
                own = own | block.first
            before = block.runs[-1] if block.runs else before
            if tangled.isdisjoint(block.runs):
                filled |= np.append(own, False)[source]
            else:
                uncounted.update(block.runs)
    zone = zone_table(timezone)
    for group in order:
        if not uncounted.isdisjoint(run for stretch in group for run in stretch.runs):
            for lines in merged(survey.heads, group, zone):
                own = _filled_in(lines.text, survey, lines.file, rule, zone)
                filled |= np.append(own, False)[survey.columns_of(lines.file)]
    return Plan(survey, rule, tuple(order), filled, timezone)


def _filled_in(text: bytes, survey: Survey, file: int, rule: Rule, zone: Zone) -> NDArray[np.bool_]:
    """Which columns of the file hold a value in these lines."""
    count = len(survey.heads[file].columns)
    columns = kernel.Columns(*(np.zeros(count, np.bool_) for _ in range(4)))
    at = np.zeros(kernel.FIELDS, np.int64)
    at[kernel.PREVIOUS_MS] = kernel.NEVER
    array = np.frombuffer(bytearray(text + bytes(PADDING)), np.uint8)
    kernel.survey_lines(
        array,
        0,
        len(text),
        0,
        rule.window_from,
        rule.window_until,
        *zone,
        columns,
        *kernel.room_for(count),
        at,
        np.zeros((kernel.RUN_ROOM, 3), np.int64),
        np.zeros(kernel.EVENTS, np.int64),
        np.zeros((kernel.EVENTS, 1, 3), np.int64),
    )
    return columns.filled | columns.first


def header_of(plan: Plan) -> bytes:
    """The header line, names quoted where they need it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([TIME_COLUMN, *plan.columns])
    return text.getvalue().encode()


def write_rows(plan: Plan, sink: Sink, workers: int) -> None:
    """Give all cleaned rows to `sink`, in order.

    Raises:
        FileChanged, ReadFailed: a file is not what it was, or storage failed.
    """
    last = -1
    with ThreadPoolExecutor(workers) as pool:
        on_their_way: deque[Future[list[Cleaned]]] = deque()

        def write_oldest() -> None:
            for cleaned in on_their_way.popleft().result():
                sink(cleaned)

        try:
            for group in plan.order:
                if len(group) == 1 and not plan.survey.heads[group[0].runs[0].file].file.compression:
                    for run in group[0].runs:
                        on_their_way.append(pool.submit(_clean_run, plan, run, last))
                        last = run.last_ms
                        if len(on_their_way) > workers * _AHEAD:
                            write_oldest()
                    continue
                while on_their_way:
                    write_oldest()
                if len(group) == 1:
                    for run in group[0].runs:
                        clean_run(plan, run, last, sink)
                        last = run.last_ms
                else:
                    last = _clean_merged(plan, group, last, sink)
            while on_their_way:
                write_oldest()
        except BaseException:
            for future in on_their_way:
                future.cancel()
            raise


def _clean_run(plan: Plan, run: Run, after_ms: int) -> list[Cleaned]:
    cleaned: list[Cleaned] = []
    clean_run(plan, run, after_ms, cleaned.append)
    return cleaned


def clean_run(plan: Plan, run: Run, after_ms: int, sink: Sink) -> None:
    """Give the cleaned rows of a run that are later than `after_ms` to `sink`."""
    head = plan.survey.heads[run.file]
    block = Block(head.file, run.start, run.stop, head.data_start)
    with open_reader(block.file, None if block.file.compression else block.stop) as reader:
        feed(_Cleaner(plan, run.file, block, after_ms, sink), reader, CHUNK_BYTES)


def _clean_merged(plan: Plan, group: Sequence[Stretch], after_ms: int, sink: Sink) -> int:
    cleaners: dict[int, _Cleaner] = {}
    for lines in merged(plan.survey.heads, group, zone_table(plan.timezone)):
        if lines.file not in cleaners:
            head = plan.survey.heads[lines.file]
            cleaners[lines.file] = _Cleaner(plan, lines.file, Block(head.file, 0, 0, 0), after_ms, sink)
        cleaner = cleaners[lines.file]
        cleaner.lines.after_ms = after_ms
        array = np.frombuffer(bytearray(lines.text + bytes(PADDING)), np.uint8)
        cleaner.run(array, 0, len(lines.text), 0, peek=False)
        after_ms = cleaner.lines.after_ms
    return after_ms


class _Cleaner:
    """Cleans the lines that `feed` hands over."""

    def __init__(self, plan: Plan, file: int, block: Block, after_ms: int, sink: Sink) -> None:
        self.block = block
        self.bytes_read = 0
        self.leaves = b""
        self.sink = sink
        columns = len(plan.survey.heads[file].columns)
        self.lines = LineCleaner(plan.change(file), plan.rule, columns, after_ms)

    def run(self, array: NDArray[np.uint8], place: int, stop: int, base: int, *, peek: bool) -> int:
        """Clean lines as `tasks.series.feed.LineScan` says."""
        if not peek:
            for piece in self.lines.pieces(array, place, stop):
                in_window, blank_rows, _ = piece.left_out
                self.sink(Cleaned(piece.text.tobytes(), len(piece.rows), in_window, blank_rows))
                place = piece.place
        return place


def pieces_of(plan: Plan, workers: int) -> Iterator[bytes]:
    """The whole cleaned file in pieces; for small files and tests."""
    pieces: list[bytes] = [header_of(plan)]
    write_rows(plan, lambda cleaned: pieces.append(cleaned.text), workers)
    yield from pieces
