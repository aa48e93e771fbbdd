"""Who is measured on what, and how often.

Belongs here: the choice of files, contenders and rounds of a run, made so that a whole run
takes about ten minutes once its files are there. Contenders that take seconds get five
rounds; those that take half a minute get fewer, since their noise is a smaller share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.bench.contenders import CONTENDERS, Contender
from tests.bench.data import CONTENTS, MEGABYTE, BenchError, BenchFile

OURS = "ours-2"
SMOKE = ("ours-1", "ours-2", "polars", "reference", "wc")
SMOKE_SCALE = 0.01
# A tenth of less than this says nothing; the slow methods then get the whole.
_TENTH_FROM_BYTES = 20 * MEGABYTE

# Rounds for each content and contender; a content has the contenders that stand here.
ROUNDS: dict[str, dict[str, int]] = {
    "GPU_UTIL": {
        "wc": 5,
        "ours-1": 5,
        "ours-2": 5,
        "polars": 3,
        "pyarrow": 1,
        "pandas-chunks": 2,
        "dask": 1,
        "reference": 2,
        "duckdb": 1,
    },
    "SM_ACTIVE": {"wc": 3, "ours-1": 3, "ours-2": 5, "polars": 2, "reference": 1},
    "FB_USED": {"wc": 3, "ours-1": 3, "ours-2": 3, "polars": 1, "reference": 1},
    "RAW": {"wc": 3, "ours-1": 3, "ours-2": 3, "polars": 2, "pyarrow": 1, "reference": 1},
    "IPMI": {"wc": 3, "ours-1": 3, "ours-2": 3, "reference": 3},
    "GPU_UTIL-quarter": {"ours-2": 3},
    "GPU_UTIL-double": {"ours-2": 3, "summarize": 2},
}
# The smoke run is there for agreement: one content for each way our scan takes.
SMOKE_CONTENTS = ("GPU_UTIL", "RAW", "IPMI")


@dataclass(frozen=True)
class Entry:
    """A contender on a file; `checks` marks ours on a tenth, there only for the others to agree with."""

    file: BenchFile
    contender: Contender
    rounds: int
    checks: bool = False


@dataclass(frozen=True)
class Plan:
    """The entries of a run, what is left out and why; `sums`: measure the cost of sums, too."""

    scale: float
    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]
    sums: bool = True

    def contents(self) -> dict[str, list[Entry]]:
        """Entries by content, in the order they are measured."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.file.content.name, []).append(entry)
        return found


def plan(
    scale: float, only: Sequence[str] = (), contenders: Sequence[str] = (), most_rounds: int | None = None
) -> Plan:
    """What to measure at `scale`; `only` names contents, `contenders` contenders, empty means all.

    Raises:
        BenchError: an unknown name, or nothing is left to measure.
    """
    _refuse_unknown("content", only, tuple(CONTENTS))
    _refuse_unknown("contender", contenders, tuple(CONTENDERS))
    if not scale > 0:
        raise BenchError(f"the scale is {scale:g}, it must be more than 0")
    if most_rounds is not None and most_rounds < 1:
        raise BenchError(f"{most_rounds} rounds measure nothing")
    left_out: dict[str, str] = {}
    entries: list[Entry] = []
    for name in CONTENTS:
        if not only or name in only:
            entries += _of_content(name, scale, contenders, most_rounds, left_out)
    if not entries:
        raise BenchError("nothing is left to measure: " + ("; ".join(left_out.values()) or "no such pair"))
    return Plan(scale, tuple(entries), tuple(left_out.values()))


def _of_content(
    name: str, scale: float, wanted: Sequence[str], most: int | None, left_out: dict[str, str]
) -> Iterator[Entry]:
    whole, checks = BenchFile(CONTENTS[name], scale), False
    tenth = replace(whole, small=True) if whole.bytes_wanted >= _TENTH_FROM_BYTES else whole
    for key, rounds in ROUNDS[name].items():
        contender = CONTENDERS[key]
        if wanted and key not in wanted:
            continue
        if missing := contender.missing():
            left_out[key] = f"{key}: {missing} is not installed"
            continue
        file = tenth if contender.small else whole
        checks = checks or file.small
        yield Entry(file, contender, min(rounds, most or rounds))
    if checks:
        yield Entry(tenth, CONTENDERS[OURS], 1, checks=True)


def _refuse_unknown(kind: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise BenchError(f"there is no {kind} {name}; known: {', '.join(known)}")
