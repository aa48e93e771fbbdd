"""A series converted to Parquet gives the same summary, to the last bit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import NotASeries
from tasks.columnar import kind_of_files, read_any_head
from tasks.columnar.write import Written, write_parquet
from tasks.series.discover import SeriesFiles, discover
from tasks.series.options import ScanOptions
from tasks.series.summary import SeriesSummary
from tasks.series.units import ThreadExecutor
from tasks.series.wide import heads_of, plan_series, summarise_series
from tasks.storage.publish import growing_file
from tasks.storage.source import stat_file


def summarise(path: Path, **options: Any) -> SeriesSummary:
    """The summary of one file, read with these options."""
    (series,) = discover(str(path))
    heads = heads_of(series, None, read_any_head)
    planned = plan_series(series, heads, ScanOptions(**options), kind_of_files(series.files))
    return summarise_series(planned, ThreadExecutor(2))


def convert(path: Path, to: Path, timezone: str | None = None, **options: Any) -> Written:
    """Convert one CSV file."""
    heads = [read_any_head(stat_file(str(path)))]
    with growing_file(to.parent, to.name) as file:
        return write_parquet(heads, file, timezone=timezone, workers=2, about={}, **options)


def told(summary: SeriesSummary) -> dict[str, Any]:
    """Everything of a summary but what is about the file itself."""
    record = summary.record.model_dump()
    for name in ("files", "digests", "bytes", "bytes_read"):
        del record["observed"][name]
    for finding in record["findings"]:
        for place in finding["examples"]:
            del place["file"], place["byte_offset"]
            place["value"] = None if finding["rule"] != "duplicate-time" else place["value"]
    return record


def assert_same(one: SeriesSummary, other: SeriesSummary) -> None:
    assert told(one) == told(other)
    for left, right in zip(one.curves, other.curves, strict=True):
        assert (left.metric, left.period, left.values.tobytes()) == (
            right.metric,
            right.period,
            right.values.tobytes(),
        )
    pd.testing.assert_frame_equal(one.entities, other.entities, check_exact=True)
    pd.testing.assert_frame_equal(one.hourly, other.hourly, check_exact=True)


cells = st.one_of(
    st.integers(0, 100).map(lambda k: f"{k}.0"),
    st.integers(0, 10**9).map(str),
    st.integers(0, 10**5).map(lambda k: f"{k / 1000}"),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["", "", "NaN", "-0.0", "1e5", "+3", "007", '"5"', " 5 ", "0.1234567890123456789012"]),
)


@st.composite
def wide_files(draw: st.DrawFn) -> str:
    """A wide CSV file in the order of time, in some dialect."""
    columns = draw(st.integers(0, 5))
    lines = [",".join(["Time", *(f"10.0.0.{c}-0" for c in range(columns))])]
    clock = pd.Timestamp("2023-08-15T15:30:15", tz="Asia/Shanghai")
    for _ in range(draw(st.integers(0, 25))):
        clock += pd.Timedelta(seconds=draw(st.sampled_from([0, 15, 15, 15, 30, 4000])))
        row = draw(st.lists(cells, min_size=columns, max_size=columns))
        lines.append(",".join([str(clock), *row]))
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return ending.join(lines) + draw(st.sampled_from(["", ending]))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=wide_files(),
    name=st.sampled_from(["GPU_UTIL", "SM_ACTIVE", "UNKNOWN"]),
    group_cells=st.sampled_from([1, 7, 40, 1 << 20]),
    block_bytes=st.sampled_from([1, 50, 1 << 20]),
    scan_bytes=st.sampled_from([1 << 10, 1 << 24]),
)
def test_the_summary_is_the_same_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    name: str,
    group_cells: int,
    block_bytes: int,
    scan_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("both")
    path = folder / "csv/mine" / f"{name}.csv"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    to = folder / "parquet/mine" / f"{name}.parquet"
    written = convert(path, to, group_cells=group_cells, block_bytes=block_bytes)
    assert written.troubles == ()
    one = summarise(path, block_bytes=scan_bytes)
    other = summarise(to, block_bytes=scan_bytes)
    if one.record.observed.rows:
        assert_same(one, other)
        assert other.record.observed.digests.keys() == {str(to)}
    assert (other.record.observed.rows, other.record.observed.values) == (
        one.record.observed.rows,
        one.record.observed.values,
    )


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A day of a ratio metric with a few hundred distinct values."""
    folder = tmp_path / "mine"
    folder.mkdir()
    numbers = np.random.default_rng(0)
    times = pd.date_range("2023-08-15", periods=5760, freq="15s", tz="Asia/Shanghai")
    frame = pd.DataFrame(np.round(numbers.random((5760, 24)) * 30, 3), index=times)
    frame.columns = [f"10.0.0.{c // 8}-{c % 8}" for c in range(24)]
    frame = frame.mask(numbers.random(frame.shape) < 0.1)
    frame.to_csv(folder / "SM_ACTIVE.csv", index_label="Time")
    return folder / "SM_ACTIVE.csv"


