"""The summary tables of a run as Parquet bytes.

The pandera models of `schemas.summaries` are the contract: they name the columns,
their types, units and meanings, and every table is checked against its model
before it is written. The same summaries give the same bytes, in whatever order
they come. Where the bytes go is in `tasks.outputs.run`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pyarrow
import pyarrow.parquet
from pandera.errors import SchemaError, SchemaErrors

from schemas.errors import AcmetraceError
from schemas.summaries import Curves, Entities, Episodes, Hourly
from tasks.outputs.pickles import curves_by_key
from tasks.series.summary import Curve, SeriesSummary

Model = type[pa.DataFrameModel]

TABLES: Mapping[str, Model] = MappingProxyType(
    {
        "summaries/curves.parquet": Curves,
        "summaries/entities.parquet": Entities,
        "summaries/hourly.parquet": Hourly,
        "summaries/episodes.parquet": Episodes,
    }
)
_ORDER: Mapping[Model, list[str]] = MappingProxyType(
    {
        Curves: ["cluster", "metric", "period", "level_pct"],
        Entities: ["cluster", "metric", "entity"],
        Hourly: ["cluster", "metric", "hour"],
        Episodes: ["cluster", "metric", "onset", "entity"],
    }
)
_ARROW_TYPES: Mapping[str, pyarrow.DataType] = MappingProxyType(
    {
        "int64": pyarrow.int64(),
        "float64": pyarrow.float64(),
        "bool": pyarrow.bool_(),
        "datetime64[ms, UTC]": pyarrow.timestamp("ms", tz="UTC"),
    }
)


def build_tables(summaries: Iterable[SeriesSummary]) -> dict[str, bytes]:
    """The summary tables by their path in the output folder; empty where nothing was summarised.

    Raises:
        UsageError: two series give the same curve.
        AcmetraceError: rows break the contract of their table.
    """
    ordered = sorted(summaries, key=lambda summary: (summary.record.cluster, summary.record.series))
    frames = {
        Curves: _curve_rows(curve for summary in ordered for curve in summary.curves),
        Entities: _rows(Entities, [summary.entities for summary in ordered]),
        Hourly: _rows(Hourly, [summary.hourly for summary in ordered]),
        Episodes: _rows(Episodes, [summary.episodes for summary in ordered]),
    }
    units = _units(ordered)
    return {path: parquet_bytes(model, frames[model], units) for path, model in TABLES.items()}


def parquet_bytes(model: Model, rows: pd.DataFrame, units: Mapping[str, str]) -> bytes:
    """`rows` as Parquet (zstd), checked against `model` and sorted; its metadata keeps `units` by metric.

    Raises:
        AcmetraceError: rows break the contract.
    """
    try:
        checked = model.validate(rows)
    except (SchemaError, SchemaErrors) as error:
        raise AcmetraceError(
            f"The table {model.__name__} breaks its contract: {str(error)[:300]}.",
            hint="This is a defect of the pipeline; please report it with the series that was summarised.",
        ) from error
    ordered = checked.sort_values(_ORDER[model], kind="stable", ignore_index=True)
    table = pyarrow.Table.from_pandas(ordered, schema=arrow_schema(model), preserve_index=False)
    # In place of pandas' own metadata, which holds versions and would change the bytes with them.
    table = table.replace_schema_metadata({"units": json.dumps(units, sort_keys=True, ensure_ascii=False)})
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def arrow_schema(model: Model) -> pyarrow.Schema:
    """The Arrow schema of a table: nullability, and description and unit as metadata of the fields."""
    fields = []
    for name, column in model.to_schema().columns.items():
        unit = (column.metadata or {}).get("unit")
        metadata = {"description": column.description or "", **({"unit": unit} if unit else {})}
        kind = _ARROW_TYPES.get(str(column.dtype), pyarrow.string())
        fields.append(pyarrow.field(name, kind, nullable=column.nullable, metadata=metadata))
    return pyarrow.schema(fields)


def _curve_rows(curves: Iterable[Curve]) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "cluster": curve.cluster,
                "metric": curve.metric,
                "period": curve.period,
                "level_pct": curve.levels * 100,
                "value": np.asarray(curve.values, dtype=np.float64),
            }
        )
        for curve in curves_by_key(curves).values()
        if curve.count > 0
    ]
    return _rows(Curves, parts)


def _rows(model: Model, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    # Frames without a row have columns without a type; joined, they would spoil those of the others.
    filled = [part for part in parts if len(part)]
    if not filled:
        empty: pd.DataFrame = arrow_schema(model).empty_table().to_pandas()
        return empty
    return pd.concat(filled, ignore_index=True)


def _units(summaries: Sequence[SeriesSummary]) -> dict[str, str]:
    metrics = {s.record.contract.metric.name: s.record.contract.metric.unit for s in summaries}
    return metrics | {curve.metric: curve.unit for s in summaries for curve in s.described().record.curves}
