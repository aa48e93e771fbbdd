"""The contract of a metric is the catalogue's, or an inferred one that says so."""

from __future__ import annotations

import pytest

from schemas.metrics import CATALOGUE, Metric
from schemas.series import Thresholds
from tasks.series.options import ScanOptions, contract_of
from tasks.storage.units import unit_key


def test_a_known_metric_has_its_entry() -> None:
    contract = contract_of("GPU_UTIL", ScanOptions(thresholds=Thresholds(bad_cell_share=0.5)))
    assert (contract.metric, contract.inferred) == (CATALOGUE["GPU_UTIL"], False)
    assert contract.thresholds.bad_cell_share == 0.5


@pytest.mark.parametrize("name", ["FAN_SPEED", "disk io", "9lives", "", "température"])
def test_an_unknown_metric_is_inferred(name: str) -> None:
    contract = contract_of(name, ScanOptions())
    assert contract.inferred
    assert (contract.metric.low, contract.metric.high, contract.metric.interval_s) == (None, None, None)


def test_a_given_catalogue_is_used_instead() -> None:
    fan = Metric(name="FAN", meaning="test", source="inferred", unit="rpm")
    assert not contract_of("FAN", ScanOptions(catalogue={"FAN": fan})).inferred
    assert contract_of("GPU_UTIL", ScanOptions(catalogue={"FAN": fan})).inferred


def test_key_parts_change_with_what_decides_a_summary_and_not_with_blocks() -> None:
    fan = Metric(name="FAN", meaning="test", source="inferred", unit="rpm")
    chosen = [
        ScanOptions(),
        ScanOptions(since_ms=1),
        ScanOptions(until_ms=1),
        ScanOptions(timezone="UTC"),
        ScanOptions(thresholds=Thresholds(gap_intervals=3)),
        ScanOptions(catalogue={"FAN": fan}),
    ]
    keys = {unit_key(**options.key_parts()) for options in chosen}
    assert len(keys) == len(chosen)
    assert unit_key(**ScanOptions(block_bytes=5).key_parts()) == unit_key(**ScanOptions().key_parts())
