"""Episodes of a latched gauge: onsets are changes, wherever a file is cut and however it is stored."""

from __future__ import annotations

import itertools
import random
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.columnar import kind_of_files, read_any_head
from tasks.series.api import summary_of_file
from tasks.series.discover import discover
from tasks.series.latched import Runs
from tasks.series.options import ScanOptions
from tasks.series.tally import Tally
from tasks.series.units import ThreadExecutor, scan_unit
from tasks.series.wide import heads_of, plan_series, summarise_series

START = 1_692_084_615_000  # 2023-08-15 15:30:15 at Shanghai
CODES = ["", "", "0.0", "0.0", "43.0", "43", "31.0", "nan?"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([15, 15, 15, 30, 45, 600]), st.lists(st.sampled_from(CODES), min_size=4, max_size=4)
    ),
    max_size=25,
)


def text_of(rows: list[tuple[int, list[str]]]) -> tuple[str, pd.DataFrame]:
    """A file, and the same as a frame of numbers by epoch milliseconds."""
    lines, times, now = ["Time,10.0.0.1-0,10.0.0.1-1,10.0.0.1-2,10.0.0.2-0"], [], START
    for step, cells in rows:
        now += step * 1000
        times.append(now)
        stamp = pd.Timestamp(now, unit="ms", tz="Asia/Shanghai").strftime("%F %T+08:00")
        lines.append(",".join([stamp, *cells]))
    cells = [[float(cell) if cell not in ("", "nan?") else np.nan for cell in row] for _, row in rows]
    return "\n".join(lines) + "\n", pd.DataFrame(cells, index=times, columns=lines[0].split(",")[1:])


def plain(table: pd.DataFrame) -> list[tuple[str, float, int, int, int, bool]]:
    """Episodes by their definition: entity, value, onset, end, samples, onset seen."""
    found = []
    for entity, column in table.items():
        runs: list[list[float]] = []
        for ms, value in column.dropna().items():
            if runs and runs[-1][0] == value:
                runs[-1][2] = ms
                runs[-1][3] += 1
            else:
                runs.append([value, ms, ms, 1, bool(runs)])
        merged: list[list[float]] = []
        for run in (run for run in runs if run[0] != 0):
            if merged and merged[-1][0] == run[0] and run[1] - merged[-1][2] <= 30_000:
                merged[-1][2] = run[2]
                merged[-1][3] += run[3]
            else:
                merged.append(list(run))
        found += [(entity, *episode) for episode in merged]
    return sorted(found)