def test_a_period_reads_only_its_row_groups(series: Path, tmp_path: Path) -> None:
    to = tmp_path / "out/mine/SM_ACTIVE.parquet"
    convert(series, to, group_cells=24 * 240)
    period = {"since_ms": 1_692_050_400_000, "until_ms": 1_692_057_600_000}
    one, other = summarise(series, **period), summarise(to, **period)
    assert one.record.observed.rows == other.record.observed.rows == 480
    assert other.record.observed.bytes_read < other.record.observed.bytes / 4
    for left, right in zip(one.curves, other.curves, strict=True):
        assert left.values.tobytes() == right.values.tobytes()


def test_pandas_and_polars_read_the_same_numbers(series: Path, tmp_path: Path) -> None:
    to = tmp_path / "SM_ACTIVE.parquet"
    convert(series, to, group_cells=24 * 1000)
    wanted = pd.read_csv(series, index_col="Time", parse_dates=["Time"])
    found = pd.read_parquet(to).set_index("Time")
    assert str(found.index.tz) == "UTC+08:00"
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
    np.testing.assert_array_equal(found.index.asi8, wanted.index.as_unit("ms").asi8)
    assert pq.ParquetFile(to).metadata.num_row_groups == 6
    polars = pytest.importorskip("polars", reason="polars, of the bench extra, is not installed")
    frame = polars.read_parquet(to, use_pyarrow=False)
    assert frame.shape == (5760, 25)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("how", ["column", "index", "float32", "naive", "integers"])
def test_parquet_of_others_is_read(series: Path, tmp_path: Path, how: str, unit: str) -> None:
    frame = pd.read_csv(series, index_col="Time", parse_dates=["Time"]).iloc[:200]
    frame.index = frame.index.as_unit(unit)
    options: dict[str, Any] = {}
    if how == "float32":
        frame = frame.astype("float32").astype("float64")
    if how == "integers":
        frame = frame.fillna(0).round().astype("int16")
    path = tmp_path / "theirs" / "SM_ACTIVE.csv"
    path.parent.mkdir()
    frame.to_csv(path)
    if how == "float32":
        frame = frame.astype("float32")
    if how == "naive":
        frame.index = frame.index.tz_localize(None)
        options = {"timezone": "+08:00"}
    to = tmp_path / "parquet/theirs/SM_ACTIVE.parquet"
    to.parent.mkdir(parents=True)
    (frame if how == "index" else frame.reset_index()).to_parquet(to)
    one, other = summarise(path), summarise(to, **options)
    assert [c.values.tobytes() for c in one.curves] == [c.values.tobytes() for c in other.curves]
    assert one.record.observed.first_time == other.record.observed.first_time
    pd.testing.assert_frame_equal(one.entities, other.entities, check_exact=True)


