"""A cleaned series is, digit for digit, what pandas writes after the same steps."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import NotASeries
from schemas.metrics import CATALOGUE, inferred
from tasks.cleaning.rules import Rule, rule_of
from tasks.cleaning.series import plan_series, survey_series
from tasks.cleaning.write import pieces_of
from tasks.series.head import read_head
from tasks.storage.source import stat_file
from tests.tasks.cleaning.oracle import cleaned_by_pandas

RATIO = rule_of(CATALOGUE["SM_ACTIVE"])
POWER = rule_of(CATALOGUE["POWER_USAGE"])
PLAIN = rule_of(CATALOGUE["GPU_TEMP"])
NODE = rule_of(CATALOGUE["NODE_CPU_UTILIZATION"])
MEMORY = rule_of(CATALOGUE["NODE_MEMORY_UTILIZATION"])
INFINIBAND = rule_of(CATALOGUE["NODE_IB_SEND"])
UNKNOWN = rule_of(inferred("WATTS"))
RULES = (RATIO, POWER, PLAIN, NODE, MEMORY, INFINIBAND)

START = 1_689_737_000  # half an hour before the broken window of the memory export


def cleaned(
    folder: Path, texts: Sequence[str | bytes], rule: Rule, *, block_bytes: int = 1 << 20, workers: int = 2
) -> str:
    """What we write for the raw files `texts`."""
    heads = []
    for number, text in enumerate(texts):
        path = folder / f"X-{number:02d}.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if text[:2] == b"\x1f\x8b":
            path = path.rename(path.with_suffix(".csv.gz"))
        heads.append(read_head(stat_file(str(path))))
    survey = survey_series(heads, rule, workers=workers, block_bytes=block_bytes)
    assert survey.troubles == ()
    return b"".join(pieces_of(plan_series(survey, rule), workers)).decode()


def test_a_ratio_export_becomes_the_released_form(tmp_path: Path) -> None:
    raw = (
        "Time,10.0.0.1-0,10.0.0.1-1,10.0.0.1-2\n"
        "1690848015,0.0123456789,0.5,\n"
        "1690848000,1,0.25,\n"
        "1690848015,0.9,0.9,0.9\n"
        "1690848030,,,\n"
    )
    assert cleaned(tmp_path, [raw], RATIO) == (
        "Time,10.0.0.1-0,10.0.0.1-1\n"
        "2023-08-01 08:00:00+08:00,100.0,25.0\n"
        "2023-08-01 08:00:15+08:00,1.235,50.0\n"
    )


decimal_numbers = st.one_of(
    st.integers(0, 100).map(str),
    st.integers(0, 10**6).map(lambda k: f"{k / 10**6}"),
    st.integers(-5000, 10**6).map(lambda k: f"{k / 1000:.3f}"),
    st.floats(0, 1).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e25, max_value=1e25).map(repr),
    st.integers(0, 10**9).map(lambda k: f"0.{k:017d}"),
    st.sampled_from(
        ["-0.0", "-0", "1e-7", "1E5", "+3", "007", "0.50", "5.", ".5", "0.0005", "1.0005", "0.00001"]
    ),
    st.sampled_from(
        ["-0.0000001", "123456789012345678.5", "0.1234567890123456789012", "2.5", "1e22", "81920.0"]
    ),
)
blanks = st.sampled_from(["", "", "NaN", "nan", "NULL"])


@st.composite
def raw_files(draw: st.DrawFn) -> list[str]:
    """One to three files of a series, rows in any order, times more than once."""
    names = draw(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True))
    texts = []
    ascending = draw(st.booleans())
    clock = START
    for _ in range(draw(st.integers(1, 3))):
        columns = draw(st.permutations(names).map(lambda n: n[: max(1, len(n) - 1)])) if len(texts) else names
        wholes = draw(st.booleans())
        cells = (
            st.integers(-50, 100).map(str) if wholes else st.one_of(decimal_numbers, decimal_numbers, blanks)
        )
        lines = [",".join(["Time", *columns])]
        for _ in range(draw(st.integers(0, 12))):
            clock = (
                clock + draw(st.sampled_from([0, 15, 15, 300]))
                if ascending
                else (START + 15 * draw(st.integers(0, 30)))
            )
            row = draw(st.one_of(st.lists(cells, min_size=len(columns), max_size=len(columns)), st.none()))
            lines.append(",".join([str(clock), *(row if row is not None else [""] * len(columns))]))
        ending = draw(st.sampled_from(["\n", "\r\n"]))
        texts.append(ending.join(lines) + draw(st.sampled_from(["", ending])))
    return texts


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=raw_files(), rule=st.sampled_from(RULES), block_bytes=st.sampled_from([1, 7, 40, 200, 1 << 20]))
def test_every_digit_is_that_of_pandas(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], rule: Rule, block_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("raw")
    assert cleaned(folder, texts, rule, block_bytes=block_bytes) == cleaned_by_pandas(texts, rule)


def spelt(numbers: random.Random) -> str:
    """A fraction with more or fewer decimals."""
    return f"{numbers.random():.{numbers.choice([3, 9, 17])}f}"


def many_rows(rows: int, columns: int, *, start: int = START, seed: int = 0) -> list[str]:
    """Lines of a ratio export, in order."""
    numbers = random.Random(seed)
    return [
        ",".join([str(start + 15 * row), *(spelt(numbers) for _ in range(columns))]) for row in range(rows)
    ]


def series_of(*parts: list[str], columns: int = 20) -> list[str]:
    """Files of these lines."""
    header = ",".join(["Time", *(f"10.0.0.{c}-0" for c in range(columns))])
    return ["\n".join([header, *lines]) + "\n" for lines in parts]


@pytest.mark.parametrize("kind", ["swapped halves", "shuffled", "interleaved files", "repeated tail"])
def test_rows_in_any_order_are_sorted_and_told_apart(kind: str, tmp_path: Path) -> None:
    lines = many_rows(4000, 20)
    later = many_rows(4000, 20, seed=1)
    parts = {
        "swapped halves": [lines[2000:] + lines[:2000]],
        "shuffled": [random.Random(2).sample(lines, len(lines))],
        "interleaved files": [lines[::2], lines[1::2], later[::3]],
        "repeated tail": [lines[:3000], later[2900:]],
    }[kind]
    texts = series_of(*parts)
    assert cleaned(tmp_path, texts, RATIO, block_bytes=30_000) == cleaned_by_pandas(texts, RATIO)


def test_rows_in_no_order_at_all_are_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.cleaning.order.MOST_TANGLED", 100)
    texts = series_of(random.Random(2).sample(many_rows(1000, 3), 1000), columns=3)
    with pytest.raises(NotASeries, match="sort the export by time first"):
        cleaned(tmp_path, texts, RATIO)


def test_a_packed_export_is_cleaned_too(tmp_path: Path) -> None:
    texts = series_of(many_rows(500, 20))
    packed = [gzip.compress(text.encode()) for text in texts]
    assert cleaned(tmp_path, packed, RATIO) == cleaned_by_pandas(texts, RATIO)


def test_a_packed_export_in_disorder_is_cleaned_too(tmp_path: Path) -> None:
    lines = many_rows(500, 20)
    texts = series_of(lines[::2] + lines[1::2])
    packed = [gzip.compress(text.encode()) for text in texts]
    assert cleaned(tmp_path, packed, RATIO) == cleaned_by_pandas(texts, RATIO)


@pytest.mark.parametrize("zone", ["America/New_York", "UTC", "+05:30", "Australia/Lord_Howe"])
def test_times_are_written_in_the_zone_through_its_clock_changes(zone: str, tmp_path: Path) -> None:
    rule = rule_of(CATALOGUE["SM_ACTIVE"], zone)
    texts = ["Time,a\n" + "".join(f"{1_667_000_000 + 1807 * hour},0.5\n" for hour in range(9000))]
    assert cleaned(tmp_path, texts, rule) == cleaned_by_pandas(texts, rule)


def test_quoted_names_stay_quoted_and_the_port_suffix_goes(tmp_path: Path) -> None:
    texts = ['Time,"rack 1, node 2-mlx5_0",b-mlx5_0\n1690848000,"0.5", 7 \n1690848015,1,\n']
    assert cleaned(tmp_path, texts, INFINIBAND) == cleaned_by_pandas(texts, INFINIBAND)
    assert cleaned(tmp_path, texts, INFINIBAND).startswith('Time,"rack 1, node 2",b\n')


def test_the_broken_hours_of_the_memory_export_are_left_out_with_their_columns(tmp_path: Path) -> None:
    window = range(1_689_737_700 - 60, 1_689_746_460 + 60, 15)  # 11:35:00 to 14:01:00, both ends
    texts = ["Time,a,a.1\n" + "".join(f"{t},0.5,{0.5 if t == 1_689_740_000 - 5 else ''}\n" for t in window)]
    assert cleaned(tmp_path, texts, MEMORY) == cleaned_by_pandas(texts, MEMORY)
    written = cleaned(tmp_path, texts, MEMORY).splitlines()
    assert (written[0], len(written) - 1) == ("Time,a", 7)


def test_times_finer_than_seconds_are_written_to_the_millisecond(tmp_path: Path) -> None:
    raw = "Time,a\n1690848000.5,1\n1690848001.123,2\n1690848002,3\n"
    assert cleaned(tmp_path, [raw], RATIO) == (
        "Time,a\n2023-08-01 08:00:00.500+08:00,100\n"
        "2023-08-01 08:00:01.123+08:00,200\n2023-08-01 08:00:02.000+08:00,300\n"
    )


@pytest.mark.parametrize(
    ("line", "rule", "row", "column", "value"),
    [
        ("1690848015,0.5,x", "bad-cell", 2, "b", "x"),
        ("1690848015,inf,0.5", "bad-cell", 2, "a", "inf"),
        ("1690848015,1e999,0.5", "bad-cell", 2, "a", "1e999"),
        ("noon,0.5,0.5", "bad-time", 2, "Time", "noon"),
        ("1690848015,0.5", "ragged-row", 2, None, None),
        ("1690848015,0.5,0.5,0.5", "ragged-row", 2, None, None),
    ],
)
def test_what_cannot_be_read_is_located_and_nothing_is_guessed(
    line: str, rule: str, row: int, column: str | None, value: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "X.csv"
    path.write_text(f"Time,a,b\n1690848000,1,1\n{line}\n1690848030,1,1\n")
    head = read_head(stat_file(str(path)))
    (trouble,) = survey_series([head], RATIO, workers=1, block_bytes=20).troubles
    assert (trouble.rule, trouble.count) == (rule, 1)
    (place,) = trouble.places
    assert (place.file, place.row, place.column, place.value) == (str(path), row, column, value)
    assert place.byte_offset is not None
    assert path.read_bytes()[place.byte_offset :].startswith((value or line).encode())


def test_a_comma_between_quotes_does_not_make_up_for_a_missing_cell(tmp_path: Path) -> None:
    path = tmp_path / "X.csv"
    path.write_text('Time,a,b\n1690848000,1,1\n1690848015,"0.5,0.5"\n')
    head = read_head(stat_file(str(path)))
    assert survey_series([head], RATIO, workers=1).troubles


def test_memory_depends_neither_on_rows_nor_on_columns_times_rows(tmp_path: Path) -> None:
    """Four times the file takes the same memory, within what a block may differ by."""
    peaks = []
    for rows in (8_000, 32_000):
        path = tmp_path / "SM_ACTIVE.csv"
        path.write_text(series_of(many_rows(500, 100), columns=100)[0])
        body = path.read_text().splitlines(keepends=True)
        with path.open("w") as file:
            file.write(body[0])
            for row in range(rows):
                file.write(f"{START + 15 * row}," + body[1 + row % 500].split(",", 1)[1])
        code = (
            "import resource, sys\n"
            "from schemas.metrics import CATALOGUE\n"
            "from tasks.cleaning.rules import rule_of\n"
            "from tasks.cleaning.series import plan_series, survey_series\n"
            "from tasks.cleaning.write import write_rows\n"
            "from tasks.series.head import read_head\n"
            "from tasks.storage.source import stat_file\n"
            "rule = rule_of(CATALOGUE['SM_ACTIVE'])\n"
            "heads = [read_head(stat_file(sys.argv[1]))]\n"
            "survey = survey_series(heads, rule, workers=2, block_bytes=1 << 20)\n"
            "write_rows(plan_series(survey, rule), lambda cleaned: None, 2)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
        )
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] * 1.1 + 10, f"{peaks} MB for a file and one four times as large"
