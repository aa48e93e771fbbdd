"""Names of entities: from the labels a site has, unique, and fit for a column."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schemas.errors import EntityUnclear
from schemas.prometheus import GPU_ENTITY, NODE_ENTITY
from tasks.prometheus.labels import differ_in_passing, entity_of, natural_key


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"Hostname": "gpu1-wl8sg", "gpu": "3", "instance": "10.42.0.7:9400"}, "gpu1-wl8sg-3"),
        ({"instance": "10.0.9.4:9400", "gpu": "0"}, "10.0.9.4-0"),
        ({"instance": "node-7", "gpu": "0"}, "node-7-0"),
        ({"instance": "[fd00::7]:9400", "gpu": "0"}, "fd00::7-0"),
        ({"instance": "fd00::7", "gpu": "0"}, "fd00::7-0"),
        ({"node": "worker-1", "gpu": "0", "instance": "10.0.0.1:1"}, "worker-1-0"),
        ({"kubernetes_node": "worker-1", "gpu": "0", "instance": "10.0.0.1:1"}, "worker-1-0"),
        ({"Hostname": "a", "gpu": "0", "GPU_I_ID": "5"}, "a-0:5"),
    ],
)
def test_a_gpu_is_named_by_the_first_labels_that_are_there(labels: dict[str, str], name: str) -> None:
    assert entity_of(labels, GPU_ENTITY) == name


def test_every_gpu_of_the_real_scrapes_has_a_name(real: Path) -> None:
    names = set()
    for file in sorted((real / "dcgm_exporter").glob("*.prom")):
        for found in re.findall(r"^DCGM_\w+\{([^.}]*(?:\.[^.}]+)*)\} ", file.read_text(), re.MULTILINE):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', found))
            if "Hostname" in labels:
                names.add(entity_of(labels, GPU_ENTITY))
    assert {"cp-bm14r7-0", "i-030791dc5a37cd257-0", "ip-10-200-3-41-0", "gpu1-wl8sg-0"} <= names
    assert "conformance-test-np1-qcqc8-bpdtl-wv2gs-0" in names


def test_a_node_is_named_without_its_port() -> None:
    assert entity_of({"instance": "10.0.0.1:9100"}, NODE_ENTITY) == "10.0.0.1"


def test_who_has_no_such_label_is_told_which_are_expected() -> None:
    with pytest.raises(EntityUnclear) as caught:
        entity_of({"host": "a"}, GPU_ENTITY)
    assert 'host="a"' in str(caught.value)
    assert "{Hostname}-{gpu}" in str(caught.value)
    assert "--catalogue" in caught.value.hint


@pytest.mark.parametrize("value", ["a\nb", "a\x00", " ", "x" * 600])
def test_a_name_that_no_column_can_have_is_refused(value: str) -> None:
    with pytest.raises(EntityUnclear):
        entity_of({"host": value}, ("{host}",))


def test_pods_come_and_go_while_the_gpu_stays() -> None:
    gpu = {"Hostname": "a", "gpu": "0", "UUID": "GPU-1"}
    assert differ_in_passing({**gpu, "exported_pod": "x"}, {**gpu, "exported_pod": "y", "container": "c"})
    assert not differ_in_passing(gpu, {**gpu, "UUID": "GPU-2"})


def test_nodes_are_in_the_order_of_their_numbers() -> None:
    assert sorted(["n10-0", "n2-1", "n2-0", "a"], key=natural_key) == ["a", "n2-0", "n2-1", "n10-0"]
