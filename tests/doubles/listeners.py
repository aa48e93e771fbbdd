"""Listeners that remember what a run tells."""

from __future__ import annotations

from tasks.progress import Reading, Silent


class Announced(Silent):
    """Remembers what a run says it will read."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def found(self, reading: Reading) -> None:
        self.readings.append(reading)
