"""A scan gives what pandas gives on the flat values, bit for bit, however the file is cut and written."""

from __future__ import annotations

import gzip
import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from schemas.errors import NotASeries
from tasks.series.head import read_head
from tasks.series.scan import scan_block
from tasks.series.spec import ScanSpec, Window, cut
from tasks.series.tally import Tally
from tasks.series.units import merge_all
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]
Tallied = Callable[..., Tally]
bounded = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SPELLINGS = [
    *("0", "1", "42", "100", "65535", "9007199254740993", "-3", "+7", "007", "0000000000000012", "-0"),
    *("0.0", "1.0", "98.0", "99.99", "0.125", "-0.0", "-12.5", "+3.25", "00.50", ".5", "5.", "-.25", "5.000"),
    *("1e3", "1E3", "2.5e-3", "-1e+2", "1e-320", "4.9e-324", "1.7976931348623157e308", "-1e300", "1e-400"),
    *("15.066666666666666", "0.1000000000000000055511151231257827", "179769313486231570000000000000.0"),
    *("123456789012345678901234567890.5", "0.30000000000000004", "9007199254740993.0000000000000000001"),
    *("12345.678", "131071.0", "131072.0", "1234567.0", "12345678.0", "99999999999999.9"),
]
MISSING = [
    "",
    "",
    "",
    "NaN",
    "nan",
    "NA",
    "N/A",
    "null",
    "NULL",
    "None",
    "<NA>",
    "#N/A",
    "n/a",
    "-nan",
    "1.#QNAN",
]
plain = st.sampled_from(["0.0", "1.0", "97.0", "100.0", "3.5", "12.345", "", "0.001"])
spelled = st.sampled_from(SPELLINGS)
floats = st.floats(allow_nan=False, allow_infinity=False).map(repr)
long_numbers = st.from_regex(r"-?[0-9]{1,30}\.[0-9]{1,30}(e-?[0-9]{1,2})?", fullmatch=True)
texts = plain | spelled | st.sampled_from(MISSING) | floats | long_numbers


@st.composite
def grids(draw: st.DrawFn, cells: st.SearchStrategy[str] = texts) -> list[list[str]]:
    width, height = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    return draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=height, max_size=height))


def merged_in_any_order(parts: list[Tally], rng: random.Random) -> Tally:
    """The parts merged two at a time, chosen by chance, until one is left."""
    parts = [*parts, Tally()]
    while len(parts) > 1:
        rng.shuffle(parts)
        parts.append(parts.pop().merge(parts.pop()))
    return parts[0]


