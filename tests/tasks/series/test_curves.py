"""Curves of a series in one pass or many: those of pandas, for the whole file and each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tasks.series.curve import MARKS
from tasks.series.curves import curves_of
from tasks.series.refine import KeyRanges
from tasks.series.spec import ScanSpec, Window
from tasks.series.summary import Curve
from tasks.series.tally import Tally
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]
LIMIT = 8400  # a little more than two keys for each rank of whole and window
ROWS = 24_000
AUGUST = Window("2023-08", 4_000_000, 16_000_000)
SMALL = Window("small", 20_000_000, 20_500_000)


def shapes() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    spread = rng.lognormal(0, 3, ROWS)
    near = 1 + rng.random(ROWS) * 1e-9
    mixed = np.where(np.arange(ROWS) < 4000, near, spread)
    # The window's values are far denser than the others: its search waits until that of the whole is as far.
    apart = np.where((np.arange(ROWS) >= 4000) & (np.arange(ROWS) < 16_000), near, spread)
    return {
        "all distinct": spread,
        "very near each other": near,
        "two scales": mixed,
        "the window denser than the rest": apart,
        "signs": rng.normal(0, 1e-3, ROWS),
        "heavy ties": np.where(rng.random(ROWS) < 0.9, rng.integers(0, 40, ROWS) / 7, spread),
        "fixed point and raw": np.where(rng.random(ROWS) < 0.5, rng.integers(0, 900, ROWS) / 10, spread),
    }


@pytest.mark.parametrize(
    ("shape", "chunk_bytes"), [("all distinct", 20_000), *((shape, 1 << 20) for shape in shapes())]
)
def test_many_passes_with_small_tables_give_the_curve_of_pandas(
    shape: str, chunk_bytes: int, write: Write, tally: Any, quantiles: Any
) -> None:
    values = shapes()[shape]
    ref = write("Time,a\n" + "".join(f"{i},{value!r}\n" for i, value in enumerate(values.tolist())))
    spec = ScanSpec(decimals=1, limit=LIMIT, windows=(AUGUST, SMALL))
    passes: list[int] = []

    def scanned(chosen: ScanSpec) -> Tally:
        counted: Tally = tally(ref, chosen, cuts=range(0, ref.size, 200_000), chunk_bytes=chunk_bytes)
        assert all(len(table.keys) <= LIMIT for table in counted.values.values())
        return counted

    def recount(number: int, ranges: KeyRanges) -> Tally:
        passes.append(number)
        return scanned(spec.refined(ranges))

    found = curves_of("lab", "X", scanned(spec), (AUGUST.name, SMALL.name), recount)
    parts = {"all": values, AUGUST.name: values[4000:16_000], SMALL.name: values[20_000:20_500]}
    assert [curve.period for curve in found] == list(parts)
    for curve in found:
        part = parts[curve.period]
        assert curve.values.tobytes() == quantiles(part).tobytes(), curve.period
        assert list(curve.marks.values()) == np.quantile(part, MARKS).tolist()
        assert curve.count == len(part)
        assert curve.zero_share == np.mean(part == 0)
    if len(np.unique(values)) > LIMIT:
        assert passes == list(range(2, 2 + len(passes)))
        assert passes


def test_an_exact_tally_needs_no_further_pass(write: Write, tally: Any) -> None:
    def recount(number: int, ranges: KeyRanges) -> Tally:
        raise AssertionError("nothing to count again")

    counted = tally(write("Time,a\n1,1.5\n2,0\n3,4\n"))
    (curve,) = curves_of("lab", "X", counted, (), recount)
    assert (curve.cluster, curve.metric, curve.period, curve.count) == ("lab", "X", "all", 3)
    assert curve.marks[0.5] == 1.5
    assert curve.zero_share == 1 / 3


def test_windows_without_values_have_no_curve(write: Write, tally: Any) -> None:
    counted = tally(write("Time,a\n1,1.5\n"), ScanSpec(windows=(AUGUST,)))
    assert [c.period for c in curves_of("lab", "X", counted, (AUGUST.name,), lambda n, r: counted)] == ["all"]


def test_memory_percent_is_computed_from_the_values_before_interpolation(
    write: Write, tally: Any, quantiles: Any
) -> None:
    values = np.random.default_rng(3).integers(0, 81_249, 400).astype(float)
    counted = tally(
        write("Time,a\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values))), ScanSpec(span=81_921)
    )
    found = curves_of("seren", "FB_USED", counted, (), lambda n, r: counted)
    by_name: dict[str, Curve] = {curve.metric: curve for curve in found}
    assert by_name["FB_USED"].values.tobytes() == quantiles(values).tobytes()
    assert by_name["FB_USED_PCT"].values.tobytes() == quantiles(values * 100 / (80 * 1024)).tobytes()


def test_tables_that_cannot_tell_the_ranks_apart_are_an_error_and_no_guess(write: Write, tally: Any) -> None:
    ref = write("Time,a\n" + "".join(f"{i},{i / 7!r}\n" for i in range(3000)))
    spec = ScanSpec(limit=100)
    with pytest.raises(ValueError, match="cannot separate"):
        curves_of("lab", "X", tally(ref, spec), (), lambda n, ranges: tally(ref, spec.refined(ranges)))
