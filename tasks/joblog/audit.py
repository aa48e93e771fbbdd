"""What was found in a log and done about it: counts by rule, with the first places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas.findings import EXAMPLES_KEPT, JOB_RULES, LEFT_OUT, Example, Finding
from schemas.job_records import AuditLine

Place = Callable[[int], int | None]


@dataclass
class _Noted:
    rows: int = 0
    words: dict[str, int] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)


@dataclass
class Audit:
    """Collects what happens to the rows of one log."""

    file: str
    _noted: dict[str, _Noted] = field(default_factory=dict)

    def rows(
        self,
        rule: str,
        mask: NDArray[np.bool_],
        numbers: NDArray[np.int64],
        place: Place,
        *,
        column: str | None = None,
        values: Callable[[int], object] | None = None,
    ) -> None:
        """Note the rows of `mask`; `values` gives what stands in row i of the part."""
        chosen = np.flatnonzero(mask)
        if not len(chosen):
            return
        noted = self._noted.setdefault(rule, _Noted())
        noted.rows += len(chosen)
        for index in chosen[: EXAMPLES_KEPT - len(noted.examples)].tolist():
            row = int(numbers[index])
            value = None if values is None else str(values(index))
            noted.examples.append(
                Example(file=self.file, row=row, column=column, byte_offset=place(row), value=value)
            )

    def one(self, rule: str, *, row: int | None = None, value: Any = None, offset: int | None = None) -> None:
        """Note one row, or with neither row nor value the log as a whole."""
        noted = self._noted.setdefault(rule, _Noted())
        noted.rows += 1
        if len(noted.examples) < EXAMPLES_KEPT:
            text = None if value is None else str(value)[:200]
            noted.examples.append(Example(file=self.file, row=row, byte_offset=offset, value=text))

    def words(self, rule: str, counts: Sequence[tuple[str, int]]) -> None:
        """Note `counts` rows of each word, for rules about which words occur."""
        for word, count in counts:
            if count:
                noted = self._noted.setdefault(rule, _Noted())
                noted.rows += count
                noted.words[word] = noted.words.get(word, 0) + count

    def names(self, rule: str, names: Sequence[str]) -> None:
        """Note columns, for rules about the log as a whole."""
        for name in names:
            noted = self._noted.setdefault(rule, _Noted())
            noted.rows += 1
            noted.words[name] = 0

    def count(self, rule: str) -> int:
        """How many rows of a rule were noted."""
        return self._noted[rule].rows if rule in self._noted else 0

    def lines(self) -> tuple[AuditLine, ...]:
        """The audit, in the order of the rules."""
        return tuple(
            AuditLine(
                rule=rule,
                severity=JOB_RULES[rule].severity,
                rows=self._noted[rule].rows,
                left_out=rule in LEFT_OUT,
                treatment=self._treatment(rule),
            )
            for rule in JOB_RULES
            if rule in self._noted
        )

    def findings(self, cluster: str) -> tuple[Finding, ...]:
        """The same as findings, with the first places of each."""
        return tuple(
            Finding(
                rule=line.rule,
                severity=line.severity,
                cluster=cluster,
                metric="job log",
                count=line.rows,
                message=line.treatment,
                examples=tuple(self._noted[line.rule].examples),
            )
            for line in self.lines()
        )

    def _treatment(self, rule: str) -> str:
        words = self._noted[rule].words
        ordered = sorted(words.items(), key=lambda item: -item[1])
        told = ", ".join(f"{word} {count:,}" if count else word for word, count in ordered)
        return f"{JOB_RULES[rule].meaning}: {told}" if told else JOB_RULES[rule].meaning
