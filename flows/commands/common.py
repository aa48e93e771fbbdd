"""What all commands share: exit codes, where they print, how much they say."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console

if TYPE_CHECKING:
    from pydantic import ValidationError

OK, FAILED, BAD_USAGE, INPUT_FAILED, INTERRUPTED = 0, 1, 2, 3, 130

out = Console()
err = Console(stderr=True)

Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]
"""An option that takes one or more names."""

_OUTPUT = Group("What is printed", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True)
class Talk:
    """How much a command says."""

    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", group=_OUTPUT)] = False
    """Say nothing but errors."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative="", group=_OUTPUT)] = False
    """Say more: all findings, and the logs of the flow."""
    json: Annotated[bool, Parameter(name="--json", negative="", group=_OUTPUT)] = False
    """Print the result as JSON on stdout, for other programs."""

    @property
    def verbosity(self) -> int:
        """-1 quiet, 0 normal, 1 verbose."""
        return 1 if self.verbose else -1 if self.quiet else 0


def say(text: str) -> None:
    """Print a line of the result on stdout, as it is."""
    out.print(text, highlight=False, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """Print the result for another program."""
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def first_problem(error: ValidationError) -> str:
    """The first of the problems that pydantic found, in one sentence."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}."