class TestCurvesEqualPandas:
    @bounded
    @given(rows=grids())
    def test_for_every_spelling_of_a_number(
        self,
        rows: list[list[str]],
        write: Write,
        table: Any,
        tally: Tallied,
        frame: Any,
        flat: Any,
        quantiles: Any,
        curve: Any,
    ) -> None:
        ref = write(table(rows))
        expected = quantiles(flat(frame(ref)))
        assert curve(tally(ref).window()).tobytes() == expected.tobytes()

    @pytest.mark.parametrize("text", SPELLINGS)
    def test_spelling(
        self, text: str, write: Write, table: Any, tally: Tallied, frame: Any, flat: Any
    ) -> None:
        ref = write(table([[text, "1.5"], ["", text]]))
        counted = tally(ref).window()
        assert np.repeat(counted.values, counted.counts).tolist() == sorted(flat(frame(ref)).tolist())

    @pytest.mark.parametrize("text", sorted(set(MISSING)))
    def test_words_for_missing_values(
        self, text: str, write: Write, table: Any, tally: Tallied, frame: Any
    ) -> None:
        ref = write(table([[text, "1.5"], [f'"{text}"', "2"]]))
        assert frame(ref)["n0"].isna().all()
        counted = tally(ref)
        assert (counted.blanks, counted.bad_cells, counted.value_count) == (2, 0, 2)

    @bounded
    @given(
        rows=grids(plain | spelled | st.sampled_from(MISSING)),
        decimals=st.integers(0, 9),
        span=st.sampled_from([1, 2, 128, 1001, 5000, 1 << 17]),
    )
    def test_whatever_decimals_and_span_are_assumed(
        self,
        rows: list[list[str]],
        decimals: int,
        span: int,
        write: Write,
        table: Any,
        tally: Tallied,
        frame: Any,
        flat: Any,
        quantiles: Any,
        curve: Any,
        facts: Any,
    ) -> None:
        ref = write(table(rows))
        counted = tally(ref, ScanSpec(decimals=decimals, span=span))
        assert curve(counted.window()).tobytes() == quantiles(flat(frame(ref))).tobytes()
        other, this = facts(tally(ref)), facts(counted)
        for fact in ("rows", "blanks", "bad", "values", "zeros"):
            assert this[fact] == other[fact], fact

    @bounded
    @given(rows=grids(), data=st.data())
    def test_for_every_dialect(
        self,
        rows: list[list[str]],
        data: st.DataObject,
        write: Write,
        table: Any,
        tally: Tallied,
        frame: Any,
        flat: Any,
        quantiles: Any,
        curve: Any,
    ) -> None:
        quote = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
        rng = data.draw(st.randoms(use_true_random=False))
        header, *lines = table(rows).splitlines()
        if data.draw(st.booleans()):
            header = ",".join(f'"{name}"' for name in header.split(","))
        lines = [
            ",".join(f'"{cell}"' if rng.random() < quote else cell for cell in line.split(","))
            for line in lines
        ]
        for place in data.draw(st.lists(st.integers(0, len(lines)), max_size=3)):
            lines.insert(place, "")
        end = data.draw(st.sampled_from(["\n", "\r\n"]))
        text = end.join([header, *lines]) + data.draw(st.sampled_from(["", end, end * 3]))
        mark = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
        ref = write(mark + text.encode())
        counted = tally(ref, cuts=data.draw(st.lists(st.integers(1, ref.size - 1), max_size=4)))
        assert counted.rows == len(rows)
        assert curve(counted.window()).tobytes() == quantiles(flat(frame(ref))).tobytes()

    @pytest.mark.parametrize(
        "pack", [gzip.compress, zstandard.compress, lambda d: gzip.compress(d[:300]) + gzip.compress(d[300:])]
    )
    def test_for_packed_files(
        self, pack: Callable[[bytes], bytes], write: Write, table: Any, facts: Any, tally: Tallied
    ) -> None:
        text = table([[str(i), f"{i}.25", ""] for i in range(200)]).encode()
        packed = pack(text)
        suffix = ".gz" if packed[:2] == b"\x1f\x8b" else ".zst"
        ref = write(packed, f"X.csv{suffix}")
        head = read_head(ref)
        (block,) = cut(head, 64)
        unpacked = facts(tally(write(text)))
        counted = facts(scan_block(block, head.columns, ScanSpec(), chunk_bytes=100))
        assert counted["values"] == unpacked["values"]
        assert counted["entities"] == unpacked["entities"]

    @pytest.mark.parametrize("columns", [1, 2, 3, 7, 1000, 20_000])
    def test_for_any_number_of_columns(
        self,
        columns: int,
        write: Write,
        table: Any,
        scan: Any,
        frame: Any,
        flat: Any,
        quantiles: Any,
        curve: Any,
    ) -> None:
        rng = random.Random(columns)
        cells = ["0.0", "17.0", "", "3.125", "1234567.8", "1e-7", "98.0"]
        rows = [[rng.choice(cells) for _ in range(columns)] for _ in range(4)]
        ref = write(table(rows, [f"10.0.{c // 8}.1-{c % 8}" for c in range(columns)]))
        parts = scan(ref, cuts=[ref.size // 3, ref.size // 2])
        assert merge_all(parts).cells == 4 * columns
        assert curve(merge_all(parts).window()).tobytes() == quantiles(flat(frame(ref))).tobytes()

    def test_for_rows_of_a_megabyte(
        self, write: Write, table: Any, tally: Tallied, frame: Any, flat: Any, quantiles: Any, curve: Any
    ) -> None:
        rng = np.random.default_rng(1)
        rows = [[f"{value:.45f}" for value in rng.random(22_000)] for _ in range(2)]
        ref = write(table(rows))
        assert ref.size > 2_000_000
        counted = tally(ref, cuts=range(0, ref.size, 700_000), chunk_bytes=70_000)
        assert counted.rows == 2
        assert curve(counted.window()).tobytes() == quantiles(flat(frame(ref))).tobytes()

    def test_for_numbers_that_only_float_can_decide(self, write: Write, table: Any, tally: Tallied) -> None:
        # Halfway between two doubles, and just above: 19 digits do not tell.
        halves = [f"{2**53 + 2 * i + 1}.{'0' * 20}{tail}" for i in range(40) for tail in ("", "1", "0")]
        rows = [halves[i : i + 4] for i in range(0, 120, 4)]
        ref = write(table(rows))
        for chunk in (1 << 16, 50):
            counted = tally(ref, cuts=[700, 1500], chunk_bytes=chunk).window()
            assert np.repeat(counted.values, counted.counts).tolist() == sorted(map(float, halves))

    def test_for_a_number_longer_than_any_sensible_one(
        self, write: Write, table: Any, tally: Tallied
    ) -> None:
        text = f"{2**53 + 1}.{'0' * 6000}1"
        counted = tally(write(table([[text, "0." + "0" * 9000 + "1e9001"]]))).window()
        assert counted.values.tolist() == [1.0, float(2**53 + 2)]

    def test_what_overflows_or_is_infinite_is_a_bad_cell(
        self, write: Write, table: Any, tally: Tallied
    ) -> None:
        # Differs from pandas on purpose: an infinite sample is no measurement.
        counted = tally(write(table([["1e309", "-1e400", "inf", "-Infinity", "1.5"]])))
        assert (counted.bad_cells, counted.value_count) == (4, 1)
        assert [spot.text for spot in counted.spots["bad-cell"].first] == [
            "1e309",
            "-1e400",
            "inf",
            "-Infinity",
        ]

    @pytest.mark.parametrize(
        "text", ["", "Time\n", "Time", "Time\r\n", "Time,a,b", "Time,a,b\n", "Time,a\n\n\n"]
    )
    def test_nothing_is_counted_in_files_without_rows(self, text: str, write: Write, tally: Tallied) -> None:
        ref = write(text)
        if not text:
            with pytest.raises(NotASeries):
                read_head(ref)
            return
        counted = tally(ref, cuts=range(1, ref.size))
        assert (counted.rows, counted.cells, counted.window().total) == (0, 0, 0)

    def test_rows_without_value_columns_are_counted(self, write: Write, table: Any, tally: Tallied) -> None:
        counted = tally(write(table([[], [], []], [])))
        assert (counted.rows, counted.cells, len(counted.entities.keys)) == (3, 0, 0)


MIXED = (
    'Time,a,"b"\n'
    "2023-08-01 00:00:00+08:00,1.0,\n"
    "2023-08-01 00:00:00+08:00,2e3,1.25\r\n"
    "\n"
    "2023-08-01 00:00:30+08:00,x,-4\n"
    "broken,1,2\n"
    '2023-07-31T23:59:59Z,"7",9007199254740993.00000000000000000001\n'
    "2023-08-01 01:00:00+08:00,1\n"
    "2023-08-01 01:30:00+08:00,0,0.5"
)
MIXED_SPEC = ScanSpec(
    decimals=1,
    span=20,
    interval_ms=15_000,
    high=1000.0,
    windows=(Window("august", 1690819200000, 1693497600000),),
)


class TestCutsDoNotMatter:
    def test_one_cut_at_every_byte(self, write: Write, scan: Any, facts: Any) -> None:
        ref = write(MIXED)
        (whole,) = scan(ref, MIXED_SPEC)
        assert {"ragged-row", "bad-time", "bad-cell", "duplicate-time", "out-of-range"} <= set(whole.spots)
        expected = facts(whole)
        for place in range(1, ref.size):
            assert facts(merge_all(scan(ref, MIXED_SPEC, cuts=[place]))) == expected, place

    def test_two_cuts_at_every_pair_of_bytes(self, write: Write, scan: Any, facts: Any) -> None:
        text = "Time,a\n0,1\n15,\n15,3.5\n60,4\n"
        ref = write(text)
        spec = ScanSpec(interval_ms=15_000)
        expected = facts(scan(ref, spec)[0])
        assert expected["spots"]["duplicate-time"][0] == expected["spots"]["gap"][0] == 1
        for pair in itertools.combinations(range(1, ref.size), 2):
            assert facts(merge_all(scan(ref, spec, cuts=pair))) == expected, pair

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_a_block_for_every_byte(self, end: str, write: Write, scan: Any, facts: Any) -> None:
        ref = write(MIXED.replace("\r\n", "\n").replace("\n", end))
        (whole,) = scan(ref, MIXED_SPEC)
        assert facts(merge_all(scan(ref, MIXED_SPEC, cuts=range(1, ref.size)))) == facts(whole)

    @pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 7, 16, 31, 64, 100, 1000])
    def test_lines_that_straddle_chunks(self, chunk_bytes: int, write: Write, scan: Any, facts: Any) -> None:
        ref = write(MIXED)
        (whole,) = scan(ref, MIXED_SPEC)
        assert facts(scan(ref, MIXED_SPEC, chunk_bytes=chunk_bytes)[0]) == facts(whole)
        parts = scan(ref, MIXED_SPEC, cuts=[40, 90, 150], chunk_bytes=chunk_bytes)
        assert facts(merge_all(parts)) == facts(whole)

    def test_a_header_longer_than_blocks(self, write: Write, table: Any, scan: Any, facts: Any) -> None:
        ref = write(
            table([["1"] * 50, ["2.5"] * 50], [f"a-rather-long-name-of-a-node-{c}" for c in range(50)])
        )
        (whole,) = scan(ref)
        assert facts(merge_all(scan(ref, cuts=range(0, ref.size, 37)))) == facts(whole)

    @bounded
    @given(rows=grids(), data=st.data())
    @example(rows=[["1.0"]] * 3, data=None)
    def test_any_blocks_chunks_and_order_of_merging(
        self,
        rows: list[list[str]],
        data: st.DataObject | None,
        write: Write,
        table: Any,
        scan: Any,
        facts: Any,
    ) -> None:
        ref = write(table(rows))
        if data is None:
            cuts, chunk, rng = list(range(1, ref.size)), 1, random.Random(0)
        else:
            cuts = data.draw(st.lists(st.integers(1, ref.size - 1), max_size=12))
            chunk = data.draw(st.integers(1, 300))
            rng = data.draw(st.randoms(use_true_random=False))
        spec = ScanSpec(interval_ms=15_000, high=50.0)
        parts = scan(ref, spec, cuts=cuts, chunk_bytes=chunk)
        assert facts(merged_in_any_order(parts, rng)) == facts(scan(ref, spec)[0])

    def test_a_step_over_a_cut_is_found_once(self, write: Write, scan: Any) -> None:
        rows = ["1000,1\n", "1015,1\n", "1015,1\n", "1200,1\n", "1100,1\n"]
        ref = write("Time,a\n" + "".join(rows))
        at_rows = list(itertools.accumulate(map(len, rows), initial=7))[1:-1]
        for place in at_rows:
            counted = merge_all(scan(ref, ScanSpec(interval_ms=15_000), cuts=[place]))
            found = {rule: [s.offset for s in spots.first] for rule, spots in counted.spots.items()}
            assert found == {
                "duplicate-time": [at_rows[1]],
                "gap": [at_rows[2]],
                "disordered-time": [at_rows[3]],
            }
            assert {rule: counted.row_of(spots.first[0]) for rule, spots in counted.spots.items()} == {
                "duplicate-time": 3,
                "gap": 4,
                "disordered-time": 5,
            }
            assert counted.steps.total == 4


