"""What telemetry means for a cluster follows from the tables of a run as plain loops reckon it."""

from __future__ import annotations

from collections import Counter, defaultdict

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.summaries import Entities, Episodes, Hourly
from schemas.telemetry import TELEMETRY_TABLES
from tasks.outputs.typed import table_bytes
from tasks.telemetry.entities import extremes, idle
from tasks.telemetry.faults import fault_codes, fault_hours
from tasks.telemetry.hours import cluster_hours, energy
from tasks.telemetry.tables import telemetry_tables

START = pd.Timestamp("2023-05-31 20:00", tz="UTC")
HOUR = pd.Timedelta(hours=1)
FEW = settings(max_examples=40)


@st.composite
def entity_tables(draw: st.DrawFn) -> pd.DataFrame:
    rows = []
    for metric in ("GPU_UTIL", "GPU_TEMP", "POWER_USAGE", "FB_USED"):
        for number in range(draw(st.integers(0, 5))):
            count = draw(st.integers(0, 50))
            zeros = draw(st.integers(0, count))
            value = draw(st.integers(0, 400))
            rows.append(
                {
                    "cluster": draw(st.sampled_from(["a", "b"])),
                    "metric": metric,
                    "entity": f"n{number // 2}-{number % 2}",
                    "node": f"n{number // 2}",
                    "count": count,
                    "blank": 3,
                    "mean": float(value) if count else None,
                    "min": 0.0 if count else None,
                    "max": float(value + draw(st.integers(0, 9))) if count else None,
                    "zero_share": zeros / count if count else None,
                }
            )
    columns = list(Entities.to_schema().columns)
    table = pd.DataFrame(rows, columns=columns)
    floats = dict.fromkeys(("mean", "min", "max", "zero_share"), "float64")
    return table.astype({"count": "int64", "blank": "int64", **floats}).drop_duplicates(
        ["cluster", "metric", "entity"]
    )


@FEW
@given(table=entity_tables())
def test_idle_shares_are_those_of_a_plain_count(table: pd.DataFrame):
    rows = [r for r in table.to_dict("records") if r["metric"] == "GPU_UTIL" and r["count"]]
    found = idle(table) if len(table) else pd.DataFrame(columns=["level"])
    gpus = {(r["cluster"], r["entity"]): r for r in found[found["level"] == "gpu"].to_dict("records")}
    assert len(gpus) == len(rows)
    by_node: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for row in rows:
        assert gpus[row["cluster"], row["entity"]]["idle_share"] == pytest.approx(row["zero_share"])
        by_node[row["cluster"], row["node"]].append(row)
    nodes = {(r["cluster"], r["entity"]): r for r in found[found["level"] == "node"].to_dict("records")}
    assert set(nodes) == set(by_node)
    for key, members in by_node.items():
        samples = sum(row["count"] for row in members)
        idle_samples = sum(row["zero_share"] * row["count"] for row in members)
        assert nodes[key]["idle_share"] == pytest.approx(idle_samples / samples)
        assert nodes[key]["gpus"] == len(members)
        busy = sum(row["mean"] * row["count"] for row in members)
        assert nodes[key]["utilisation_pct"] == pytest.approx(busy / samples)


@FEW
@given(table=entity_tables(), top=st.integers(1, 3))
def test_extremes_are_the_first_of_a_plain_sort(table: pd.DataFrame, top: int):
    if table.empty:
        return
    found = extremes(table, top)
    for by in ("mean", "max"):
        groups: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        for row in table.to_dict("records"):
            if row["metric"] in ("GPU_TEMP", "POWER_USAGE") and row["count"]:
                groups[row["cluster"], row["metric"]].append((-row[by], row["entity"]))
        for (cluster, metric), members in groups.items():
            mine = found[(found["cluster"] == cluster) & (found["metric"] == metric) & (found["by"] == by)]
            assert mine["entity"].tolist() == [name for _, name in sorted(members)[:top]]
            assert mine["rank"].tolist() == list(range(1, len(mine) + 1))
    assert set(found["metric"]) <= {"GPU_TEMP", "POWER_USAGE"}


@st.composite
def hour_tables(draw: st.DrawFn) -> pd.DataFrame:
    rows = [
        {
            "cluster": "a",
            "metric": metric,
            "hour": START + hour * HOUR,
            "count": draw(st.integers(1, 500)),
            "mean": float(draw(st.integers(0, 5000))),
        }
        for metric in ("GPU_UTIL", "SERVER_POWER_GPU", "SERVER_POWER.rack7", "CPU_POWER", "POWER_USAGE")
        for hour in sorted(draw(st.sets(st.integers(0, 9), max_size=6)))
    ]
    table = pd.DataFrame(rows, columns=["cluster", "metric", "hour", "count", "mean"])
    table["min"] = table["max"] = table["mean"]
    return table.astype({"hour": "datetime64[ms, UTC]", "count": "int64", "mean": "float64"})


