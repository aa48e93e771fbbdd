"""What a figure of the catalogue is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from tasks.outputs.results import Results


class NothingToDraw(Exception):
    """The run has not what a figure needs; the text says what is missing."""


@dataclass(frozen=True)
class Plot:
    """A figure: `figures/<name>.pdf` and `.png`.

    `counterpart` names the published PDF it stands for, if any; `draw` raises NothingToDraw
    where the run has nothing for it.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[Results], Figure]
    counterpart: str = ""