class TestGroups:
    @bounded
    @given(rows=grids(plain | floats.filter(lambda text: abs(float(text)) < 1e300)), data=st.data())
    def test_entities_and_hours_count_the_same_values(
        self, rows: list[list[str]], data: st.DataObject, write: Write, tally: Tallied
    ) -> None:
        hours = data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
        names = [f"n{i}" for i in range(len(rows[0]))]
        lines = [
            f"{hour * 3600 + i}," + ",".join(row)
            for i, (hour, row) in enumerate(zip(hours, rows, strict=True))
        ]
        ref = write("\n".join([",".join(["Time", *names]), *lines]))
        counted = tally(
            ref, ScanSpec(decimals=1), cuts=data.draw(st.lists(st.integers(1, ref.size), max_size=3))
        )
        cells = pd.DataFrame([[float(cell or "nan") for cell in row] for row in rows], columns=names)
        entities = counted.entities
        assert entities.keys.tolist() == names
        assert entities.count.tolist() == cells.count().tolist()
        assert entities.blank.tolist() == cells.isna().sum().tolist()
        assert entities.zero.tolist() == (cells == 0).sum().tolist()
        found = (
            np.where(entities.count > 0, entities.least, np.nan),
            np.where(entities.count > 0, entities.most, np.nan),
        )
        np.testing.assert_array_equal(found[0], cells.min().to_numpy())
        np.testing.assert_array_equal(found[1], cells.max().to_numpy())
        long = cells.assign(hour=hours).melt("hour").dropna()
        by_hour = long.groupby("hour")["value"]
        assert counted.hours.keys.tolist() == by_hour.count().index.tolist()
        assert counted.hours.count.tolist() == by_hour.count().tolist()
        assert counted.hours.least.tolist() == by_hour.min().tolist()
        assert counted.hours.most.tolist() == by_hour.max().tolist()
        assert counted.hours.zero.tolist() == (
            long.assign(zero=long["value"] == 0).groupby("hour")["zero"].sum().tolist()
        )

    def test_more_hours_than_the_kernel_keeps(self, write: Write, tally: Tallied) -> None:
        lines = [f"{hour * 3600},{hour % 7}.5" for hour in range(1100)]
        random.Random(1).shuffle(lines)
        counted = tally(write("\n".join(["Time,a", *lines])))
        assert counted.hours.keys.tolist() == list(range(1100))
        assert counted.hours.least.tolist() == [hour % 7 + 0.5 for hour in range(1100)]

    def test_windows_hold_their_own_values_and_zeros(self, write: Write, tally: Tallied) -> None:
        text = "Time,a,b\n" + "".join(f"{i},{i % 3},{i}.5\n" for i in range(30))
        windows = (Window("early", 0, 10_000), Window("late", 20_000, 25_000))
        counted = tally(write(text), ScanSpec(windows=windows), cuts=[60])
        assert counted.window("early").total == 20
        assert counted.window("late").values.tolist() == [0, 1, 2, 20.5, 21.5, 22.5, 23.5, 24.5]
        assert dict(counted.zeros) == {"": 4, "early": 4, "late": 2}
        assert counted.window().total == 60