def told(episodes: pd.DataFrame) -> list[tuple[str, float, int, int, int, bool]]:
    if episodes.empty:
        return []
    ms = [episodes[name].astype("datetime64[ms, UTC]").astype("int64") for name in ("onset", "end")]
    columns = [episodes["entity"], episodes["value"], *ms, episodes["samples"], episodes["onset_seen"]]
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@settings(max_examples=40)
@given(rows=ROWS, block=st.integers(40, 400))
def test_episodes_are_those_of_their_definition_wherever_the_file_is_cut(rows, block):
    text, table = text_of(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "XID_ERRORS.csv"
        path.write_text(text)
        (series,) = discover(str(path))
        heads = heads_of(series, None, read_any_head)
        planned = plan_series(series, heads, ScanOptions(block_bytes=block), kind_of_files(series.files))
        expected = plain(table)
        tallies = [
            scan_unit(planned.kind, unit, scan.columns, "", None)
            for scan in planned.scans
            for unit in scan.units
        ]
    tallies = [Tally.from_bytes(tally.to_bytes()) for tally in tallies]
    for order in (tallies, tallies[::-1], random.Random(0).sample(tallies, len(tallies))):
        merged = Tally()
        for tally in order:
            merged = merged.merge(tally)
        assert found_in(merged.runs) == expected


def found_in(runs: Runs) -> list[tuple[str, float, int, int, int, bool]]:
    return sorted(
        (str(runs.entities[entity]), float(value), first, last, samples, not unseen)
        for entity, value, first, last, samples, unseen in runs.episodes().tolist()
    )


def pieces(rows: list[tuple[int, list[str]]]) -> list[Runs]:
    """Each row of a table as a block of its own."""
    _, table = text_of(rows)
    blocks = []
    for number, (ms, row) in enumerate(table.iterrows()):
        known = [(place, value) for place, value in enumerate(row) if not np.isnan(value)]
        found = np.array([[place, value, ms, ms, 1] for place, value in known], np.int64).reshape(-1, 5)
        blocks.append(Runs.of_block(f"f{number // 3}", number % 3, list(table.columns), found))
    return blocks


@given(rows=ROWS.filter(lambda rows: len(rows) >= 3), data=st.data())
def test_merging_runs_is_associative_and_commutative_and_the_empty_ones_are_its_unit(rows, data):
    blocks = pieces(rows)
    one, two = sorted(data.draw(st.tuples(st.integers(0, len(rows)), st.integers(0, len(rows)))))
    a, b, c = (whole(blocks[low:high]) for low, high in ((0, one), (one, two), (two, len(rows))))
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    for other in (right, c.merge(a).merge(b), left.merge(Runs.empty()), Runs.empty().merge(left)):
        assert found_in(other) == found_in(left)
        assert np.array_equal(other.rows[:, 3:], left.rows[:, 3:])


def whole(blocks: list[Runs]) -> Runs:
    merged = Runs.empty()
    for block in blocks:
        merged = merged.merge(block)
    return merged


def test_more_changes_than_the_register_holds_are_all_kept(tmp_path):
    entities = 200
    header = ",".join(["Time", *(f"10.0.{n}.1-0" for n in range(entities))])
    lines = [header]
    for row in range(300):
        cells = ["43.0" if (row + n) % 2 else "0.0" for n in range(entities)]
        stamp = pd.Timestamp(START + row * 60_000, unit="ms", tz="Asia/Shanghai").strftime("%F %T+08:00")
        lines.append(",".join([stamp, *cells]))
    path = tmp_path / "XID_ERRORS.csv"
    path.write_text("\n".join(lines) + "\n")
    found = summary_of_file(path).episodes
    assert len(found) == 300 * entities / 2


def test_a_code_that_flickers_within_half_a_minute_is_one_episode(tmp_path):
    rows = [(15, [code, "0.0", "0.0", ""]) for code in ("0.0", "43.0", "0.0", "43.0", "0.0", "0.0", "43.0")]
    path = tmp_path / "XID_ERRORS.csv"
    path.write_text(text_of(rows)[0])
    found = summary_of_file(path).episodes
    assert found["samples"].tolist() == [2, 1]
    assert found["onset_seen"].all()


def test_raw_exports_and_parquet_give_the_same_episodes(tmp_path):
    from tasks.columnar.convert import convert_series
    from tasks.series.options import contract_of

    rows = [
        (15, list(cells)) for cells in itertools.product(("", "0.0", "43.0"), ("0.0", "31.0"), [""], ["0.0"])
    ]
    source = tmp_path / "XID_ERRORS.csv"
    source.write_text(text_of(rows)[0])
    (series,) = discover(str(source))
    heads = heads_of(series, None, read_any_head)
    contract = contract_of("XID_ERRORS", ScanOptions())
    convert_series(
        series, heads, contract.metric, str(tmp_path / "p"), "XID_ERRORS.parquet", timezone=None, workers=1
    )
    assert told(summary_of_file(tmp_path / "p/XID_ERRORS.parquet").episodes) == told(
        summary_of_file(source).episodes
    )
    assert told(summary_of_file(source).episodes)


def test_other_metrics_have_no_episodes(tmp_path):
    path = tmp_path / "GPU_UTIL.csv"
    path.write_text(text_of([(15, ["0.0", "43.0", "", "31.0"])] * 3)[0])
    (series,) = discover(str(path))
    heads = heads_of(series, None, read_any_head)
    planned = plan_series(series, heads, ScanOptions(), kind_of_files(series.files))
    assert summarise_series(planned, ThreadExecutor(1)).episodes.empty


def test_the_real_onsets_are_the_known_ones(real):
    found = summary_of_file(real / "acmetrace/data/utilization/kalos/XID_ERRORS.csv").episodes
    assert found["value"].value_counts().to_dict() == {43: 794, 31: 55, 94: 2, 45: 1}
    assert found["entity"].nunique() == 851
    # The slice holds onsets alone: what a GPU had before its first fault is not in it.
    assert found["onset_seen"].sum() == 1
    burst = found["onset"].dt.tz_convert("Asia/Shanghai").astype(str).value_counts()
    assert burst["2023-08-17 06:00:15+08:00"] == 57
    assert burst["2023-08-17 06:00:30+08:00"] == 59
