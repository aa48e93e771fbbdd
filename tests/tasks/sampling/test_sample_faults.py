"""Planted faults are where the listing says, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from schemas.findings import RULES
from schemas.series import Thresholds
from tasks.sampling import SampleOptions, write_sample

# What only an accident while reading can cause, or another way of reading.
NOT_PLANTED = {"not-raw", "no-node", "unreadable", "file-changed", "missing-column", "order-assumed"}


@pytest.fixture(scope="module")
def planted(faulty_sample):
    return json.loads((faulty_sample.root / "planted_faults.json").read_text())


def of_rule(planted, rule):
    return [fault for fault in planted if fault["rule"] == rule]


def lines_of(sample, fault):
    return (sample.root / fault["file"]).read_bytes().split(b"\n")


def test_every_rule_that_can_be_planted_is_planted(planted):
    assert {fault["rule"] for fault in planted} == set(RULES) - NOT_PLANTED


def test_the_listing_and_the_report_agree(faulty_sample, planted):
    assert planted == [asdict(fault) for fault in faulty_sample.report.faults]


def test_every_offset_points_to_its_text(faulty_sample, planted):
    located = [fault for fault in planted if fault["byte_offset"] is not None]
    assert len(located) > 20
    for fault in located:
        content = (faulty_sample.root / fault["file"]).read_bytes()
        rest = content[fault["byte_offset"] :]
        cell = rest[: min(rest.find(end) for end in (b",", b"\n") if end in rest)]
        assert cell.decode() == fault["value"], fault


def test_every_offset_lies_in_the_row_and_column_it_names(faulty_sample, planted):
    for fault in planted:
        if fault["byte_offset"] is not None:
            before = (faulty_sample.root / fault["file"]).read_bytes()[: fault["byte_offset"]]
            assert before.count(b"\n") == (fault["row"] or 0), fault
            if fault["row"] and fault["column"]:
                names = lines_of(faulty_sample, fault)[0].decode().split(",")
                place = before.rpartition(b"\n")[2].count(b",")
                assert names[place] == fault["column"]


def test_ragged_rows_have_fewer_and_more_cells_than_the_header(faulty_sample, planted):
    widths = []
    for fault in of_rule(planted, "ragged-row"):
        lines = lines_of(faulty_sample, fault)
        widths.append(lines[fault["row"]].count(b",") - lines[0].count(b","))
    assert min(widths) < 0 < max(widths)


def test_bad_cells_are_no_numbers(planted):
    for fault in of_rule(planted, "bad-cell"):
        with pytest.raises(ValueError, match="could not convert"):
            float(fault["value"])


def test_one_file_is_above_the_threshold_of_bad_cells_and_one_below(faulty_sample, planted):
    (over,) = of_rule(planted, "too-many-bad-cells")
    share = {}
    for file in {fault["file"] for fault in of_rule(planted, "bad-cell")}:
        cells = sum(line.count(b",") for line in (faulty_sample.root / file).read_bytes().splitlines()[1:])
        share[file] = sum(fault["file"] == file for fault in of_rule(planted, "bad-cell")) / cells
    limit = Thresholds().bad_cell_share
    assert {file for file in share if share[file] > limit} == {over["file"]}
    assert min(share.values()) < limit


def test_the_duplicate_time_is_that_of_the_row_before(faulty_sample, planted):
    (fault,) = of_rule(planted, "duplicate-time")
    lines = lines_of(faulty_sample, fault)
    assert lines[fault["row"]].split(b",")[0] == lines[fault["row"] - 1].split(b",")[0]


def test_the_disordered_row_is_older_and_the_gap_is_an_hour(faulty_sample, planted):
    times = {}
    for rule in ("disordered-time", "gap"):
        (fault,) = of_rule(planted, rule)
        lines = lines_of(faulty_sample, fault)
        row, before = (
            pd.Timestamp(lines[n].split(b",")[0].decode()) for n in (fault["row"], fault["row"] - 1)
        )
        times[rule] = (row - before).total_seconds()
    assert times["disordered-time"] < 0
    assert times["gap"] > 3600


def test_the_row_in_another_zone_is_the_same_instant(faulty_sample, planted):
    (fault,) = of_rule(planted, "mixed-zones")
    lines = lines_of(faulty_sample, fault)
    other, before = (pd.Timestamp(lines[n].split(b",")[0].decode()) for n in (fault["row"], fault["row"] - 1))
    assert fault["value"].endswith("+00:00")
    assert 0 < (other - before).total_seconds() < 600


def test_one_in_five_cells_is_left_where_coverage_is_low(faulty_sample, planted):
    (fault,) = of_rule(planted, "low-coverage")
    frame = pd.read_csv(faulty_sample.root / fault["file"])
    assert frame.iloc[:, 1:].notna().mean(axis=None) < 0.25


def test_rows_repeat_in_pairs_where_the_listing_says_so(faulty_sample, planted):
    (fault,) = of_rule(planted, "repeated-pairs")
    frame = pd.read_csv(faulty_sample.root / fault["file"])
    slots = pd.to_datetime(frame["Time"]).map(pd.Timestamp.timestamp).to_numpy().astype(int) // 15
    values = frame.iloc[:, 1:].to_numpy()
    changed = ~((values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1])))
    assert not changed[slots[1:] % 2 == 1].any()
    assert changed[1::2].any(axis=1).mean() > 0.9


def test_the_mixed_node_is_of_type_a_for_all_but_one_row(faulty_sample, planted):
    (fault,) = of_rule(planted, "mixed-type-node")
    frame = pd.read_csv(faulty_sample.root / fault["file"])
    node = frame[frame["node"] == frame["node"].iloc[fault["row"] - 1]]
    assert node["Memory_Power"].isna().sum() == node["CPU_Power"].isna().sum() == 1
    assert len(node) > 2


def test_faults_leave_the_healthy_files_as_they_are(faulty_sample, tmp_path):
    write_sample(tmp_path / "healthy", SampleOptions(rows=120))
    changed = set()
    for path in (tmp_path / "healthy").rglob("*.csv"):
        name = path.relative_to(tmp_path / "healthy")
        if (faulty_sample.root / name).read_bytes() != path.read_bytes():
            changed.add(name.name)
    assert changed == {"GPU_AB_Power.csv"}


def test_a_sample_of_one_metric_still_has_every_fault(tmp_path, planted):
    options = SampleOptions(rows=30, clusters=("kalos",), metrics=("GPU_UTIL",), faults=True)
    report = write_sample(tmp_path / "s", options)
    assert {fault.rule for fault in report.faults} == {fault["rule"] for fault in planted}
    assert all((tmp_path / "s" / fault.file).exists() for fault in report.faults)


def test_a_sample_without_faults_lists_none(tmp_path):
    report = write_sample(tmp_path / "s", replace(SampleOptions(rows=1), metrics=("GPU_UTIL",)))
    assert report.faults == ()
    assert not (tmp_path / "s" / "planted_faults.json").exists()
