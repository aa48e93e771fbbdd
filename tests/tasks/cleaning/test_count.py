"""A raw export counted directly gives what its cleaned file gives, wherever it is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import NotASeries
from schemas.metrics import CATALOGUE
from tasks.cleaning.count import check_parts, cleaned_head, raw_kind
from tasks.cleaning.rules import rule_of
from tasks.series.discover import discover
from tasks.series.options import ScanOptions
from tasks.series.summary import SeriesSummary
from tasks.series.units import ThreadExecutor
from tasks.series.wide import heads_of, plan_series, summarise_series
from tests.tasks.cleaning.test_cleaning import cleaned

NAME = "SM_ACTIVE"
RULE = rule_of(CATALOGUE[NAME])


def counted(folder: Path, block_bytes: int) -> SeriesSummary:
    """The summary of a raw series, counted directly."""
    (series,) = discover(str(folder))
    heads = heads_of(series, None)
    check_parts(heads)
    options = ScanOptions(block_bytes=block_bytes)
    heads = tuple(cleaned_head(head, RULE) for head in heads)
    return summarise_series(plan_series(series, heads, options, raw_kind(RULE)), ThreadExecutor(2))


def summarised(folder: Path) -> SeriesSummary:
    """The summary of a cleaned series."""
    (series,) = discover(str(folder))
    return summarise_series(plan_series(series, heads_of(series, None), ScanOptions()), ThreadExecutor(1))


@st.composite
def raw_exports(draw: st.DrawFn) -> str:
    """Rows in order, some of them twice or blank."""
    columns = draw(st.integers(1, 3))
    cell = st.sampled_from(["0.5", "0.123456789", "1", "", "0", "0.99999", "NaN"])
    lines = [",".join(["Time", *(f"10.0.0.{c}-0" for c in range(columns))])]
    clock = 1_690_848_000
    for _ in range(draw(st.integers(1, 40))):
        clock += draw(st.sampled_from([0, 0, 15, 15, 15, 60]))
        row = draw(st.lists(cell, min_size=columns, max_size=columns))
        lines.append(",".join([str(clock), *(row if draw(st.integers(0, 4)) else [""] * columns)]))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=raw_exports(), block_bytes=st.sampled_from([1, 5, 16, 50, 333, 1 << 20]))
def test_cuts_anywhere_give_what_the_cleaned_file_gives(
    tmp_path_factory: pytest.TempPathFactory, text: str, block_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("raw")
    for place in ("raw/mine", "clean/mine", "texts"):
        (folder / place).mkdir(parents=True)
    (folder / "raw/mine" / f"{NAME}.csv").write_text(text)
    (folder / "clean/mine" / f"{NAME}.csv").write_text(cleaned(folder / "texts", [text], RULE))
    one, other = counted(folder / "raw/mine", block_bytes), summarised(folder / "clean/mine")
    assert one.record.observed.values == other.record.observed.values
    if not other.record.observed.values:
        return
    for name in ("rows", "columns", "blanks", "first_time", "last_time", "low", "high", "zero_share"):
        assert getattr(one.record.observed, name) == getattr(other.record.observed, name), name
    assert one.record.entities == other.record.entities
    assert [c.values.tobytes() for c in one.curves] == [c.values.tobytes() for c in other.curves]
    assert one.entities.equals(other.entities)
    assert one.hourly.equals(other.hourly)


def test_parts_that_overlap_are_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}-2023-07.csv").write_text("Time,a\n1690848000,1\n1690848015,1\n")
    (tmp_path / f"{NAME}-2023-08.csv").write_text("Time,a\n1690848015,1\n")
    with pytest.raises(NotASeries, match="acmetrace clean"):
        counted(tmp_path, 1 << 20)
