"""A sample has the form of the release: files, names, zones, cells, blanks, windows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from schemas.metrics import CATALOGUE

CELL = re.compile(r"^(?:|0\.0|[1-9]\d*\.\d{1,3}|0\.\d{1,3})$")


def test_every_file_of_the_release_is_there_and_nothing_else(default_sample):
    ib = {"NODE_IB_SEND", "NODE_IB_RECEIVE"}
    wanted = {f"data/utilization/seren/{metric}.csv" for metric in CATALOGUE}
    wanted |= {f"data/utilization/kalos/{metric}.csv" for metric in CATALOGUE if metric not in ib}
    wanted |= {f"data/utilization/ipmi/{stem}.csv" for stem in ("GPU_AB_Power", "GPU_C_Power", "CPU_D_Power")}
    wanted |= {f"data/job_trace/trace_{cluster}.csv" for cluster in ("seren", "kalos")}
    found = {path.relative_to(default_sample.root).as_posix() for path in default_sample.root.rglob("*.*")}
    assert found == wanted == {file.path for file in default_sample.report.files}


def test_the_report_tells_sizes_and_rows_as_they_are_on_disk(default_sample):
    for file in default_sample.report.files:
        content = (default_sample.root / file.path).read_bytes()
        assert (file.bytes, file.rows) == (len(content), content.count(b"\n") - 1), file.path
    assert default_sample.report.total_bytes == sum(file.bytes for file in default_sample.report.files)


def test_the_default_is_small(default_sample):
    assert 15_000_000 <= default_sample.report.total_bytes <= 25_000_000


def test_kalos_dram_activity_is_a_header_and_nothing_else(default_sample):
    assert default_sample.path("kalos", "DRAM_ACTIVE").read_bytes() == b"Time\n"


@pytest.mark.parametrize(
    ("cluster", "metric", "pattern"),
    [
        ("kalos", "GPU_UTIL", r"172\.31\.\d+\.\d+-[0-7]"),
        ("seren", "GPU_UTIL", r"10\.140\.\d+\.\d+-[0-7]"),
        ("kalos", "SM_ACTIVE", r"lingjun-pod\d+-\d{4}-[0-7]"),
        ("kalos", "SM_OCCUPANCY", r"lingjun-pod\d+-\d{4}-[0-7]"),
        ("seren", "SM_ACTIVE", r"10\.140\.\d+\.\d+-[0-7]"),
        ("kalos", "NODE_CPU_UTILIZATION", r"172\.31\.\d+\.\d+"),
        ("seren", "NODE_IB_SEND", r"10\.140\.\d+\.\d+"),
    ],
)
def test_entities_are_named_as_in_the_release(default_sample, cluster, metric, pattern):
    names = list(default_sample.frame(cluster, metric).columns[1:])
    assert len(names) == len(set(names)) == (64 if "-" in pattern else 8)
    assert all(re.fullmatch(pattern, name) for name in names)


def test_column_orders_differ_between_files(default_sample):
    used, util = (list(default_sample.frame("seren", metric).columns) for metric in ("FB_USED", "GPU_UTIL"))
    assert used != util
    assert sorted(used) == sorted(util)


def test_times_ascend_in_15_second_slots_some_of_which_are_missing(default_sample):
    for cluster, metric in default_sample.wide():
        texts = default_sample.frame(cluster, metric)["Time"]
        if len(texts):
            assert texts.str.fullmatch(r"2023-\d\d-\d\d \d\d:\d\d:\d\d\+08:00").all()
            steps = pd.to_datetime(texts).diff().dropna().dt.total_seconds()
            assert steps.min() == steps.median() == 15
            assert steps.max() > 15
            assert (steps % 15 == 0).all()


def test_windows_differ_by_metric(default_sample):
    firsts = {default_sample.frame("seren", metric)["Time"].iloc[0] for metric in CATALOGUE}
    assert len(firsts) > 5


def test_seren_straddles_the_start_of_august_and_kalos_lies_in_it(default_sample):
    seren = default_sample.frame("seren", "POWER_USAGE")["Time"]
    assert (seren.iloc[0][:7], seren.iloc[-1][:7]) == ("2023-07", "2023-08")
    kalos = default_sample.frame("kalos", "POWER_USAGE")["Time"]
    assert {time[:7] for time in kalos} == {"2023-08"}


def test_cells_are_written_as_in_the_release(default_sample):
    for cluster, metric in default_sample.wide():
        rows = default_sample.path(cluster, metric).read_text().splitlines()[1:200]
        cells = {cell for row in rows for cell in row.split(",")[1:]}
        assert all(CELL.match(cell) for cell in cells), (cluster, metric)
        decimals = max((len(cell.partition(".")[2]) for cell in cells if cell), default=1)
        assert decimals == max(1, CATALOGUE[metric].decimals or 0) or not cells, (cluster, metric)
        assert not any(re.search(r"\.\d+0$", cell) for cell in cells), (cluster, metric)


@pytest.mark.parametrize("metric", ["SM_ACTIVE", "POWER_USAGE", "XID_ERRORS", "NODE_IB_SEND"])
def test_a_file_is_what_pandas_would_write(default_sample, metric):
    text = default_sample.frame("seren", metric).to_csv(index=False, lineterminator="\n")
    assert text.encode() == default_sample.path("seren", metric).read_bytes()


def test_about_a_tenth_of_the_cells_is_blank_but_no_row_or_column_is(default_sample):
    for cluster, metric in default_sample.wide():
        values = default_sample.values(cluster, metric)
        if values.size:
            filled = np.isfinite(values)
            assert 0.85 < filled.mean() < 0.97, (cluster, metric)
            assert filled.any(axis=0).all()
            assert filled.any(axis=1).all()


def test_blanks_come_in_runs(default_sample):
    blank = np.isnan(default_sample.values("seren", "GPU_UTIL"))
    assert (blank[1:] & blank[:-1]).sum() / blank[1:].sum() > 0.5


def test_xid_is_a_latched_gauge_of_known_codes(default_sample):
    for cluster in ("seren", "kalos"):
        values = default_sample.values(cluster, "XID_ERRORS")
        assert set(np.unique(values[np.isfinite(values)])) <= {0.0, 31.0, 43.0, 45.0, 94.0}
        faulted = values > 0
        assert 0 < faulted.mean() < 0.2
        assert (faulted[1:] & ~faulted[:-1] & np.isfinite(values[:-1])).sum() < faulted.sum() / 20


def test_free_and_used_memory_of_a_gpu_add_up(default_sample):
    used, free = (default_sample.frame("kalos", name).set_index("Time") for name in ("FB_USED", "FB_FREE"))
    total = (used + free).to_numpy()
    assert set(total[np.isfinite(total)]) == {81_251.0}
    assert free.min().min() >= 0


def test_readings_stay_for_some_slots(default_sample):
    values = default_sample.values("kalos", "POWER_USAGE")
    both = np.isfinite(values[1:]) & np.isfinite(values[:-1])
    same = values[1:] == values[:-1]
    assert 0.3 < same[both].mean() < 0.9


def test_a_busy_gpu_draws_more_power(default_sample):
    util, power = (
        default_sample.frame("seren", name).set_index("Time") for name in ("GPU_UTIL", "POWER_USAGE")
    )
    power = power.reindex(index=util.index, columns=util.columns).to_numpy()
    util = util.to_numpy()
    assert np.nanmean(power[util > 95]) > 2 * np.nanmean(power[util == 0])
