"""The summary tables: explicit types, one order, the same bytes from the same summaries."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import AcmetraceError, UsageError
from schemas.summaries import OF_THE_METRIC, Curves, Entities, Episodes, Hourly
from tasks.outputs.tables import SUMMARY_TABLES, TABLES, build_tables
from tasks.series.summary import SeriesSummary

CURVES, ENTITIES, HOURLY, EPISODES = SUMMARY_TABLES


def frame(data: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(data))


def schema(data: bytes) -> pa.Schema:
    return pq.read_schema(pa.BufferReader(data))


def test_the_tables_are_those_of_the_layout(summaries: list[SeriesSummary]) -> None:
    assert list(build_tables(summaries)) == [
        "summaries/curves.parquet",
        "summaries/entities.parquet",
        "summaries/hourly.parquet",
        "summaries/episodes.parquet",
        "telemetry/idle.parquet",
        "telemetry/extremes.parquet",
        "telemetry/cluster_hours.parquet",
        "telemetry/energy.parquet",
        "telemetry/fault_codes.parquet",
        "telemetry/fault_hours.parquet",
    ]


def test_written_tables_keep_their_contracts(summaries: list[SeriesSummary]) -> None:
    for path, data in build_tables(summaries).items():
        assert len(TABLES[path].validate(frame(data))) > 0


def test_no_summary_gives_empty_tables_with_all_columns_and_types(summaries: list[SeriesSummary]) -> None:
    filled = build_tables(summaries)
    for path, data in build_tables([]).items():
        assert len(frame(data)) == 0
        assert schema(data).equals(schema(filled[path]), check_metadata=False)
        TABLES[path].validate(frame(data))


def test_failed_series_leave_no_row_and_do_not_spoil_types(
    summaries: list[SeriesSummary], make_summary: Callable[..., SeriesSummary]
) -> None:
    failed = make_summary("aaa", "GPU_TEMP", samples=(), verdict="failed")
    with_failed, without = build_tables([failed, *summaries]), build_tables(summaries)
    for path in TABLES:
        assert frame(with_failed[path]).equals(frame(without[path]))


def test_the_same_summaries_give_the_same_bytes_in_any_order(summaries: list[SeriesSummary]) -> None:
    expected = build_tables(summaries)
    for seed in range(3):
        shuffled = random.Random(seed).sample(summaries, len(summaries))
        turned = [
            replace(
                s,
                entities=s.entities[::-1],
                hourly=s.hourly[::-1],
                curves=s.curves[::-1],
                episodes=s.episodes[::-1],
            )
            for s in shuffled
        ]
        assert build_tables(turned) == expected


@pytest.mark.parametrize(
    ("path", "order"),
    [
        (CURVES, ["cluster", "metric", "period", "level_pct"]),
        (ENTITIES, ["cluster", "metric", "entity"]),
        (HOURLY, ["cluster", "metric", "hour"]),
        (EPISODES, ["cluster", "metric", "onset", "entity"]),
    ],
)
def test_rows_are_sorted(summaries: list[SeriesSummary], path: str, order: list[str]) -> None:
    keys = list(frame(build_tables(summaries)[path])[order].itertuples(index=False, name=None))
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_curves_hold_every_level_and_value_bit_for_bit(make_summary: Callable[..., SeriesSummary]) -> None:
    summary = make_summary("kalos", "FB_USED", samples=(0.1, 17.3, 81_920.0))
    rows = frame(build_tables([summary])[CURVES])
    for curve in summary.curves:
        mine = rows[(rows["metric"] == curve.metric) & (rows["period"] == curve.period)]
        assert mine["value"].to_numpy().tobytes() == curve.values.tobytes()
        assert mine["level_pct"].to_numpy().tobytes() == (np.linspace(0, 1, 1000) * 100).tobytes()


def test_columns_carry_types_units_and_meaning(summaries: list[SeriesSummary]) -> None:
    tables = build_tables(summaries)
    assert schema(tables[HOURLY]).field("hour").type == pa.timestamp("ms", tz="UTC")
    assert schema(tables[ENTITIES]).field("count").type == pa.int64()
    level, value = (schema(tables[CURVES]).field(name) for name in ("level_pct", "value"))
    assert level.metadata
    assert value.metadata
    assert level.metadata[b"unit"] == b"%"
    assert not level.nullable
    assert value.metadata[b"unit"] == OF_THE_METRIC.encode()
    assert value.metadata[b"description"]


def test_the_unit_of_each_metric_is_in_the_file(summaries: list[SeriesSummary]) -> None:
    units = json.loads(schema(build_tables(summaries)[CURVES]).metadata[b"units"])
    assert units["POWER_USAGE"] == "W"
    assert units["FB_USED"] == "MiB"
    assert units["FB_USED_PCT"] == "%"


def test_columns_are_compressed_with_zstd(summaries: list[SeriesSummary]) -> None:
    column = pq.ParquetFile(pa.BufferReader(build_tables(summaries)[CURVES])).metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"


def test_an_entity_without_a_value_has_no_mean(make_summary: Callable[..., SeriesSummary]) -> None:
    summary = make_summary()
    blank = summary.entities.assign(count=0, mean=np.nan, min=np.nan, max=np.nan, zero_share=np.nan)
    table = pq.read_table(pa.BufferReader(build_tables([replace(summary, entities=blank)])[ENTITIES]))
    assert table["mean"].null_count == table.num_rows == 2


@pytest.mark.parametrize("change", [{"count": -1}, {"zero_share": 1.5}, {"node": None}, {"extra": 1}])
def test_rows_that_break_the_contract_are_not_written(
    make_summary: Callable[..., SeriesSummary], change: dict[str, Any]
) -> None:
    summary = make_summary()
    with pytest.raises(AcmetraceError, match="table Entities breaks its contract"):
        build_tables([replace(summary, entities=summary.entities.assign(**change))])


def test_one_curve_from_two_series_is_refused(make_summary: Callable[..., SeriesSummary]) -> None:
    one = make_summary()
    other = replace(one, record=one.record.model_copy(update={"series": "GPU_UTIL_2"}))
    with pytest.raises(UsageError, match="Two series give a curve"):
        build_tables([one, other])


def test_every_model_is_a_table() -> None:
    assert set(SUMMARY_TABLES.values()) == {Curves, Entities, Hourly, Episodes}
