"""Summaries of IPMI files: curves equal to pandas, types per node, findings with their places."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.ipmi import COMPONENT_COLUMNS, node_address
from schemas.series import Thresholds
from schemas.summaries import Entities, Hourly
from tasks.longform import IPMI, IpmiSeries, ipmi_contract, summarise_ipmi
from tasks.outputs.tables import build_tables
from tasks.series.curve import MARKS, published_levels
from tasks.series.head import read_head
from tasks.series.spec import spec_for
from tasks.series.units import ThreadExecutor, plan_file
from tasks.storage.source import stat_file

GPU = ("GPU_AB_Power", "GPU_C_Power")


def frame_of(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


def assert_curve(curve, values: pd.Series) -> None:
    values = values.dropna()
    assert np.array_equal(curve.values, values.quantile(published_levels()).to_numpy())
    assert list(curve.marks.values()) == values.quantile(list(MARKS)).tolist()
    assert curve.count == len(values)
    assert curve.zero_share == (values == 0).mean()


@pytest.fixture
def release(bench, rows_of) -> dict[str, str]:
    """The three released files, small: two A servers, one B, one C, two D."""
    rng = np.random.default_rng(11)

    def totals(n: int) -> list[str]:
        return [f"{w}.0" for w in rng.integers(700, 6500, n)]

    return {
        "CPU_D_Power": bench.header + rows_of("SH-IDC1-10-140-1-1", totals(30)) + rows_of("d2", totals(30)),
        "GPU_AB_Power": bench.header
        + rows_of("SH-IDC1-10-140-0-1", totals(40))
        + rows_of("a2", totals(40))
        + rows_of("b1", totals(40), [""] * 40),
        "GPU_C_Power": bench.header + rows_of("c1", totals(25)),
    }


def test_curves_equal_pandas_bit_for_bit(bench, release):
    curves = bench.curves(bench.summaries(release))
    ab, c, d = (frame_of(release[name]) for name in (*GPU, "CPU_D_Power"))
    total = "Sys_Total_Power"
    expected = {
        "SERVER_POWER_A": ab[total][ab["node"] != "b1"],
        "SERVER_POWER_B": ab[total][ab["node"] == "b1"],
        "SERVER_POWER_C": c[total],
        "SERVER_POWER_D": d[total],
        "SERVER_POWER_GPU": pd.concat([ab[total], c[total]]),
        "SERVER_POWER_CPU": d[total],
        "CPU_POWER": pd.concat([ab["CPU_Power"], c["CPU_Power"]]),
        "MEMORY_POWER": pd.concat([ab["Memory_Power"], c["Memory_Power"]]),
        "CPU_SERVER_CPU_POWER": d["CPU_Power"],
        "CPU_SERVER_MEMORY_POWER": d["Memory_Power"],
    }
    assert set(curves) == set(expected)
    for metric, values in expected.items():
        assert_curve(curves[metric], values)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.floats(-1e6, 1e6).map(repr) | st.integers(0, 30_000).map(str) | st.just(""),
        min_size=1,
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_a_curve_equals_pandas_for_any_values_in_any_order(bench, rows_of, totals, random):
    lines = rows_of("n", totals, [""] * len(totals)).splitlines(keepends=True)
    random.shuffle(lines)
    text = bench.header + "".join(lines)
    curves = bench.curves(bench.summaries({"GPU_C_Power": text}))
    values = frame_of(text)["Sys_Total_Power"].dropna()
    if len(values):
        assert_curve(curves["SERVER_POWER_GPU"], values)
    else:
        assert "SERVER_POWER_GPU" not in curves


def test_the_type_is_decided_by_node_and_deviant_rows_are_found(bench, rows_of):
    a = rows_of("a", [str(100 + i) for i in range(20)], ["60"] * 5 + ["", "60", ""] + ["60"] * 12)
    b = rows_of("b", [str(900 + i) for i in range(20)], [""] * 9 + ["60"] + [""] * 10)
    text = bench.header + a + b
    summaries = bench.summaries({"GPU_AB_Power": text})
    curves = bench.curves(summaries)
    assert (curves["SERVER_POWER_A"].values.min(), curves["SERVER_POWER_A"].values.max()) == (100, 119)
    assert (curves["SERVER_POWER_B"].values.min(), curves["SERVER_POWER_B"].values.max()) == (900, 919)
    (finding,) = find(summaries["GPU_AB_Power"], "mixed-type-node")
    assert finding.count == 3
    assert "21 rows would count as type B" in finding.message
    lines = text.splitlines(keepends=True)
    assert [(e.row, e.byte_offset) for e in finding.examples] == [
        (6, sum(map(len, lines[:6]))),
        (30, sum(map(len, lines[:30]))),
    ]


def find(summary, rule: str):
    return [finding for finding in summary.record.findings if finding.rule == rule]


def test_a_server_at_0_w_is_reported_and_kept(bench, rows_of):
    text = bench.header + rows_of("a", ["700", "0.0", "800"])
    summary = bench.summaries({"GPU_AB_Power": text})["GPU_AB_Power"]
    (finding,) = find(summary, "out-of-range")
    (example,) = finding.examples
    assert (example.row, example.column, example.value) == (2, "Sys_Total_Power", "0.0")
    assert text[example.byte_offset :].startswith("0.0,")
    (curve,) = (curve for curve in summary.curves if curve.metric == "SERVER_POWER_GPU")
    assert curve.values[0] == 0
    assert summary.record.verdict == "warned"
    assert (summary.record.observed.low, summary.record.observed.zero_share) == (0, 1 / 3)


def test_each_finding_says_row_and_offset(bench, rows_of):
    lines = [
        bench.header,
        *rows_of("a", ["700"] * 3).splitlines(keepends=True),
        "2023-06-01 00:10:00+08:00,a,700,200,50\n",
        "2023-06-01 00:00:00+08:00,a,700,200,50\n",
        "2023-06-01 06:00:00+08:00,a,700,200,50\n",
        "2023-06-01 06:05:00+08:00,a,oops,200,50\n",
        "2023-06-01 06:10:00+08:00,a,700,200\n",
        "never,a,700,200,50\n",
        "2023-06-01 06:20:00+08:00,,700,200,50\n",
    ]
    text = "".join(lines)
    record = bench.summaries({"GPU_C_Power": text})["GPU_C_Power"].record
    expected = {
        "duplicate-time": 4,
        "disordered-time": 5,
        "gap": 6,
        "bad-cell": 7,
        "ragged-row": 8,
        "bad-time": 9,
        "no-node": 10,
    }
    for rule, row in expected.items():
        (finding,) = (finding for finding in record.findings if finding.rule == rule)
        (example,) = finding.examples
        offset = text.index("oops") if rule == "bad-cell" else sum(map(len, lines[:row]))
        assert (rule, example.row, example.byte_offset) == (rule, row, offset)
    assert record.observed.missing_slots == 71
    assert record.entities == ("a",)


def test_missing_and_unknown_columns_are_named(bench, rows_of):
    head = "Time,node,Sys_Total_Power,CPU_Power,Fan_Speed\n"
    summary = bench.summaries({"GPU_AB_Power": head + rows_of("a", ["700"] * 3)})["GPU_AB_Power"]
    (missing,) = find(summary, "missing-column")
    assert missing.count == 8
    assert missing.examples[0].column == "Memory_Power"
    (odd,) = find(summary, "odd-column")
    assert [example.column for example in odd.examples] == ["Fan_Speed"]
    # Without readings of memory power, A and B cannot be told apart.
    assert {curve.metric for curve in summary.curves} == {"SERVER_POWER_GPU", "CPU_POWER"}


def test_wrong_interval_blank_column_and_low_coverage_are_found(bench, rows_of):
    text = bench.header + rows_of("a", [""] * 9 + ["700"], [""] * 10, step=1)
    summary = bench.summaries({"GPU_C_Power": text.replace(",200,", ",,")})["GPU_C_Power"]
    rules = {finding.rule for finding in summary.record.findings}
    assert rules >= {"wrong-interval", "blank-column", "low-coverage"}
    (blank,) = find(summary, "blank-column")
    assert [example.column for example in blank.examples] == ["CPU_Power", "Memory_Power"]


def test_jitter_of_seconds_is_no_wrong_interval(bench):
    rng = np.random.default_rng(5)
    at = pd.Timestamp("2023-06-01", tz="Asia/Shanghai") + pd.to_timedelta(
        300 * np.arange(200) + rng.integers(0, 4, 200), unit="s"
    )
    text = bench.header + "".join(f"{time},a,700,200,50\n" for time in at)
    record = bench.summaries({"GPU_C_Power": text})["GPU_C_Power"].record
    assert {finding.rule for finding in record.findings} == {"missing-column"}


def test_a_failed_file_has_no_number_and_no_combined_curve_is_made(bench, rows_of, release):
    release["GPU_C_Power"] = bench.header + rows_of("c1", ["x"] * 5)
    summaries = bench.summaries(release)
    broken = summaries["GPU_C_Power"]
    assert broken.record.verdict == "failed"
    assert (broken.curves, len(broken.entities), len(broken.hourly)) == ((), 0, 0)
    assert set(bench.curves(summaries)) == {
        "SERVER_POWER_A",
        "SERVER_POWER_B",
        "SERVER_POWER_D",
        "SERVER_POWER_CPU",
        "CPU_SERVER_CPU_POWER",
        "CPU_SERVER_MEMORY_POWER",
    }
    assert len(summaries["GPU_AB_Power"].entities) == 9


def test_a_file_that_could_not_be_scanned_counts_as_failed(bench, release):
    del release["GPU_C_Power"]
    assert "SERVER_POWER_GPU" in bench.curves(bench.summaries(release))
    assert "SERVER_POWER_GPU" not in bench.curves(bench.summaries(release, failed=["GPU_C_Power"]))


def test_a_file_of_few_bad_cells_does_not_fail(bench, rows_of):
    text = bench.header + rows_of("c1", ["700"] * 400 + ["x"])
    assert bench.summaries({"GPU_C_Power": text})["GPU_C_Power"].record.verdict == "warned"
    strict = Thresholds(bad_cell_share=0.0005)
    record = bench.summaries({"GPU_C_Power": text}, thresholds=strict)["GPU_C_Power"].record
    assert record.verdict == "failed"
    (finding,) = (finding for finding in record.findings if finding.rule == "too-many-bad-cells")
    assert finding.examples[0].row == 401


def test_a_header_without_rows_is_no_data_and_breaks_nothing(bench, release):
    release["GPU_C_Power"] = bench.header
    summaries = bench.summaries(release)
    assert summaries["GPU_C_Power"].record.verdict == "no data"
    assert_curve(
        bench.curves(summaries)["SERVER_POWER_GPU"], frame_of(release["GPU_AB_Power"])["Sys_Total_Power"]
    )


def test_own_files_have_curves_of_their_own_name(bench, rows_of, release):
    text = bench.header + rows_of("a2", ["5", "6"])
    curves = bench.curves(bench.summaries({**release, "rack7": text, "rack 7": text}))
    own = {name for name in curves if "." in name}
    assert {name for name in own if name.endswith(".rack7")} == {
        "SERVER_POWER.rack7",
        "CPU_POWER.rack7",
        "MEMORY_POWER.rack7",
    }
    assert len(own) == 6
    assert_curve(curves["SERVER_POWER.rack7"], pd.Series([5.0, 6.0]))


def test_tables_hold_each_node_and_hour(bench, release):
    summaries = bench.summaries(release)
    build_tables(summaries.values())
    ab = frame_of(release["GPU_AB_Power"])
    entities = Entities.validate(summaries["GPU_AB_Power"].entities)
    assert sorted(entities["metric"].unique()) == ["CPU_POWER", "MEMORY_POWER", "SERVER_POWER"]
    rows = entities[entities["metric"] == "SERVER_POWER"].set_index("entity")
    by_node = ab.groupby("node")["Sys_Total_Power"]
    assert rows["mean"].to_dict() == by_node.mean().to_dict()
    assert rows["min"].to_dict() == by_node.min().to_dict()
    assert rows["max"].to_dict() == by_node.max().to_dict()
    assert rows.loc["SH-IDC1-10-140-0-1", "node"] == node_address("SH-IDC1-10-140-0-1") == "10.140.0.1"
    memory = entities[(entities["metric"] == "MEMORY_POWER") & (entities["entity"] == "b1")]
    assert memory[["count", "blank"]].to_numpy().tolist() == [[0, 40]]
    assert memory["mean"].isna().all()
    hourly = Hourly.validate(summaries["GPU_AB_Power"].hourly)
    power = hourly[hourly["metric"] == "SERVER_POWER_GPU"].set_index("hour")
    both = pd.concat([ab, frame_of(release["GPU_C_Power"])])
    hour = pd.to_datetime(both["Time"], utc=True).dt.floor("h")
    expected = both.groupby(hour)["Sys_Total_Power"].agg(["count", "mean", "min", "max"])
    assert power["count"].tolist() == expected["count"].tolist()
    assert power["mean"].tolist() == pytest.approx(expected["mean"].tolist(), rel=1e-15)
    assert power["max"].tolist() == expected["max"].tolist()
    assert not len(summaries["GPU_C_Power"].hourly)


def test_the_published_slice_gives_the_published_quantiles():
    root = os.environ.get("ACMETRACE_REAL")
    if not root:
        pytest.skip("ACMETRACE_REAL is not set: it names the folder with slices of the released files")
    name = "acmetrace/data/utilization/ipmi/GPU_AB_Power.csv"
    expected = json.loads((Path(root) / "expected.json").read_text())
    levels, facts = expected["quantile_levels"], expected["files"][name]
    head = read_head(stat_file(str(Path(root) / name)))
    spec = spec_for(ipmi_contract("GPU_AB_Power"), [head])
    tally = ThreadExecutor(1).run(plan_file(IPMI, head, spec, 150), None)
    (summary,) = summarise_ipmi("seren", [IpmiSeries("GPU_AB_Power", (head,), tally, spec)])
    assert summary.record.verdict == "passed"
    assert summary.record.observed.rows == facts["rows"]
    assert summary.record.observed.values == facts["non_null"]
    assert summary.record.observed.first_time == pd.Timestamp(facts["first_time"])
    curves = {curve.metric: curve for curve in summary.curves}
    named = {"Sys_Total_Power": "SERVER_POWER_GPU", **{name: name.upper() for name in COMPONENT_COLUMNS}}
    assert set(facts["by_column"]) == set(named)
    for column, known in facts["by_column"].items():
        curve = curves[named[column]]
        assert curve.count == known["non_null"]
        found = dict(zip(curve.levels.tolist(), curve.values.tolist(), strict=True)) | curve.marks
        assert [found[level] for level in levels] == known["quantiles"]
