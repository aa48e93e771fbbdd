"""One metric from a real Prometheus to a file: the cells are those that the samples give, in plain pandas."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.metrics import CATALOGUE, Metric
from schemas.prometheus import PrometheusQuery
from tasks.prometheus.spans import Span
from tests.doubles import fleet
from tests.doubles.prometheus import Prometheus, Sampled, prometheus
from tests.tasks.prometheus.conftest import PERIOD, Export

TIMES = range(PERIOD.start_s, PERIOD.last_s + 1, PERIOD.step_s)


def table(folder: Path, metric: str) -> pd.DataFrame:
    frame = pd.read_csv(folder / f"data/utilization/mine/{metric}.csv", index_col="Time")
    frame.index = pd.to_datetime(frame.index).map(lambda time: int(time.timestamp()))
    return frame


def node_table(name: str, of: str, **labels: str) -> pd.DataFrame:
    """What a selector or `rate` gives for the series of a node metric, a column a series."""
    found = {}
    for one in fleet.nodes():
        if one.name == name and labels.items() <= one.labels.items():
            values = fleet.instant(list(one.points), TIMES)
            if of == "rate":
                values = fleet.rate(list(one.points), TIMES, 60)
            rest = tuple(text for key, text in one.labels.items() if key not in ("instance", "job"))
            found[(one.labels["instance"].removesuffix(":9100"), *rest)] = values
    return pd.DataFrame(found, index=list(TIMES))


@pytest.mark.parametrize("metric", ["GPU_UTIL", "POWER_USAGE", "FB_USED", "SM_ACTIVE"])
def test_gpu_cells_are_the_samples(
    metric: str, monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    known = CATALOGUE[metric]
    expected = fleet.expected_gpus(str(known.field), TIMES, known.scale, known.decimals or 0)
    result = export(monitored.url, metric)
    got = table(tmp_path, metric)
    assert set(got.columns) == set(expected.columns)
    pd.testing.assert_frame_equal(
        got, expected[list(got.columns)], check_exact=True, check_names=False, check_index_type=False
    )
    assert (result.entities, result.rows) == (len(expected.columns), len(expected))
    assert result.values == int(expected.notna().to_numpy().sum())
    assert result.blanks == int(expected.isna().to_numpy().sum())
    assert result.conflicts == 0
    assert not result.suspicious


def test_busy_cpu_survives_a_restart_of_the_node(
    monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    export(monitored.url, "NODE_CPU_UTILIZATION")
    got = table(tmp_path, "NODE_CPU_UTILIZATION")
    idle = node_table("node_cpu_seconds_total", "rate", mode="idle")
    expected = ((1 - idle.T.groupby(level=0).mean().T) * 100).round(3).dropna(how="all")
    assert list(got.columns) == ["10.0.0.1", "10.0.0.2"]
    assert np.allclose(got, expected, rtol=0, atol=0.00101)
    assert got.max().max() <= 100
    assert got.min().min() >= -20


def test_memory_in_use_is_what_is_not_available(
    monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    export(monitored.url, "NODE_MEMORY_UTILIZATION")
    free = node_table("node_memory_MemAvailable_bytes", "instant").T.groupby(level=0).first().T
    expected = np.round((1 - free / (1024**3 * 512)) * 100, 3) + 0.0
    got = table(tmp_path, "NODE_MEMORY_UTILIZATION")
    assert np.array_equal(got, expected.dropna(how="all"))


def test_infiniband_ports_of_a_node_add_up_in_mb_a_second(
    monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    result = export(monitored.url, "NODE_IB_SEND")
    sent = node_table("node_infiniband_port_data_transmitted_bytes_total", "rate")
    expected = (sent.T.groupby(level=0).sum(min_count=1).T / 1e6).dropna(how="all")
    assert np.allclose(table(tmp_path, "NODE_IB_SEND"), expected, rtol=1e-9, atol=0.00051)
    assert result.unit == "MB/s"


def test_power_of_a_server_is_its_own_total_or_its_largest_sensor(
    monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    export(monitored.url, "NODE_POWER")
    expected = {}
    for one in fleet.nodes():
        if one.name == "ipmi_dcmi_power_consumption_watts" or one.labels.get("name") == "Pwr":
            node = one.labels["instance"].removesuffix(":9100")
            expected[node] = fleet.instant(list(one.points), TIMES)
    frame = pd.DataFrame(expected, index=list(TIMES)).dropna(how="all")
    assert np.array_equal(table(tmp_path, "NODE_POWER"), frame)


def test_a_metric_the_server_does_not_have_is_absent(
    monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    result = export(monitored.url, "MEM_CLOCK")
    assert (result.status, result.file) == ("absent", None)
    assert "no sample" in result.reason
    assert not (tmp_path / "data").exists()


def test_rates_that_no_window_holds_two_samples_for_name_the_window(
    monitored: Prometheus, export: Export
) -> None:
    rare = CATALOGUE["NODE_IB_SEND"].model_copy(
        update={"prometheus": PrometheusQuery(query="rate(node_cpu_seconds_total[{step}])")}
    )
    result = export(monitored.url, rare)
    assert result.status == "absent"
    assert "--window" in result.reason


def test_a_coarser_step_takes_every_fourth_row(monitored: Prometheus, export: Export, tmp_path: Path) -> None:
    export(monitored.url, "POWER_USAGE")
    fine = table(tmp_path, "POWER_USAGE")
    export(monitored.url, "POWER_USAGE", Span(PERIOD.start_s, PERIOD.rows // 4, 60))
    coarse = table(tmp_path, "POWER_USAGE")
    assert coarse.index.isin(fine.index).all()
    pd.testing.assert_frame_equal(coarse, fine.loc[coarse.index])
    assert (np.diff(coarse.index) == 60).all()


def of_gpu(metric: str, query: str, **more: object) -> Metric:
    return CATALOGUE[metric].model_copy(update={"prometheus": PrometheusQuery(query=query, **more)})


def test_two_gpus_of_one_name_fail_their_metric_and_are_named(
    monitored: Prometheus, export: Export, tmp_path: Path
) -> None:
    twice = of_gpu("GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL", entity=("{Hostname}", "{instance}"))
    result = export(monitored.url, twice)
    assert (result.status, result.suspicious) == ("failed", True)
    assert 'gpu="0"' in result.reason
    assert 'gpu="1"' in result.reason
    assert not (tmp_path / "data").exists()


def test_a_query_the_server_refuses_fails_its_metric(monitored: Prometheus, export: Export) -> None:
    result = export(monitored.url, of_gpu("GPU_UTIL", "rate(DCGM_FI_DEV_GPU_UTIL"))
    assert result.status == "failed"
    assert "parse error" in result.reason


def test_no_number_infinity_and_pods_that_disagree_are_blank_and_counted(
    export: Export, tmp_path: Path, monitored: Prometheus
) -> None:
    nan, inf = float("nan"), float("inf")
    labels = {"Hostname": "n", "gpu": "0"}
    name = "DCGM_FI_DEV_GPU_TEMP"
    series = [
        Sampled(name, labels, fleet.points([50, nan, 52, inf, -inf, 55])),
        Sampled(name, {**labels, "gpu": "1"}, fleet.points([nan, nan, nan])),
        # A server without staleness marks shows the old pod for five minutes beside the new one.
        Sampled(name, {**labels, "gpu": "2", "exported_pod": "old"}, fleet.points([40] * 4)),
        Sampled(name, {**labels, "gpu": "2", "exported_pod": "new"}, fleet.points([40, 41, 42], first=4)),
    ]
    with prometheus(tmp_path / "server", series) as server:
        result = export(server.url, "GPU_TEMP", Span(fleet.START, 8, 15))
    got = table(tmp_path, "GPU_TEMP")
    assert list(got.columns) == ["n-0", "n-2"]
    assert np.array_equal(got["n-0"].to_numpy(), np.array([50, nan, 52, nan, nan, 55, 55]), equal_nan=True)
    assert np.array_equal(got["n-2"].to_numpy(), np.array([40, 40, 40, 40, 40, nan, nan]), equal_nan=True)
    assert (result.infinite, result.conflicts) == (2, 2)
    assert result.not_numbers >= 4
    assert 'exported_pod="old"' in result.conflict
    assert result.suspicious


def test_a_query_may_end_in_a_comment(monitored: Prometheus, export: Export) -> None:
    assert export(monitored.url, of_gpu("GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL # of all")).status == "exported"


_REAL = (
    "v1.35_ericsson-ccd_accelerator_metrics.prom",
    "v1.35_rafay_accelator_metrics.prom",
    "v1.35_upcloud_accelerator-metrics.prom",
    "v1.36_vks_accelerator_metrics.prom",
)
_LINE = re.compile(r"^(DCGM_\w+)\{(.*)\} ([0-9.]+)$", re.MULTILINE)


def test_gpus_of_real_scrapes_are_exported_with_their_values(
    real: Path, export: Export, tmp_path: Path, monitored: Prometheus
) -> None:
    series = []
    for file in _REAL:
        for name, labels, value in _LINE.findall((real / "dcgm_exporter" / file).read_text()):
            found = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            series.append(Sampled(name, found, fleet.points([float(value)] * 3)))
    with prometheus(tmp_path / "server", series) as server:
        for metric in ("POWER_USAGE", "GPU_TEMP", "FB_USED", "DRAM_ACTIVE", "MEM_CLOCK"):
            assert export(server.url, metric, Span(fleet.START, 4, 15)).status == "exported"
    last = pd.DataFrame(
        {path.stem: table(tmp_path, path.stem).iloc[-1] for path in tmp_path.glob("data/**/*.csv")}
    )
    assert last.loc["cp-bm14r7-0"].to_dict() == {
        "POWER_USAGE": 68.2,
        "GPU_TEMP": 74.0,
        "FB_USED": 5120.0,
        "DRAM_ACTIVE": 9.278,
        "MEM_CLOCK": 5000.0,
    }
    assert set(last.index) == {
        "cp-bm14r7-0",
        "ip-10-200-3-41-0",
        "gpu1-wl8sg-0",
        "conformance-test-np1-qcqc8-bpdtl-wv2gs-0",
    }
    assert np.isnan(last.loc["conformance-test-np1-qcqc8-bpdtl-wv2gs-0", "POWER_USAGE"])
