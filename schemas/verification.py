"""What a comparison with published numbers gives: a line a number or curve."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Outcome = Literal["agrees", "differs", "known discrepancy", "not computable"]


class Compared(BaseModel):
    """One number or curve of a run beside the published one.

    `value` is the run's; `published` the paper's or the published curve's median; `public` what the
    public files give. `distance_pct` is the Kolmogorov–Smirnov distance of a curve, in points. `reason`
    says why it is not computable, or known or bound to differ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    claim: str
    cluster: str
    unit: str
    value: float | None = None
    published: float | None = None
    public: float | None = None
    distance_pct: float | None = None
    outcome: Outcome
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """The run's value less what the public files give, or else the published one."""
        reference = self.published if self.public is None else self.public
        return None if self.value is None or reference is None else self.value - reference


Kind = Literal["curve", "jobs", "number"]


class Moved(BaseModel):
    """What two runs have in common, and how far it moved from the first, `a`, to the second, `b`.

    Of a curve `a` and `b` are medians, and `distance_pct` is the Kolmogorov–Smirnov distance, in
    points; of a distribution of jobs there is the distance alone, of a number none. An empty
    cluster or period stands for the one that was chosen for each side.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    name: str
    cluster: str
    period: str = ""
    unit: str = ""
    a: float | None = None
    b: float | None = None
    distance_pct: float | None = None

    @property
    def moved_pct(self) -> float:
        """From 0, nothing, to 100: the distance, or the difference of numbers over the larger one."""
        if self.distance_pct is not None:
            return self.distance_pct
        if self.a is None or self.b is None or self.a == self.b:
            return 0.0
        return min(100.0, 100 * abs(self.b - self.a) / max(abs(self.a), abs(self.b)))


class RunsCompared(BaseModel):
    """Two runs beside each other: what both have, by how far it moved; and what only one has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    moved: tuple[Moved, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
