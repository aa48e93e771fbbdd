"""Wide files: rows in order, one column an entity, the text of every number exact."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.prometheus.parts import Part
from tasks.prometheus.spans import Span
from tasks.prometheus.wide import offset_of, write_wide

START = int(datetime(2024, 5, 6, tzinfo=UTC).timestamp())
NAN = float("nan")


def test_entities_that_come_later_have_a_column_from_the_start(tmp_path: Path) -> None:
    first = Part(Span(START, 2, 15), ("a",), np.array([[1.0], [2.5]]))
    second = Part(Span(START + 30, 2, 15), ("b", "a"), np.array([[3.0, NAN], [NAN, NAN]]))
    written = write_wide(tmp_path, "x/M.csv", [first, second], ["a", "b"], timedelta(hours=8))
    assert (tmp_path / "x/M.csv").read_text() == (
        "Time,a,b\n"
        "2024-05-06 08:00:00+08:00,1.0,\n"
        "2024-05-06 08:00:15+08:00,2.5,\n"
        "2024-05-06 08:00:30+08:00,,3.0\n"
    )
    assert (written.rows, written.values, written.blanks) == (3, 3, 3)
    assert (written.first.timestamp(), written.last.timestamp()) == (START, START + 30)
    text = (tmp_path / "x/M.csv").read_bytes()
    assert (written.file.size, written.file.sha256) == (len(text), hashlib.sha256(text).hexdigest())


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=6, max_size=6),
    st.sampled_from([-570, -300, 0, 330, 480]),
)
def test_pandas_reads_the_same_numbers_and_times(cells: list[float], minutes: int) -> None:
    import tempfile

    values = np.array(cells).reshape(3, 2)
    with tempfile.TemporaryDirectory() as folder:
        part = Part(Span(START, 3, 20), ("p", "q"), values)
        if np.isnan(values).all():
            return
        write_wide(Path(folder), "M.csv", [part], ["p", "q"], timedelta(minutes=minutes))
        frame = pd.read_csv(Path(folder) / "M.csv")
    kept = ~np.isnan(values).all(axis=1)
    assert np.array_equal(frame[["p", "q"]].to_numpy(float), values[kept], equal_nan=True)
    times = pd.to_datetime(frame["Time"]).map(lambda time: int(time.timestamp()))
    assert times.tolist() == (START + 20 * np.flatnonzero(kept)).tolist()


def test_names_with_commas_and_quotes_stay_one_column(tmp_path: Path) -> None:
    names = ('a,b"c', "d")
    part = Part(Span(START, 1, 15), names, np.array([[1.0, 2.0]]))
    write_wide(tmp_path, "M.csv", [part], names, timedelta())
    assert list(pd.read_csv(tmp_path / "M.csv").columns) == ["Time", *names]


def test_a_file_that_cannot_be_finished_is_not_there(tmp_path: Path) -> None:
    def parts() -> object:
        yield Part(Span(START, 1, 15), ("a",), np.array([[1.0]]))
        raise UsageError("no more")

    (tmp_path / "M.csv").write_text("earlier")
    with pytest.raises(UsageError):
        write_wide(tmp_path, "M.csv", parts(), ["a"], timedelta())  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["M.csv"]
    assert (tmp_path / "M.csv").read_text() == "earlier"


def test_a_zone_whose_clocks_change_in_the_period_is_refused() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    summer = Span(int(datetime(2024, 5, 1, tzinfo=UTC).timestamp()), 1000, 3600)
    assert offset_of(berlin, summer) == timedelta(hours=2)
    with pytest.raises(UsageError, match="change"):
        offset_of(berlin, Span(summer.start_s, 24 * 365, 3600))
