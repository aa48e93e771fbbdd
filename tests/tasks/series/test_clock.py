"""Times are read as the instants they name; what names none is no time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import UsageError
from tasks.series.clock import (
    EPOCH_MS,
    EPOCH_S,
    NAIVE,
    OFFSET_BASE,
    parse_zone,
    read_time,
    zone_label,
    zone_table,
)
from tasks.series.swar import PADDING

moments = st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 30))


def read(text: str, zone: str | None = None, end: str = ",") -> tuple[int, int, int]:
    buf = np.frombuffer((text + end).encode() + bytes(PADDING), np.uint8)
    ms, code, place = read_time(buf, 0, *zone_table(zone))
    return int(ms), int(code), int(place)


def ms_of(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


class TestIso:
    @settings(max_examples=400, deadline=None)
    @given(
        moment=moments,
        minutes=st.integers(-14 * 60, 14 * 60),
        digits=st.integers(0, 6),
        letter=st.sampled_from("T "),
        form=st.sampled_from(["+08:00", "+0800"]),
    )
    def test_with_an_offset_is_what_python_reads(
        self, moment: datetime, minutes: int, digits: int, letter: str, form: str
    ) -> None:
        fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
        offset = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
        text = moment.strftime(f"%Y-%m-%d{letter}%H:%M:%S") + fraction
        text += offset if ":" in form else offset.replace(":", "")
        expected = ms_of(datetime.fromisoformat(text))
        assert read(text) == (expected, OFFSET_BASE + minutes, len(text))
        assert read(text, "America/New_York")[0] == expected

    @pytest.mark.parametrize(
        "text",
        [
            *("2023-08-15 15:30:15+08:00", "2023-08-15T15:30:15+0800", "2023-08-15 15:30:15+08"),
            *(
                "2023-08-15T07:30:15Z",
                "2023-08-15 07:30:15z",
                "2023-08-15T07:30:15.000Z",
                "2023-08-15 02:00:15-05:30",
            ),
            '"2023-08-15 15:30:15+08:00"',
        ],
    )
    @pytest.mark.parametrize("end", [",", "\n", "\r\n"])
    def test_forms_of_one_instant(self, text: str, end: str) -> None:
        ms, _, place = read(text, end=end)
        assert (ms, place) == (1_692_084_615_000, len(text))

    def test_seconds_may_be_left_out(self) -> None:
        assert read("2023-08-15 15:30+08:00")[0] == 1_692_084_600_000

    def test_fractions_are_cut_at_milliseconds(self) -> None:
        assert read("1970-01-01T00:00:01.9999999Z")[0] == 1999
        assert read("1970-01-01T00:00:01.5Z")[0] == 1500
        assert read("1970-01-01T00:00:01.05Z")[0] == 1050

    @settings(max_examples=300, deadline=None)
    @given(year=st.integers(1970, 2199), month=st.integers(0, 13), day=st.integers(0, 32))
    def test_a_day_is_a_time_only_if_the_calendar_has_it(self, year: int, month: int, day: int) -> None:
        try:
            expected = ms_of(datetime(year, month, day, 12, tzinfo=UTC))
        except ValueError:
            expected = -1
        assert read(f"{year}-{month:02d}-{day:02d} 12:00:00Z")[0] == expected

    @pytest.mark.parametrize(
        "text",
        [
            *("2023-02-29 00:00:00Z", "1900-02-29 00:00:00Z", "2023-08-15 24:00:00Z", "2023-08-15 12:60:00Z"),
            *(
                "2023-08-15 12:00:60Z",
                "2023-8-15 12:00:00Z",
                "15.08.2023 12:00",
                "2023-08-15",
                "2023/08/15 12:00:00Z",
            ),
            *(
                "2023-08-15 12:00:00+15:00",
                "2023-08-15 12:00:00+08:60",
                "2023-08-15 12:00:00+8",
                "2023-08-15 12:00:00Zx",
            ),
            *(
                "2023-08-15 12:00:00.Z",
                "2023-08-15 12:00:00 UTC",
                '"2023-08-15 12:00:00Z',
                "1969-12-31 23:59:59Z",
            ),
            *(
                "2200-01-01 00:00:00Z",
                "1970-01-01 00:00:00+08:00",
                "abcd-ef-gh ij:kl:mn",
                "NaT",
                "",
                "Time",
                "-5",
                "nan",
            ),
        ],
    )
    def test_what_is_no_time(self, text: str) -> None:
        ms, _, place = read(text)
        assert (ms, place) == (-1, len(text))


class TestEpochs:
    @settings(max_examples=200, deadline=None)
    @given(seconds=st.integers(0, 4_000_000_000), millis=st.integers(0, 999))
    def test_seconds_and_milliseconds(self, seconds: int, millis: int) -> None:
        assert read(f"{seconds}")[:2] == (seconds * 1000, EPOCH_S)
        assert read(f"{seconds}.{millis:03d}")[:2] == (seconds * 1000 + millis, EPOCH_S)
        if seconds >= 100_000_000:
            assert read(f"{seconds * 1000 + millis}")[:2] == (seconds * 1000 + millis, EPOCH_MS)

    def test_the_next_cell_does_not_matter(self) -> None:
        # A minus sign stands where an ISO date has its first dash.
        for text in ("0,5e-324", "100,-2.5", "15,-,-,-,", "7,1,2-3"):
            ms, code, place = read(text, end=",")
            assert (ms, code, place) == (int(text.split(",")[0]) * 1000, EPOCH_S, text.index(","))

    @pytest.mark.parametrize(
        "text", ["1692084615000000", "1692084615000000000", "1e9", "1692084615x", "0x10", "999999999999999"]
    )
    def test_other_numbers_are_no_times(self, text: str) -> None:
        assert read(text)[0] == -1


class TestZones:
    @settings(max_examples=300, deadline=None)
    @given(
        moment=moments.map(lambda m: m.replace(microsecond=0)),
        zone=st.sampled_from(
            ["Asia/Shanghai", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "UTC", "+08:00"]
        ),
    )
    def test_a_time_without_offset_is_read_in_the_given_zone(self, moment: datetime, zone: str) -> None:
        expected = ms_of(moment.replace(tzinfo=parse_zone(zone)))
        if expected >= 0:
            assert read(moment.strftime("%Y-%m-%d %H:%M:%S"), zone)[:2] == (expected, NAIVE)

    @pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe"])
    def test_clock_changes_are_those_of_the_zone(self, zone: str) -> None:
        """Every quarter of an hour of the days around both changes, skipped and repeated ones too."""
        for first in (
            datetime(2023, 3, 11),
            datetime(2023, 3, 25),
            datetime(2023, 3, 31),
            datetime(2023, 9, 30),
            datetime(2023, 10, 28),
            datetime(2023, 11, 4),
        ):
            for quarter in range(3 * 96):
                moment = first + timedelta(minutes=15 * quarter)
                expected = ms_of(moment.replace(tzinfo=ZoneInfo(zone)))
                assert read(moment.strftime("%Y-%m-%d %H:%M:%S"), zone)[0] == expected, moment

    def test_without_a_zone_it_is_no_time(self) -> None:
        assert read("2023-08-15 15:30:15")[:2] == (-1, NAIVE)

    @pytest.mark.parametrize(
        ("name", "hours"),
        [("+08:00", 8), ("UTC+08:00", 8), ("-0530", -5.5), ("UTC", 0), (" Asia/Shanghai ", 8)],
    )
    def test_names_of_zones(self, name: str, hours: float) -> None:
        assert datetime(2023, 8, 1, tzinfo=parse_zone(name)).utcoffset() == timedelta(hours=hours)

    @pytest.mark.parametrize("name", ["Mars/Olympus", "+8", "+25:00", "", "../etc/passwd", "08:00"])
    def test_other_names_are_a_usage_error(self, name: str) -> None:
        with pytest.raises(UsageError, match="is not a time zone"):
            parse_zone(name)

    def test_codes_have_words(self) -> None:
        codes = {read(text, "UTC")[1] for text in ("2023-08-01 00:00:00+08:00", "2023-08-01 00:00:00-03:30")}
        codes |= {read(text, "UTC")[1] for text in ("2023-08-01 00:00:00", "1000", "1692084615000")}
        labels = {"+08:00", "-03:30", "no zone", "epoch seconds", "epoch milliseconds"}
        assert {zone_label(code) for code in codes} == labels
