"""How a series is scanned follows from its contract and its first rows; blocks cover a file once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.errors import UsageError
from schemas.metrics import Metric
from schemas.series import SeriesContract
from tasks.series.clock import LATEST_MS
from tasks.series.head import Head, read_head
from tasks.series.options import ScanOptions, contract_of
from tasks.series.refine import KeyRanges
from tasks.series.spec import MOST_SPAN, ScanSpec, cut, month_window, parse_instant, spec_for
from tasks.storage.source import FileRef
from tasks.storage.units import unit_key

Write = Callable[..., FileRef]


def contract(**fields: object) -> SeriesContract:
    return SeriesContract(metric=Metric(name="M", meaning="test", source="inferred", unit="x", **fields))


class TestSpecFor:
    def spec(self, text: str, write: Write, **fields: object) -> ScanSpec:
        return spec_for(contract(**fields), [read_head(write(text))])

    def test_of_a_known_metric_is_that_of_the_catalogue(self, write: Write) -> None:
        head = read_head(write("Time,a\n1000,1\n"))
        spec = spec_for(contract_of("POWER_USAGE", ScanOptions()), [head])
        assert (spec.decimals, spec.span, spec.interval_ms) == (1, 7001, 15_000)
        assert (spec.low, spec.high) == (30, 700)
        percent = spec_for(contract_of("SM_ACTIVE", ScanOptions()), [head])
        assert (percent.decimals, percent.span) == (3, 100_001)

    @pytest.mark.parametrize(
        ("cells", "decimals"),
        [
            (["1.0", "2.0"], 0),
            (["1.5", "2.0"], 1),
            (["1.25"], 2),
            (["0.125"], 3),
            (["15.066666666666666"], 0),
            ([], 0),
        ],
    )
    def test_decimals_of_an_unknown_metric_are_those_seen(
        self, cells: list[str], decimals: int, write: Write
    ) -> None:
        text = "Time,a\n" + "".join(f"{1690848000 + i},{cell}\n" for i, cell in enumerate(cells))
        assert self.spec(text, write).decimals == decimals

    @pytest.mark.parametrize(
        "cell", ["1e1000000", "-1e999999999", "1e-999999999", "nan", "inf", "sNaN", "é", "9" * 5000]
    )
    def test_strange_cells_in_the_first_rows_do_not_matter(self, cell: str, write: Write) -> None:
        spec = self.spec(f"Time,a,b\n1000,{cell},1.5\n1015,{cell},2.5\n", write)
        assert (spec.decimals, spec.interval_ms) == (1, 15_000)

    def test_the_interval_is_the_most_common_step(self, write: Write) -> None:
        assert self.spec("Time,a\n1000,1\n1030,1\n1060,1\n1061,1\n", write).interval_ms == 30_000
        assert self.spec("Time,a\n1000,1\n", write).interval_ms == 0
        assert self.spec("Time,a\n1000,1\n1030,1\n", write, interval_s=15).interval_ms == 15_000

    def test_the_histogram_stays_small(self, write: Write) -> None:
        assert self.spec("Time,a\n1000,1\n", write, high=1e12, decimals=3).span == MOST_SPAN
        assert self.spec("Time,a\n1000,900000000\n", write).span == MOST_SPAN
        assert self.spec("Time,a\n1000,-5\n", write).span >= 1

    def test_without_a_period_every_time_is_inside(self, write: Write) -> None:
        spec = self.spec("Time,a\n1000,1\n", write)
        assert (spec.since_ms, spec.until_ms) == (0, LATEST_MS)


class TestKey:
    def test_changes_with_everything_that_decides_a_number(self) -> None:
        ranges = KeyRanges(np.array([1], np.uint64), np.array([5], np.uint64))
        specs = [
            ScanSpec(),
            ScanSpec(decimals=1),
            ScanSpec(span=7),
            ScanSpec(interval_ms=1),
            ScanSpec(low=0.0),
            ScanSpec(high=0.0),
            ScanSpec(since_ms=1),
            ScanSpec(until_ms=1),
            ScanSpec(timezone="UTC"),
            ScanSpec(windows=(month_window("2023-08"),)),
            ScanSpec(windows=(month_window("2023-09"),)),
            ScanSpec(gap_intervals=2),
            ScanSpec(limit=9),
            ScanSpec().refined(ranges),
        ]
        keys = [unit_key(**spec.key_parts()) for spec in specs]
        assert len(set(keys)) == len(keys)


class TestCut:
    @settings(max_examples=80, deadline=None)
    @given(size=st.integers(10, 3000), block=st.integers(1, 500), data=st.data())
    def test_blocks_cover_the_range_once_and_in_order(
        self, size: int, block: int, data: st.DataObject
    ) -> None:
        first = data.draw(st.integers(0, size - 1))
        within = data.draw(st.none() | st.tuples(st.just(first), st.integers(first + 1, size)))
        head = Head(FileRef("X.csv", size, "v"), ("a",), ("a",), 7, b"", -1, 5)
        blocks = cut(head, block, within)
        begin, end = within or (0, size)
        assert [blocks[0].start, blocks[-1].stop] == [begin, end]
        assert all(a.stop == b.start for a, b in itertools.pairwise(blocks))
        assert all(0 < b.stop - b.start <= block for b in blocks)

    @pytest.mark.parametrize("name", ["X.csv.gz", "X.csv.zst"])
    def test_a_packed_file_is_one_block(self, name: str) -> None:
        head = Head(FileRef(name, 1000, "v"), ("a",), ("a",), 7, b"", -1, 5)
        assert len(cut(head, 10)) == 1


class TestPeriods:
    @pytest.mark.parametrize(
        ("name", "since", "until"),
        [
            ("2023-08", "2023-07-31T16:00:00", "2023-08-31T16:00:00"),
            ("2023-12", "2023-11-30T16:00:00", "2023-12-31T16:00:00"),
            ("2024-02", "2024-01-31T16:00:00", "2024-02-29T16:00:00"),
        ],
    )
    def test_a_month_is_that_of_the_clock_in_shanghai(self, name: str, since: str, until: str) -> None:
        window = month_window(name)
        edges = [
            datetime.fromtimestamp(ms / 1000, UTC).isoformat() for ms in (window.since_ms, window.until_ms)
        ]
        assert edges == [f"{since}+00:00", f"{until}+00:00"]

    @settings(max_examples=200, deadline=None)
    @given(moment=st.datetimes(datetime(1970, 1, 2), datetime(2199, 1, 1)))
    @example(moment=datetime(2004, 5, 31, 13, 17, 20, 909_000))
    def test_an_instant_is_exact_to_the_millisecond(self, moment: datetime) -> None:
        moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
        expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        assert parse_instant(moment.isoformat(timespec="milliseconds"), None) == expected

    def test_an_instant_without_a_zone_is_read_in_the_given_one(self) -> None:
        expected = parse_instant("2023-07-31T16:00:00Z", None)
        assert parse_instant("2023-08-01", "Asia/Shanghai") == expected
        assert parse_instant("2023-08-01 00:00:00+08:00", "America/New_York") == expected
        assert parse_instant("0001-01-01", "Asia/Shanghai") < 0

    @pytest.mark.parametrize(
        ("text", "zone"),
        [("2023-08-01", None), ("August", "UTC"), ("2023-13-01", "UTC"), ("2023-08-01", "Mars")],
    )
    def test_what_is_no_instant_is_a_usage_error(self, text: str, zone: str | None) -> None:
        with pytest.raises(UsageError):
            parse_instant(text, zone)
