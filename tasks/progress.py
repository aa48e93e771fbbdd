"""What a run tells while it works: events for a terminal, an artifact, or nobody.

Work reports here and nowhere else; who listens decides what to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from schemas.cleaning import CleanedSeries
from schemas.convert import ConvertedSeries
from schemas.job_records import JobLogRecord
from schemas.series import SeriesRecord


@dataclass(frozen=True)
class Reading:
    """What a run is about to read, in bytes as stored.

    `files` hold `stored` bytes; `wanted` of these are in the period asked for and
    not known from an earlier run, but for `done` that it had read before it broke off.
    """

    source: str
    files: int
    stored: int
    wanted: int
    done: int


@runtime_checkable
class Listener(Protocol):
    """Is told of the work on series; calls come from several threads."""

    def found(self, reading: Reading) -> None:
        """What the run will read; the first event."""

    def planned(self, label: str, number: int, size: int) -> None:
        """Pass `number` (from 1) over the series `label` begins; `size` bytes are left to read in it."""

    def read(self, label: str, size: int) -> None:
        """`size` bytes of the current pass over `label` are done."""

    def judged(self, record: SeriesRecord) -> None:
        """A series is finished; its record holds findings and verdict."""


class Silent:
    """Listens to nothing."""

    def found(self, reading: Reading) -> None:
        """Say nothing."""

    def planned(self, label: str, number: int, size: int) -> None:
        """Say nothing."""

    def read(self, label: str, size: int) -> None:
        """Say nothing."""

    def judged(self, record: SeriesRecord) -> None:
        """Say nothing."""

    def cleaned(self, record: CleanedSeries) -> None:
        """Say nothing."""

    def converted(self, record: ConvertedSeries) -> None:
        """Say nothing."""

    def logged(self, record: JobLogRecord) -> None:
        """Say nothing."""


class Several:
    """Passes everything on to several listeners."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = tuple(listeners)

    def found(self, reading: Reading) -> None:
        """Pass it on."""
        for listener in self._listeners:
            listener.found(reading)

    def planned(self, label: str, number: int, size: int) -> None:
        """Pass it on."""
        for listener in self._listeners:
            listener.planned(label, number, size)

    def read(self, label: str, size: int) -> None:
        """Pass it on."""
        for listener in self._listeners:
            listener.read(label, size)

    def judged(self, record: SeriesRecord) -> None:
        """Pass it on."""
        for listener in self._listeners:
            listener.judged(record)
