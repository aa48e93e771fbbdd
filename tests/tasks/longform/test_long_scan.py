"""The scan of IPMI files counts what plain pandas sees, wherever the file is cut."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import AcmetraceError
from tasks.longform import LongTally, is_ipmi, scan_long_block
from tasks.longform import counts as counts_module
from tasks.longform import scan as scan_module
from tasks.longform.columns import NEVER_ZERO, POWER_COLUMNS
from tasks.series.clock import LATEST_MS
from tasks.series.spec import Block, ScanSpec

CELLS = st.one_of(
    st.integers(0, 21000).map(str),
    st.integers(0, 9000).map(lambda n: f"{n}.0"),
    st.sampled_from(["", "", "0", "0.0", "-0", "1e3", "4.5E2", "412.5", "0.1", "+7", "-5", "007"]),
    st.sampled_from(
        ["nan", "NA", "'", '"350.0"', '""', " 12 ", "20000", "20001", "131071", "131072", "1e300"]
    ),
    st.sampled_from(
        ["12345678901234567890123", "0.12345678901234567890123", "4503599627370497.500000000001"]
    ),
)
NODES = st.sampled_from(["SH-IDC1-10-140-0-1", "SH-IDC1-10-140-0-2", "n", '"quoted"', "", "knoten-ä"])
START = datetime(2023, 5, 31, 23, 50, tzinfo=UTC)


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, list[int], int]:
    """An IPMI file, cuts, and a size of the buffer."""
    power = draw(st.lists(st.sampled_from(POWER_COLUMNS[1:]), unique=True, max_size=4))
    columns = draw(st.permutations(["Time", "node", "Sys_Total_Power", *power]))
    if draw(st.booleans()):
        columns = [*columns, "remark"]
    remark = st.sampled_from(["", "ok", '"a,b"', "NA", "1"])
    rows = []
    minute = 0
    for _ in range(draw(st.integers(0, 12))):
        minute += draw(st.sampled_from([5, 5, 5, 0, -5, 7, 60, 0.5]))
        time = (START + timedelta(minutes=minute)).isoformat(sep=" ")
        cells = {"Time": time, "node": draw(NODES), "remark": draw(remark)}
        rows.append([cells[name] if name in cells else draw(CELLS) for name in columns])
    if draw(st.booleans()):
        rows.sort(key=lambda row: row[columns.index("node")])
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = [",".join(row) for row in [columns, *rows]]
    text = end.join(lines) + (end if draw(st.booleans()) or not rows else "")
    data = text.encode()
    cuts = draw(st.lists(st.integers(1, max(len(data) - 1, 1)), max_size=4))
    return data, cuts, draw(st.sampled_from([200, 1000, 8 << 20]))


def numbers(column: pd.Series) -> pd.Series:
    """The cells of a text column as doubles; NaN where they are none."""

    def read(text: object) -> float:
        try:
            return float(str(text)) if isinstance(text, str) else np.nan
        except ValueError:
            return np.nan

    return column.map(read).astype(float)


def oracle(data: bytes) -> pd.DataFrame:
    frame = pd.read_csv(io.BytesIO(data), dtype=str)
    frame["node"] = frame["node"].fillna("")
    times = pd.to_datetime(frame["Time"], format="ISO8601", utc=True)
    frame["ms"] = times.dt.as_unit("ms").astype("int64")
    return frame


@settings(max_examples=40, deadline=None)
@given(files())
def test_counts_are_those_of_pandas_wherever_the_file_is_cut(bench, file):
    data, cuts, chunk = file
    tally = bench.scan(data, cuts, chunk)
    frame = oracle(data)
    assert tally.rows == len(frame)
    assert tally.base.bad_rows == 0
    names = tally.nodes.names
    assert names == tuple(sorted(frame["node"].unique()))
    power = [name for name in POWER_COLUMNS if name in frame]
    blank_rows = frame.drop(columns="ms").replace({"node": {"": None}}).isna().any(axis=1)
    for number, name in enumerate(names):
        of_node = frame[frame["node"] == name]
        assert tally.nodes.rows[number] == len(of_node)
        assert tally.nodes.blank_rows[number] == blank_rows[of_node.index].sum()
        assert tally.nodes.first_ms[number] == of_node["ms"].min()
        assert tally.nodes.last_ms[number] == of_node["ms"].max()
    out_of_range = 0
    for column in power:
        index = POWER_COLUMNS.index(column)
        blank = frame[column].isna() | (frame[column].str.strip() == "")
        values = numbers(frame[column])
        nodes, found, counted = tally.cells.of_column(index)
        got = Counter({(names[n], v): c for n, v, c in zip(nodes, found, counted, strict=True)})
        filled = values.notna()
        assert got == Counter(zip(frame["node"][filled], values[filled] + 0.0, strict=True))
        for number, name in enumerate(names):
            here = frame["node"] == name
            assert tally.nodes.blanks[number, index] == (blank & here).sum()
            assert tally.nodes.bad[number, index] == (~blank & ~filled & here).sum()
        low = 1.0 if index in NEVER_ZERO else 0.0
        out_of_range += ((values < low) | (values > 20_000)).sum()
        hours = tally.hours_of(index)
        expected = values.groupby(frame["ms"] // 3_600_000).agg(["count", "min", "max"])
        expected = expected[expected["count"] > 0]
        assert hours.keys.tolist() == expected.index.tolist()
        assert hours.count.tolist() == expected["count"].tolist()
        assert hours.least.tolist() == expected["min"].tolist()
        assert hours.most.tolist() == expected["max"].tolist()
        zeros = (values == 0).groupby(frame["ms"] // 3_600_000).sum()
        assert hours.zero.tolist() == zeros[expected.index].tolist()
    spots = tally.base.spots
    assert (spots["out-of-range"].count if "out-of-range" in spots else 0) == out_of_range
    same = (frame["node"] == frame["node"].shift()) & (frame["node"] != "")
    steps = frame["ms"].diff()[same]
    assert dict(zip(tally.base.steps.values, tally.base.steps.counts, strict=True)) == Counter(steps)
    for rule, broken in (
        ("duplicate-time", steps == 0),
        ("disordered-time", steps < 0),
        ("gap", steps > 450_000),
    ):
        assert (spots[rule].count if rule in spots else 0) == broken.sum()


@settings(max_examples=40, deadline=None)
@given(files())
def test_every_cut_gives_the_same_tally(bench, file):
    data, cuts, chunk = file
    head = bench.head(data)
    whole, *_ = bench.tallies(head) or [LongTally()]
    merged = LongTally()
    for tally in bench.tallies(head, cuts, chunk):
        merged = merged.merge(tally)
    assert same(merged, whole)


def same(left: LongTally, right: LongTally) -> bool:
    """Equality of all but the bytes read and how the file was cut."""
    rows = [
        {(rule, s.offset, t.base.row_of(s)) for rule, spots in t.base.spots.items() for s in spots.first}
        for t in (left, right)
    ]
    hours = (left.base.hours, right.base.hours)
    return (
        rows[0] == rows[1]
        and left.cells.same_as(right.cells)
        and left.nodes.names == right.nodes.names
        and np.array_equal(left.nodes.rows, right.nodes.rows)
        and np.array_equal(left.nodes.blanks, right.nodes.blanks)
        and np.array_equal(hours[0].keys, hours[1].keys)
        and np.array_equal(hours[0].fixed_total, hours[1].fixed_total)
        and hours[0].real_total == hours[1].real_total
        and left.base.steps.same_as(right.base.steps)
        and left.base.zones == right.base.zones
        and left.base.missing_slots == right.base.missing_slots
    )


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_packed_file_gives_the_tally_of_the_plain_one(bench, rows_of, suffix):
    text = bench.header + rows_of("a", ["100", "412.5", "0"]) + rows_of("b", ["7"] * 40)
    pack = gzip.compress if suffix == ".gz" else zstandard.ZstdCompressor().compress
    head = bench.head(pack(text.encode()), f"GPU_AB_Power.csv{suffix}")
    packed = scan_long_block(Block(head.file, 0, LATEST_MS, head.data_start), head.columns, bench.spec, 300)
    assert packed.cells.same_as(bench.scan(text).cells)
    assert packed.rows == 43


def test_bad_rows_leave_no_trace_in_the_numbers_and_are_located(bench, rows_of):
    good = rows_of("a", ["100", "200"])
    lines = [
        "2023-06-01 01:00:00+08:00,ghost,1,2\n",
        "2023-06-01 01:05:00+08:00,ghost,1,2,3,4\n",
        "yesterday,ghost,1,2,3\n",
        "2023-06-01 01:10:00+08:00,a,oops,2,3\n",
        "2023-06-01 01:15:00+08:00,,5,2,3\n",
    ]
    text = bench.header + good + "".join(lines)
    for cuts in ([], [len(bench.header) + len(good) + 10], list(range(1, len(text), 7))):
        tally = bench.scan(text, cuts)
        assert tally.nodes.names == ("", "a")
        assert tally.rows == 4
        starts = [text.index(line) for line in lines]
        spots = {
            rule: [(tally.base.row_of(s), s.offset, s.column, s.text) for s in tally.base.spots[rule].first]
            for rule in ("ragged-row", "bad-time", "bad-cell", "no-node")
        }
        assert spots == {
            "ragged-row": [(3, starts[0], None, None), (4, starts[1], None, None)],
            "bad-time": [(5, starts[2], None, "yesterday")],
            "bad-cell": [(6, text.index("oops"), "Sys_Total_Power", "oops")],
            "no-node": [(7, starts[4], None, None)],
        }


def test_steps_across_a_cut_belong_to_the_block_before_it(bench, rows_of):
    text = bench.header + rows_of("a", ["1", "2"]) + rows_of("a", ["3"], step=5)
    cut = text.index(",3,") - 30
    for place in range(cut, cut + 40):
        spots = bench.scan(text, [place]).base.spots["disordered-time"]
        (spot,) = spots.first
        assert spot.offset == text.index(",a,3,") - 25


def test_rows_outside_the_period_are_not_counted(bench, rows_of):
    text = bench.header + rows_of("a", ["1", "2", "3", "4"])
    since = datetime(2023, 5, 31, 16, 5, tzinfo=UTC)
    ms = int(since.timestamp() * 1000)
    tally = bench.scan(text, spec=ScanSpec(span=20_001, since_ms=ms, until_ms=ms + 600_000))
    assert (tally.rows, tally.base.outside_rows) == (2, 2)
    assert tally.cells.of_column(0)[1].tolist() == [2.0, 3.0]


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_a_value_is_the_same_in_every_spelling_and_every_decimals(bench, rows_of, decimals):
    text = bench.header + rows_of("a", ["412.5", "412.50", "4125e-1", '"412.5"', "+412.5"])
    spec = ScanSpec(decimals=decimals, span=100_001)
    tally = bench.scan(text, spec=spec)
    assert [part.tolist() for part in tally.cells.of_column(0)] == [[0], [412.5], [5]]


def test_many_nodes_and_values_are_counted_exactly(bench, monkeypatch):
    """More than the first tables hold, so that they grow, and are emptied on the way."""
    monkeypatch.setattr(scan_module, "SLOTS", 1 << 13)
    rng = np.random.default_rng(3)
    n = 40_000
    frame = pd.DataFrame(
        {
            "Time": pd.to_datetime(1_685_550_000 + 300 * rng.integers(0, 60_000, n), unit="s", utc=True),
            "node": rng.integers(0, 700, n).astype(str),
            "Sys_Total_Power": rng.integers(0, 20_000, n),
            "CPU_Power": np.round(rng.normal(300, 90, n), 6),
        }
    )
    tally = bench.scan(frame.to_csv(index=False), [1_000_000], 1 << 16)
    for index, column in enumerate(["Sys_Total_Power", "CPU_Power"]):
        nodes, values, counted = tally.cells.of_column(index)
        expected = frame.groupby(["node", column]).size()
        assert [tally.nodes.names[node] for node in nodes] == expected.index.get_level_values(0).tolist()
        assert values.tolist() == expected.index.get_level_values(1).tolist()
        assert counted.tolist() == expected.tolist()
        hours = tally.hours_of(index)
        by_hour = frame.groupby(frame["Time"].dt.floor("h"))[column]
        assert hours.count.tolist() == by_hour.size().tolist()
        totals = hours.fixed_total + hours.real_total.to_floats()
        assert totals == pytest.approx(by_hour.sum().to_numpy(), rel=1e-12)


def test_a_table_that_outgrows_its_limit_is_an_error_and_no_approximation(bench, rows_of, monkeypatch):
    monkeypatch.setattr(counts_module, "MOST_ENTRIES", 20)
    text = (
        bench.header + rows_of("a", [str(n) for n in range(15)]) + rows_of("b", [str(n) for n in range(15)])
    )
    with pytest.raises(AcmetraceError, match="more than 20 different values"):
        bench.scan(text)
    middle = text.index(",b,")
    left, right = bench.tallies(bench.head(text), [middle])
    with pytest.raises(AcmetraceError, match="more than 20 different values"):
        left.merge(right)


def test_more_nodes_than_are_kept_is_an_error(bench, rows_of, monkeypatch):
    monkeypatch.setattr(scan_module, "MOST_NODES", 3)
    text = bench.header + "".join(rows_of(name, ["1"]) for name in "abcd")
    with pytest.raises(AcmetraceError, match="more than 3 nodes"):
        bench.scan(text)


def test_a_file_is_ipmi_by_its_columns_in_any_order(bench):
    assert is_ipmi(bench.head("Time,node,Sys_Total_Power\n"))
    assert is_ipmi(bench.head("node,Sys_Total_Power,Time\n", "x.csv"))
    assert is_ipmi(bench.head("Time,Sys_Total_Power\n", "CPU_D_Power.csv"))
    assert not is_ipmi(bench.head("Time,Sys_Total_Power\n", "x.csv"))
    assert not is_ipmi(bench.head("Time,node,CPU_Power\n"))
