"""Tables as Parquet bytes, held against their contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import pandera.pandas as pa
import pyarrow
import pyarrow.parquet
from pandera.errors import SchemaError, SchemaErrors

from schemas.errors import AcmetraceError

_TYPES = {
    "int64": pyarrow.int64(),
    "float64": pyarrow.float64(),
    "bool": pyarrow.bool_(),
    "datetime64[ms, UTC]": pyarrow.timestamp("ms", tz="UTC"),
}


Model = type[pa.DataFrameModel]


def table_bytes(
    model: Model,
    rows: pd.DataFrame,
    *,
    order: Sequence[str] = (),
    told: Mapping[str, str] | None = None,
) -> bytes:
    """`rows` as Parquet (zstd), sorted by `order`; what is `told` goes into its metadata.

    The same rows give the same bytes. Without rows all columns are there.

    Raises:
        AcmetraceError: rows break the contract.
    """
    schema = arrow_schema(model)
    if len(rows):
        checked = _checked(model, rows)
        if order:
            checked = checked.sort_values(list(order), kind="stable", ignore_index=True)
        table = pyarrow.Table.from_pandas(checked, schema=schema, preserve_index=False)
    else:
        table = schema.empty_table()
    sink = pyarrow.BufferOutputStream()
    # In place of pandas' own metadata, which holds versions and would change the bytes with them.
    pyarrow.parquet.write_table(table.replace_schema_metadata(told), sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def arrow_schema(model: Model) -> pyarrow.Schema:
    """The Arrow schema of a table: nullability, and description and unit as metadata of the fields."""
    fields = []
    for name, column in model.to_schema().columns.items():
        unit = (column.metadata or {}).get("unit")
        metadata = {"description": column.description or "", **({"unit": unit} if unit else {})}
        kind = _TYPES.get(str(column.dtype), pyarrow.string())
        fields.append(pyarrow.field(name, kind, nullable=column.nullable, metadata=metadata))
    return pyarrow.schema(fields)


def _checked(model: Model, rows: pd.DataFrame) -> pd.DataFrame:
    try:
        return model.validate(rows)
    except (SchemaError, SchemaErrors) as error:
        raise AcmetraceError(
            f"The table {model.__name__} breaks its contract: {str(error)[:300]}.",
            hint="This is a defect of the pipeline; please report it with the input that was read.",
        ) from error
