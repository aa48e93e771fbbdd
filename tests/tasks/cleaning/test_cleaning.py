"""A cleaned series is, digit for digit, what pandas writes after the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=raw_files(), rule=st.sampled_from(RULES), block_bytes=st.sampled_from([1, 7, 40, 200, 1 << 20]))
def test_every_digit_is_that_of_pandas(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], rule: Rule, block_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("raw")
    assert cleaned(folder, texts, rule, block_bytes=block_bytes) == cleaned_by_pandas(texts, rule)
