"""The requirements: which figures decide whether the project keeps what it promises.

Belongs here: each requirement with its limit, and how it follows from medians. Ratios and
not seconds wherever possible: they mean the same on another machine. A missed requirement
is reported and fails nothing; `compare` is what notices that one got worse.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.bench.data import MEGABYTE
from tests.bench.results import Median, Ratio


class _Lookup:
    """Medians by content and contender; whatever is missing makes a figure None."""

    def __init__(self, medians: Iterable[Median]) -> None:
        self._medians = {(one.content, one.contender): one for one in medians}

    def speed(self, content: str, contender: str) -> float | None:
        found = self._medians.get((content, contender))
        return found.mb_per_s if found else None

    def seconds(self, content: str, contender: str) -> float | None:
        found = self._medians.get((content, contender))
        return found.paced_s if found else None

    def peak(self, content: str) -> float | None:
        """The median peak of ours: steady enough to be divided."""
        found = self._medians.get((content, "ours-2"))
        return found.peak_bytes if found and not found.failure else None

    def worst_peak_mb(self, content: str) -> float | None:
        """The highest peak of ours: a bound holds in every round."""
        found = self._medians.get((content, "ours-2"))
        return found.worst_peak_bytes / MEGABYTE if found and not found.failure else None


def ratios_of(
    medians: Iterable[Median], parallel_gain: float | None = None, sums_cost: float | None = None
) -> tuple[Ratio, ...]:
    """All requirements against what was measured, those without a measurement too."""
    at = _Lookup(medians)

    def faster(content: str, than: str, limit: float, aim: float | None = None, note: str = "") -> Ratio:
        value = _quotient(at.speed(content, "ours-2"), at.speed(content, than))
        return Ratio(f"{content}: ours-2 / {than}, MB/s", value, limit, "higher", aim=aim, note=note)

    gain = "" if parallel_gain is None else f"arithmetic alone gains {parallel_gain:.2f} on this machine"
    return (
        faster("GPU_UTIL", "polars", 8),
        faster("SM_ACTIVE", "polars", 8),
        faster("RAW", "polars", 3),
        faster("GPU_UTIL", "reference", 100, note="reference on a tenth"),
        faster("IPMI", "reference", 20, note="reference on a tenth"),
        faster("GPU_UTIL", "wc", 0.5, aim=0.8),
        faster("GPU_UTIL", "ours-1", 1.8, note=gain),
        Ratio("GPU_UTIL: peak memory of ours-2", at.worst_peak_mb("GPU_UTIL"), 600, "lower", "MB"),
        Ratio(
            "GPU_UTIL: peak memory, whole / quarter of the size",
            _quotient(at.peak("GPU_UTIL"), at.peak("GPU_UTIL-quarter")),
            1.10,
            "lower",
        ),
        Ratio(
            "GPU_UTIL-double: summarize - ours-2",
            _difference(at.seconds("GPU_UTIL-double", "summarize"), at.seconds("GPU_UTIL-double", "ours-2")),
            15,
            "lower",
            "s",
            aim=6,
        ),
        Ratio("GPU_UTIL: sums of entities and hours / counts alone", sums_cost, 1.3, "lower"),
    )


def _quotient(left: float | None, right: float | None) -> float | None:
    return left / right if left is not None and right else None


def _difference(left: float | None, right: float | None) -> float | None:
    return left - right if left is not None and right is not None else None
