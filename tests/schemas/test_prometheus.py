"""How metrics are asked of a server: every built-in one, and those of a user's TOML file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.errors import UsageError
from schemas.metrics import CATALOGUE, EXPORT_ONLY, Metric, load_catalogue
from schemas.prometheus import GPU_ENTITY, PrometheusQuery
from schemas.series import SeriesContract


def load(folder: Path, text: str) -> dict[str, Metric]:
    (folder / "metrics.toml").write_text(text)
    return dict(load_catalogue(folder / "metrics.toml"))


def test_every_metric_of_the_catalogue_can_be_exported() -> None:
    for name, metric in {**CATALOGUE, **EXPORT_ONLY}.items():
        assert metric.prometheus is not None, name
        assert str(metric.field).split("_")[0] in metric.prometheus.query, name


def test_dcgm_fields_are_asked_for_by_their_name() -> None:
    found = CATALOGUE["SM_ACTIVE"].prometheus
    assert found == PrometheusQuery(query="DCGM_FI_PROF_SM_ACTIVE", entity=GPU_ENTITY)


def test_step_and_window_are_put_into_the_query() -> None:
    query = PrometheusQuery(query='max_over_time(x{mode="idle"}[{step}]) + rate(y[{window}])')
    assert query.text(15, 60) == 'max_over_time(x{mode="idle"}[15s]) + rate(y[60s])'


def test_a_metric_of_ones_own_is_asked_for_as_its_file_says(tmp_path: Path) -> None:
    metric = load(
        tmp_path,
        """
[RACK_POWER]
meaning = "power of a rack"
unit = "W"
entity = "any"
decimals = 1
[RACK_POWER.prometheus]
query = "sum by (rack) (rate(energy_joules[{window}]))"
entity = "{rack}[-{room}]"
scale = 1
""",
    )["RACK_POWER"]
    assert metric.prometheus is not None
    assert metric.prometheus.entity == ("{rack}[-{room}]",)
    assert metric.decimals == 1


def test_only_the_query_of_a_known_metric_can_be_changed(tmp_path: Path) -> None:
    changed = load(tmp_path, "[GPU_UTIL.prometheus]\nentity = ['{host}-{gpu}', '{instance}-{gpu}']\n")
    was, now = CATALOGUE["GPU_UTIL"], changed["GPU_UTIL"]
    assert now.prometheus == PrometheusQuery(
        query="DCGM_FI_DEV_GPU_UTIL", entity=("{host}-{gpu}", "{instance}-{gpu}")
    )
    assert now.model_dump() == was.model_dump()
    assert now == was, "a record of it is the same"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[P.prometheus]\nentity = '{a}'\n", "query"),
        ("[P.prometheus]\nquery = ''\n", "query"),
        ("[P.prometheus]\nquery = 'x[{steps}]'\n", "{steps}"),
        ("[P.prometheus]\nquery = 'x'\nentity = 'host'\n", "template"),
        ("[P.prometheus]\nquery = 'x'\nentity = '{host'\n", "template"),
        ("[P.prometheus]\nquery = 'x'\nentity = '{host}[.a]'\n", "template"),
        ("[P.prometheus]\nquery = 'x'\nscale = inf\n", "scale"),
        ("[P.prometheus]\nquery = 'x'\nqueries = 'y'\n", "queries"),
        ("[GPU_UTIL.prometheus]\nquerry = 'y'\n", "querry"),
        ("[P]\nprometheus = 'x'\n", "prometheus"),
    ],
)
def test_what_is_wrong_with_a_query_is_said_with_its_metric(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    assert says in str(caught.value)
    assert "metrics.toml" in str(caught.value)
    assert "[GPU_UTIL]" in str(caught.value) or "[P]" in str(caught.value)


def test_what_a_run_records_does_not_know_of_queries() -> None:
    contract = SeriesContract(metric=CATALOGUE["GPU_UTIL"])
    assert "rometheus" not in contract.model_dump_json()
    assert "rometheus" not in json.dumps(SeriesContract.model_json_schema(mode="serialization"))