@FEW
@given(table=hour_tables(), pue=st.sampled_from([1.0, 1.25]), factor=st.sampled_from([0.0, 0.478]))
def test_energy_is_power_times_the_time_that_samples_cover(table: pd.DataFrame, pue: float, factor: float):
    step = {"SERVER_POWER_GPU": 300.0, "SERVER_POWER.rack7": 60.0}
    intervals = {("a", metric): step.get(metric, 15.0) for metric in table["metric"].unique()}
    found = energy(table, intervals, pue, factor) if len(table) else pd.DataFrame(columns=["metric"])
    expected: dict[tuple[str, str], float] = defaultdict(float)
    for row in table.to_dict("records"):
        if row["metric"] in ("SERVER_POWER_GPU", "SERVER_POWER.rack7", "POWER_USAGE"):
            joules = row["mean"] * row["count"] * intervals["a", row["metric"]]
            for month in (f"{row['hour']:%Y-%m}", "all"):
                expected[row["metric"], month] += joules / 3.6e6
    assert {(r["metric"], r["month"]) for r in found.to_dict("records")} == set(expected)
    for row in found.to_dict("records"):
        kwh = expected[row["metric"], row["month"]]
        assert row["kwh"] == pytest.approx(kwh)
        assert row["kwh_with_pue"] == pytest.approx(kwh * pue)
        assert row["emissions_t"] == pytest.approx(kwh * pue * factor / 1000)
        assert row["mean_w"] == pytest.approx(kwh * 1000 / row["entity_hours"])


def test_a_full_hour_of_samples_is_so_many_entities_that_report():
    table = pd.DataFrame(
        {
            "cluster": "a",
            "metric": ["GPU_UTIL", "POWER_USAGE"],
            "hour": pd.Series([START, START], dtype="datetime64[ms, UTC]"),
            "count": [240 * 8, 120 * 8],
            "mean": [50.0, 300.0],
            "min": 0.0,
            "max": 1.0,
        }
    )
    found = cluster_hours(table, {("a", "GPU_UTIL"): 15.0, ("a", "POWER_USAGE"): 15.0})
    assert found["reporting"].tolist() == [8, 4]
    assert found["total"].isna().tolist() == [True, False]
    assert found["total"].iloc[1] == 1200


@st.composite
def episode_tables(draw: st.DrawFn) -> pd.DataFrame:
    rows = []
    for number in range(draw(st.integers(1, 12))):
        onset = START + draw(st.integers(0, 12)) * pd.Timedelta(minutes=20)
        rows.append(
            {
                "cluster": draw(st.sampled_from(["a", "b"])),
                "metric": "XID_ERRORS",
                "entity": f"n-{draw(st.integers(0, 3))}",
                "node": "n",
                "value": draw(st.sampled_from([31.0, 43.0])),
                "onset": onset,
                "end": onset + number * pd.Timedelta(minutes=1),
                "samples": 1 + number,
                "onset_seen": draw(st.booleans()),
            }
        )
    return pd.DataFrame(rows).astype({"onset": "datetime64[ms, UTC]", "end": "datetime64[ms, UTC]"})


@FEW
@given(table=episode_tables())
def test_faults_are_counted_by_code_and_hour_as_a_plain_loop_does(table: pd.DataFrame):
    found = {(r["cluster"], r["value"]): r for r in fault_codes(table).to_dict("records")}
    groups: dict[tuple[str, float], list[dict[str, object]]] = defaultdict(list)
    for row in table.to_dict("records"):
        groups[row["cluster"], row["value"]].append(row)
    assert set(found) == set(groups)
    for key, rows in groups.items():
        bursts = Counter(row["onset"] for row in rows)
        largest = max(bursts.values())
        assert found[key]["onsets"] == sum(bool(row["onset_seen"]) for row in rows)
        assert found[key]["at_first_sample"] == len(rows) - found[key]["onsets"]
        assert found[key]["entities"] == len({row["entity"] for row in rows})
        assert found[key]["largest_burst"] == largest
        assert found[key]["burst_at"] == min(at for at, size in bursts.items() if size == largest)
    seen = Counter(
        (row["cluster"], row["value"], row["onset"].floor("h"))
        for row in table.to_dict("records")
        if row["onset_seen"]
    )
    hours = {
        (r["cluster"], r["value"], r["hour"]): r["onsets"] for r in fault_hours(table).to_dict("records")
    }
    assert hours == dict(seen)


@settings(max_examples=12)
@given(entities=entity_tables(), hourly=hour_tables(), episodes=episode_tables())
def test_all_tables_hold_their_contracts_also_without_rows(entities, hourly, episodes):
    intervals = {("a", metric): 15.0 for metric in hourly["metric"].unique()}
    for tables in (
        telemetry_tables(entities, hourly, episodes, intervals),
        telemetry_tables(entities[:0], hourly[:0], episodes[:0], {}),
    ):
        assert set(tables) == set(TELEMETRY_TABLES)
        for path, rows in tables.items():
            assert table_bytes(TELEMETRY_TABLES[path], rows)


@settings(max_examples=12)
@given(entities=entity_tables(), hourly=hour_tables(), episodes=episode_tables())
def test_the_random_tables_are_of_the_forms_that_a_run_writes(entities, hourly, episodes):
    for model, table in ((Entities, entities), (Episodes, episodes), (Hourly, hourly)):
        if len(table):
            model.validate(table[list(model.to_schema().columns)])
