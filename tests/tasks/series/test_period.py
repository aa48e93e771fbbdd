"""The byte range of a period holds all its rows and little else; it is used where rows look sorted."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import timedelta

import pytest

from tasks.series.head import read_head
from tasks.series.period import bytes_of_period
from tasks.series.spec import ScanSpec
from tasks.storage.source import FileRef

Write = Callable[..., FileRef]
ROWS = 60_000
PAD = ",".join(["12.5"] * 14)  # makes the file large enough to be worth bisecting


def lines(times: list[int]) -> list[str]:
    return [f"{time},{PAD}\n" for time in times]


@pytest.fixture(scope="module")
def rows() -> list[str]:
    return lines([1_690_848_000 + 15 * i for i in range(ROWS)])


@pytest.fixture(scope="module")
def ref(rows: list[str], write: Write) -> FileRef:
    return write("Time" + ",a" * 14 + "\n" + "".join(rows))


def spec(since: float, until: float) -> ScanSpec:
    """The period between two row numbers."""
    return ScanSpec(
        since_ms=round((1_690_848_000 + 15 * since) * 1000),
        until_ms=round((1_690_848_000 + 15 * until) * 1000),
    )


def rows_within(ref: FileRef, spec: ScanSpec) -> list[str]:
    """The lines that begin in the byte range of the period, as a block owns them."""
    head = read_head(ref)
    found = bytes_of_period(head, spec)
    assert found is not None
    with open(ref.url) as file:
        text = file.read()
    owned, place = [], head.data_start
    for line in text[head.data_start :].splitlines(keepends=True):
        if found[0] <= place < found[1]:
            owned.append(line)
        place += len(line)
    return owned


@pytest.mark.parametrize(
    ("since", "until", "first", "last"),
    [
        (100, 200, 100, 200),
        (100.5, 200.5, 101, 201),
        (0, 1, 0, 1),
        (1, 2, 1, 2),
        (ROWS - 1, ROWS, ROWS - 1, ROWS),
        (-100, 50, 0, 50),
        (59_000, 90_000, 59_000, ROWS),
        (-5, 90_000, 0, ROWS),
        (12_345, 12_345.5, 12_345, 12_346),
    ],
)
def test_the_range_is_exact_to_the_row(
    since: float, until: float, first: int, last: int, ref: FileRef, rows: list[str]
) -> None:
    assert rows_within(ref, spec(since, until)) == rows[first:last]


def test_repeated_times_are_all_inside(write: Write) -> None:
    times = [1_690_848_000 + i // 1000 * 15 for i in range(ROWS)]
    ref = write("Time" + ",a" * 14 + "\n" + "".join(lines(times)))
    assert rows_within(ref, spec(7, 9)) == lines(times)[7000:9000]


def test_lines_without_a_time_are_passed_over(rows: list[str], write: Write) -> None:
    marked = [row if i % 10 else "\nsoon,1\n" for i, row in enumerate(rows)]
    ref = write("Time" + ",a" * 14 + "\n" + "".join(marked))
    found = [row for row in rows_within(ref, spec(30_008, 30_013)) if row.startswith("1")]
    assert found == [rows[i] for i in (30_008, 30_009, 30_011, 30_012)]


@pytest.mark.parametrize(("since", "until"), [(-9, -5), (ROWS + 5, ROWS + 9), (100.2, 100.4)])
def test_a_period_without_rows_has_a_range_without_its_rows(since: float, until: float, ref: FileRef) -> None:
    first, last = bytes_of_period(read_head(ref), spec(since, until)) or (0, 0)
    assert 0 <= first < last <= ref.size
    assert last - first < 2 * timedelta(hours=1).seconds


def test_without_a_period_the_file_is_read_whole(ref: FileRef) -> None:
    assert bytes_of_period(read_head(ref), ScanSpec()) is None


def test_an_unsorted_file_is_read_whole(rows: list[str], write: Write) -> None:
    ref = write("Time" + ",a" * 14 + "\n" + "".join(rows[30_000:] + rows[:30_000]))
    assert bytes_of_period(read_head(ref), spec(100, 200)) is None


def test_small_and_packed_files_are_read_whole(rows: list[str], write: Write) -> None:
    text = "Time" + ",a" * 14 + "\n" + "".join(rows[:100])
    assert bytes_of_period(read_head(write(text)), spec(10, 20)) is None
    packed = write(gzip.compress(("Time" + ",a" * 14 + "\n" + "".join(rows)).encode(), 1), "X.csv.gz")
    assert bytes_of_period(read_head(packed), spec(10, 20)) is None
