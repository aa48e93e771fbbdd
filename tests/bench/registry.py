"""What a contender is, and the list of all of them.

Belongs here: the form of a contender and how one enters the list. Adding one is writing
a function with `@works(...)` (it runs inside a process of the harness) or `@runs(...)`
(it names a command that is a process itself).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.bench.counts import Outcome

Form = Literal["wide", "ipmi"]
Work = Callable[[Path], Outcome]
Command = Callable[[Path, Path], list[str]]
ReadBack = Callable[[Path], Outcome]


def _nothing(out: Path) -> Outcome:
    return Outcome()


@dataclass(frozen=True)
class Contender:
    """A way to get the distribution of a file.

    work: does it in this process. command: argument list of a process that does it, from
        the file and a folder for its output; `read_back` finds the outcome in that folder.
        One of the two is there.
    needs: modules it cannot do without.
    small: it gets a tenth of the file, because the whole would take too long or not fit.
    timeout_s: after which it is stopped and reported as slower than that.
    """

    name: str
    what: str
    work: Work | None = None
    command: Command | None = None
    read_back: ReadBack = _nothing
    forms: tuple[Form, ...] = ("wide",)
    needs: tuple[str, ...] = ()
    small: bool = False
    timeout_s: float = 300.0

    def missing(self) -> str | None:
        """The first module it needs that is not installed."""
        return next((name for name in self.needs if importlib.util.find_spec(name) is None), None)


CONTENDERS: dict[str, Contender] = {}


def works(
    name: str,
    what: str,
    *,
    forms: tuple[Form, ...] = ("wide",),
    needs: tuple[str, ...] = (),
    small: bool = False,
    timeout_s: float = 300.0,
) -> Callable[[Work], Work]:
    """Enter the decorated function as a contender that works in a process of the harness."""

    def enter(work: Work) -> Work:
        _enter(Contender(name, what, work=work, forms=forms, needs=needs, small=small, timeout_s=timeout_s))
        return work

    return enter


def runs(
    name: str,
    what: str,
    *,
    forms: tuple[Form, ...] = ("wide",),
    read_back: ReadBack = _nothing,
    timeout_s: float = 300.0,
) -> Callable[[Command], Command]:
    """Enter the decorated function as a contender that is a process of its own."""

    def enter(command: Command) -> Command:
        _enter(Contender(name, what, command=command, read_back=read_back, forms=forms, timeout_s=timeout_s))
        return command

    return enter


def _enter(contender: Contender) -> None:
    if contender.name in CONTENDERS:
        raise ValueError(f"two contenders are called {contender.name}")
    CONTENDERS[contender.name] = contender
