"""Everybody finds the same on a tiny file of each content, and who does not is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("psutil", reason="the benchmark's extra is not installed: psutil")

from tests.bench import data
from tests.bench.agree import difference_of, disagreements
from tests.bench.contenders import CONTENDERS
from tests.bench.counts import Counts, Outcome, levels, quantiles
from tests.bench.data import CONTENTS, BenchFile
from tests.bench.measure import head_of
from tests.bench.plan import OURS

FORMS = ("GPU_UTIL", "SM_ACTIVE", "FB_USED", "RAW", "IPMI")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The first lines of the smallest file of each content, in up to 200 columns."""
    folder = tmp_path_factory.mktemp("bench")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACMETRACE_BENCH_DATA", str(folder / "data"))
        wanted = {name: BenchFile(CONTENTS[name], scale=1e-6) for name in FORMS}
        data.provide(wanted.values())
        for name, file in wanted.items():
            place = folder / name
            place.mkdir()
            found[name] = head_of(file.path, place)
            _narrow(found[name])
    return found


def _narrow(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("".join(",".join(line.split(",")[:201]) + "\n" for line in lines))


# The reader of IPMI files is compiled for half a minute.
@pytest.mark.parametrize("content", [*FORMS[:-1], pytest.param(FORMS[-1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name, one in CONTENDERS.items() if one.work and name != OURS])
def test_all_find_the_same(files: dict[str, Path], content: str, name: str) -> None:
    contender, ours = CONTENDERS[name], CONTENDERS[OURS]
    if CONTENTS[content].form not in contender.forms:
        pytest.skip(f"{name} is not meant for {CONTENTS[content].form} files")
    if missing := contender.missing():
        pytest.skip(f"{name} needs {missing}, which is not installed")
    assert contender.work is not None
    assert ours.work is not None
    expected = ours.work(files[content])
    assert expected.count
    assert difference_of(contender.work(files[content]), expected) is None


def test_quantiles_of_counts_are_those_of_numpy() -> None:
    flat = np.round(np.random.default_rng(1).normal(50, 20, 5000), 1)
    values, counts = np.unique(flat, return_counts=True)
    assert np.array_equal(quantiles(values, counts, levels()), np.quantile(flat, levels()))


def test_parts_come_in_any_order_and_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.bench.counts._WAITING", 50)
    flat = np.random.default_rng(2).integers(0, 40, 3000).astype(np.float64)
    counts = Counts()
    for part in np.array_split(np.r_[flat, np.nan], 30):
        counts.add_cells(part)
    values, times = np.unique(flat, return_counts=True)
    found = counts.outcome()
    assert found.count == len(flat)
    assert found.curve is not None
    assert np.array_equal(found.curve, quantiles(values, times, levels()))


def test_no_value_at_all() -> None:
    assert Counts().outcome().count == 0


def test_who_disagrees_is_named() -> None:
    right = Outcome(3, np.array([1.0, 2.0, 3.0]))
    fewer = Outcome(2, np.array([1.0, 2.0, 3.0]))
    off = Outcome(3, np.array([1.0, np.nextafter(2.0, 3.0), 3.0]))
    found = [("polars", off), ("wc", Outcome()), (OURS, right), ("dask", fewer), ("pyarrow", right)]
    lines = disagreements("FILE", found, OURS)
    assert lines == [
        "FILE: polars disagrees with ours-2: 1 quantiles differ, first number 1: "
        "2.0000000000000004 instead of 2.0",
        "FILE: dask disagrees with ours-2: 2 values instead of 3",
    ]


def test_a_contender_that_disagrees_with_itself_is_named() -> None:
    one, other = Outcome(1, np.array([1.0])), Outcome(2, np.array([1.0]))
    assert len(disagreements("FILE", [(OURS, one), (OURS, other)], OURS)) == 1
