"""A period as rows at even steps, and its cut into chunks that one query answers.

Rows lie at whole multiples of the step since 1970, whatever the period: two
exports that meet give one series. Chunks lie on a grid that starts with the
period, and halve on it, so that a later run finds the chunks of an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.errors import UsageError

MOST_ROWS = 8192  # a query may have 11,000 points a series
SAMPLES_A_CHUNK = 1_000_000


@dataclass(frozen=True)
class Span:
    """`rows` instants from `start_s` on, `step_s` apart; epoch seconds."""

    start_s: int
    rows: int
    step_s: int

    @property
    def last_s(self) -> int:
        """The last instant."""
        return self.start_s + (self.rows - 1) * self.step_s

    def cut(self, rows: int) -> Iterator[Span]:
        """The span in parts of `rows` instants; the last may have fewer."""
        for first in range(0, self.rows, rows):
            yield Span(self.start_s + first * self.step_s, min(rows, self.rows - first), self.step_s)

    def halves(self) -> tuple[Span, Span]:
        """The span in two, the first with the larger power of two that is less than its rows."""
        first = 1 << ((self.rows - 1).bit_length() - 1)
        return (
            Span(self.start_s, first, self.step_s),
            Span(self.start_s + first * self.step_s, self.rows - first, self.step_s),
        )


def span_of(since_ms: int, until_ms: int, step_s: int) -> Span:
    """The instants in [since, until), aligned to the step; UTC ms.

    Raises:
        UsageError: there is none.
    """
    if since_ms >= until_ms:
        raise UsageError("The period is empty: --since is not before --until.")
    step_ms = step_s * 1000
    first, stop = -(-since_ms // step_ms), -(-until_ms // step_ms)
    if first >= stop:
        raise UsageError(
            f"The period holds no instant that is a multiple of the step, {step_s} s.",
            hint="Give a longer period or a shorter --step.",
        )
    return Span(first * step_s, stop - first, step_s)


def chunk_rows(series: int) -> int:
    """Rows of a chunk whose answer for so many series is not too long: a power of two."""
    rows = min(SAMPLES_A_CHUNK // max(series, 1), MOST_ROWS)
    return 1 << (max(rows, 1).bit_length() - 1)