def test_infinities_of_others_are_bad_cells_with_their_row(series: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(series, index_col="Time", parse_dates=["Time"]).iloc[:5000]
    frame.iloc[3210, 5] = np.inf
    path = tmp_path / "theirs" / "SM_ACTIVE.parquet"
    path.parent.mkdir()
    frame.reset_index().to_parquet(path, row_group_size=500)
    (finding,) = [f for f in summarise(path).record.findings if f.rule == "bad-cell"]
    (place,) = finding.examples
    assert (place.row, place.column, place.byte_offset, place.value) == (3211, frame.columns[5], None, "inf")


@pytest.mark.parametrize(
    ("line", "rule", "column", "value"),
    [
        ("2023-08-15 00:00:15+08:00,x,1", "bad-cell", "a", "x"),
        ("2023-08-15 00:00:15+08:00,1,inf", "bad-cell", "b", "inf"),
        ("noon,1,1", "bad-time", "Time", "noon"),
        ("2023-08-15 00:00:15+08:00,1", "ragged-row", None, None),
    ],
)
def test_what_cannot_be_typed_is_located(
    line: str, rule: str, column: str | None, value: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "X.csv"
    path.write_text(f"Time,a,b\n2023-08-15 00:00:00+08:00,1,1\n{line}\n2023-08-15 00:00:30+08:00,1,1\n")
    (trouble,) = convert(path, tmp_path / "X.parquet", block_bytes=10).troubles
    (place,) = trouble.places
    assert (trouble.rule, place.row, place.column, place.value) == (rule, 2, column, value)
    assert place.byte_offset is not None
    assert path.read_bytes()[place.byte_offset :].startswith((value or line).encode())


def test_rows_out_of_order_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "X.csv"
    path.write_text("Time,a\n2023-08-15 00:00:15+08:00,1\n2023-08-15 00:00:00+08:00,1\n")
    with pytest.raises(NotASeries, match="acmetrace clean"):
        convert(path, tmp_path / "X.parquet")
    assert not (tmp_path / "X.parquet").exists()


def test_times_without_a_zone_need_one(tmp_path: Path) -> None:
    path = tmp_path / "X.csv"
    path.write_text("Time,a\n2023-08-15 00:00:15,1\n")
    with pytest.raises(NotASeries, match="--timezone"):
        convert(path, tmp_path / "X.parquet")
    convert(path, tmp_path / "X.parquet", "Asia/Shanghai")
    assert pd.read_parquet(tmp_path / "X.parquet")["Time"][0] == pd.Timestamp("2023-08-14T16:00:15Z")


@pytest.mark.parametrize("spoil", ["cut", "text", "empty", "no time", "text column", "footer"])
def test_a_file_that_is_no_series_says_so(spoil: str, series: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine" / "X.parquet"
    convert(series, path)
    data = path.read_bytes()
    if spoil == "no time":
        buffer = io.BytesIO()
        pq.write_table(pa.table({"a": [1.0]}), buffer)
        data = buffer.getvalue()
    if spoil == "text column":
        buffer = io.BytesIO()
        pq.write_table(pa.table({"Time": pa.array([0], pa.timestamp("ms", "UTC")), "a": ["x"]}), buffer)
        data = buffer.getvalue()
    spoilt = {"cut": data[: len(data) // 2], "text": b"Time,a\n", "empty": b"", "footer": data[:-4] + b"PAR2"}
    path.write_bytes(spoilt.get(spoil, data))
    with pytest.raises(NotASeries):
        summarise(path)


def test_bytes_damaged_inside_never_give_a_number_quietly(series: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine" / "X.parquet"
    convert(series, path)
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 200] = bytes(200)
    path.write_bytes(data)
    with pytest.raises(NotASeries, match="damaged"):
        summarise(path)


def test_parts_in_two_forms_are_refused(series: Path, tmp_path: Path) -> None:
    convert(series, series.parent / "SM_ACTIVE-2023-09.parquet")
    series.rename(series.parent / "SM_ACTIVE-2023-08.csv")
    (found,) = discover(str(series.parent))
    assert isinstance(found, SeriesFiles)
    with pytest.raises(NotASeries, match="two forms"):
        kind_of_files(found.files)
