"""A small CSV table that is spoiled on purpose and remembers where.

Tables here live in memory: they are for files with planted faults only. Which
faults are planted is decided in `faults`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tasks.sampling.options import PlantedFault
from tasks.sampling.source import Source


@dataclass(frozen=True)
class _Mark:
    rule: str
    row: int | None  # from 1; None is the header or the file as a whole
    place: int | None  # the number of the cell in its line; None where no text is at fault
    column: str | None


@dataclass
class EditedTable:
    """Lines of cells; line 0 is the header, line n is row n. Edits note the rule they break."""

    lines: list[list[str]]
    marks: list[_Mark] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of rows below the header."""
        return len(self.lines) - 1

    def note(
        self, rule: str, row: int | None = None, place: int | None = None, column: str | None = None
    ) -> None:
        """Remembers a broken rule; `place` counts cells of the line from 0, where the time stands."""
        self.marks.append(_Mark(rule, row, place, column))

    def set_cell(self, rule: str, row: int, place: int, text: str) -> None:
        """Writes a cell and notes it under its column's name."""
        self.lines[row][place] = text
        self.note(rule, row, place, self.lines[0][place])

    def set_time(self, rule: str, row: int, text: str) -> None:
        """Writes the time of a row and notes it."""
        self.set_cell(rule, row, 0, text)

    def add_column(self, rule: str, name: str, like: int) -> None:
        """Appends a column under a name with the cells of another one, and notes the name in the header."""
        for line in self.lines:
            line.append(line[like])
        self.lines[0][-1] = name
        self.note(rule, None, len(self.lines[0]) - 1, name)

    def text(self) -> bytes:
        """The file."""
        return b"".join(map(_line, self.lines))

    def faults(self, file: str) -> tuple[PlantedFault, ...]:
        """The noted places, with byte offsets and texts as they are in `text()`."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(_line(line)))
        found = []
        for mark in self.marks:
            offset = value = None
            if mark.place is not None:
                line = self.lines[mark.row or 0]
                offset = starts[mark.row or 0] + len(",".join([*line[: mark.place], ""]).encode())
                value = line[mark.place]
            found.append(PlantedFault(file, mark.rule, mark.row, mark.column, offset, value))
        return tuple(found)


def _line(cells: list[str]) -> bytes:
    return (",".join(cells) + "\n").encode()


def table_of(source: Source) -> EditedTable:
    """The whole of a file as a table to be edited; for small files only."""
    text = source.header + b"".join(bytes(chunk()) for chunk in source.chunks())
    return EditedTable([line.split(",") for line in text.decode().splitlines()])
