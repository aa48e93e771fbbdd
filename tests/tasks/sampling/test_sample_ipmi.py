"""Generated IPMI files are long, node-major, every five minutes, and consistent."""

from __future__ import annotations

import pandas as pd
import pytest

from schemas.ipmi import COMPONENT_COLUMNS, IPMI_FILES, node_address
from tasks.sampling.fleet import ipmi_nodes, type_b_count

SUPPLIES = [f"PSU{n}_PIN" for n in range(1, 7)]


@pytest.mark.parametrize("stem", IPMI_FILES)
def test_columns_are_those_of_the_release(default_sample, stem):
    columns = list(default_sample.frame("ipmi", stem).columns)
    assert columns == ["Time", "node", "Sys_Total_Power", *COMPONENT_COLUMNS]


@pytest.mark.parametrize("stem", IPMI_FILES)
def test_rows_of_a_node_stand_together_in_order_of_time(default_sample, stem):
    frame = default_sample.frame("ipmi", stem)
    assert (frame["node"] != frame["node"].shift()).sum() == frame["node"].nunique()
    for _, rows in frame.groupby("node"):
        steps = pd.to_datetime(rows["Time"]).diff().dropna().dt.total_seconds()
        assert steps.min() > 290
        assert abs(steps.median() - 300) <= 4
        assert steps.nunique() > 1


@pytest.mark.parametrize("stem", IPMI_FILES)
def test_the_sum_of_the_supplies_is_their_sum_and_not_the_total(default_sample, stem):
    frame = default_sample.frame("ipmi", stem)
    assert (frame[SUPPLIES].sum(axis=1) == frame["PSU_IN_SUM"]).all()
    assert (frame["PSU_IN_SUM"] != frame["Sys_Total_Power"]).mean() > 0.9


def test_only_servers_of_type_b_lack_memory_power(default_sample):
    frame = default_sample.frame("ipmi", "GPU_AB_Power")
    blank_share = frame["Memory_Power"].isna().groupby(frame["node"]).mean()
    assert set(blank_share) == {0.0, 1.0}
    assert (blank_share == 0).sum() > (blank_share == 1).sum()
    assert frame.drop(columns="Memory_Power").notna().all(axis=None)
    assert default_sample.frame("ipmi", "GPU_C_Power").notna().all(axis=None)


@pytest.mark.parametrize("gpus", [8, 16, 24, 64, 1992])
def test_each_gpu_server_is_in_one_file_only_and_some_are_of_type_a(gpus):
    ab, c = (ipmi_nodes(stem, gpus) for stem in ("GPU_AB_Power", "GPU_C_Power"))
    assert len({*ab, *c}) == len(ab) + len(c) == max(2, gpus // 8)
    assert 0 <= type_b_count(gpus) < len(ab)


def test_gpu_servers_are_the_nodes_of_the_wide_files(default_sample):
    named = {
        node_address(node)
        for stem in ("GPU_AB_Power", "GPU_C_Power")
        for node in default_sample.frame("ipmi", stem)["node"]
    }
    assert named == set(default_sample.frame("seren", "NODE_MEMORY_UTILIZATION").columns[1:])
