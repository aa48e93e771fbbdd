"""The rows of a log as text, a few megabytes at a time.

A part is an Arrow table of strings with the number of each row in the file. Rows
that have more or fewer cells than the header are kept apart. Nothing here knows
what a column means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from tasks.storage.digest import LeafDigests
from tasks.storage.reference import Reader

PART_BYTES = 4 << 20
# Beyond this no line of a job log is one: better an end than all memory.
LONGEST_LINE = 64 << 20
# Words that schedulers and exports write where there is no value.
BLANKS = (
    "",
    "NULL",
    "null",
    "None",
    "none",
    "NaN",
    "nan",
    "N/A",
    "n/a",
    "NA",
    "Unknown",
    "None assigned",
    "\\N",
)


@dataclass(frozen=True)
class Ragged:
    """A row with the wrong number of cells."""

    row: int
    cells: int
    text: str


@dataclass(frozen=True)
class Part:
    """Rows of a log. `numbers` has the row in the file of each row of `table`, from 1 below the header."""

    table: pa.Table
    numbers: NDArray[np.int64]
    ragged: tuple[Ragged, ...]
    first: int
    data: bytes
    offset: int
    undecodable: bool = False

    def place(self, row: int) -> int | None:
        """The byte of the file at which a row begins; None where the rows are no lines of text."""
        if not self.data:
            return None
        position = 0
        for _ in range(row - self.first):
            position = self.data.index(b"\n", position) + 1
        return self.offset + position


@dataclass(frozen=True)
class Columns:
    """How a log separates its cells, and what it calls them; rows begin at byte `start`."""

    names: tuple[str, ...]
    separator: str
    start: int


def read_parts(
    reader: Reader, columns: Columns, digests: LeafDigests | None = None, part_bytes: int = PART_BYTES
) -> Iterator[Part]:
    """The rows of an open log, from byte `columns.start` to its end, in order.

    Raises:
        ReadFailed: as the reader.
    """
    rest, offset, row = b"", columns.start, 1
    position = 0
    while True:
        buffer = bytearray(part_bytes)
        count = reader.read_into(position, memoryview(buffer))
        piece = memoryview(buffer)[:count]
        if digests is not None:
            digests.add(position, piece)
        begin = max(columns.start - position, 0)
        position += count
        rest += bytes(piece[begin:])
        ended = count < part_bytes
        cut = len(rest) if ended or len(rest) > LONGEST_LINE else rest.rfind(b"\n") + 1
        if cut:
            part, lines = _part(rest[:cut], columns, row, offset)
            yield part
            row, offset, rest = row + lines, offset + cut, rest[cut:]
        if ended:
            return


def _part(data: bytes, columns: Columns, first: int, offset: int) -> tuple[Part, int]:
    ragged: list[Ragged] = []
    lines = data.count(b"\n") + (not data.endswith(b"\n"))

    def note(found: Any) -> str:
        ragged.append(Ragged(first + found.number - 1, found.actual_columns, found.text))
        return "skip"

    undecodable = False
    try:
        table = _table(data, columns, note)
    except pa.ArrowInvalid as error:
        if "UTF8" not in str(error):
            raise
        undecodable = True
        ragged.clear()
        data = data.decode("utf-8", "replace").encode()
        table = _table(data, columns, note)
    kept = np.ones(lines, bool)
    for found in ragged:
        kept[found.row - first] = False
    numbers = np.flatnonzero(kept).astype(np.int64) + first
    filled = _filled(table)
    if not filled.all():
        table, numbers = table.filter(pa.array(filled)), numbers[filled]
    real = tuple(found for found in ragged if found.text.strip())
    return Part(table, numbers, real, first, data, offset, undecodable), lines


def _table(data: bytes, columns: Columns, note: Any) -> pa.Table:
    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(
            column_names=list(columns.names), use_threads=False, block_size=max(len(data), 1)
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=columns.separator,
            quote_char=False if columns.separator == "|" else '"',
            ignore_empty_lines=False,
            invalid_row_handler=note,
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: pa.string() for name in columns.names},
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            null_values=list(BLANKS),
        ),
    )


def _filled(table: pa.Table) -> NDArray[np.bool_]:
    """Which rows have any value; a blank line has none."""
    filled = np.zeros(table.num_rows, bool)
    for column in table.columns:
        if column.null_count < table.num_rows:
            filled |= np.asarray(column.is_valid())
        if filled.all():
            break
    return filled