class TestPeriod:
    def test_rows_are_chosen_by_their_own_time(self, write: Write, tally: Tallied) -> None:
        lines = [f"{second},{second}" for second in (5, 9, 10, 3, 19, 20, 21, 15)]
        counted = tally(write("\n".join(["Time,a", *lines])), ScanSpec(since_ms=10_000, until_ms=20_000))
        assert counted.window().values.tolist() == [10, 15, 19]
        assert (counted.rows, counted.outside_rows) == (3, 5)
        assert (counted.first_ms, counted.last_ms) == (10_000, 19_000)


class TestPlaces:
    def test_examples_are_the_first_ones_and_few(self, write: Write, table: Any, tally: Tallied) -> None:
        rows = [["1", "x" * 100] for _ in range(40)]
        for chunk in (64, 1 << 16):
            spots = tally(write(table(rows)), cuts=[500, 900], chunk_bytes=chunk).spots["bad-cell"]
            assert spots.count == 40
            assert len(spots.first) == 5
            assert [spot.offset for spot in spots.first] == sorted(spot.offset for spot in spots.first)
            assert {len(spot.text or "") for spot in spots.first} == {40}

    @pytest.mark.parametrize("before", ["1", '"1"', '5"', 'a"b', '"5"x', '" "', '"a,b"', "'"])
    def test_a_place_is_right_behind_any_cell(
        self, before: str, write: Write, table: Any, tally: Tallied
    ) -> None:
        text = table([[before, "7x", before], ["1", "2", "3"]])
        spots = tally(write(text)).spots["bad-cell"].first
        (spot,) = [spot for spot in spots if spot.column == "n1"]
        assert spot.offset == text.encode().index(b"7x")
        assert spot.text == "7x"

    def test_text_behind_spaces_is_shown(self, write: Write, table: Any, tally: Tallied) -> None:
        spots = tally(write(table([[' "5x"', "\tno"]]))).spots["bad-cell"].first
        assert [spot.text for spot in spots] == ["5x", "no"]


class TestRange:
    @bounded
    @given(decimals=st.integers(0, 3), low=st.integers(-5, 3000), high=st.integers(-5, 3000))
    @example(decimals=1, low=11, high=11)
    @example(decimals=2, low=29, high=29)
    @example(decimals=2, low=57, high=58)
    def test_both_bounds_are_inside(
        self, decimals: int, low: int, high: int, write: Write, table: Any, tally: Tallied
    ) -> None:
        low, high = min(low, high), max(low, high)
        texts = [f"{k / 10**decimals!r}" for k in (low - 1, low, high, high + 1)]
        spec = ScanSpec(decimals=decimals, low=low / 10**decimals, high=high / 10**decimals, span=4000)
        spots = tally(write(table([texts])), spec).spots["out-of-range"]
        assert spots.count == 2
        assert [spot.column for spot in spots.first] == ["n0", "n3"]
