"""The canonical table in Arrow's types, and reading it back for analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from schemas.errors import IncompleteRun
from schemas.jobs import Jobs
from tasks.storage.reference import is_local, local_path
from tasks.storage.stores import filesystem

_TYPES = {
    "int64": pa.int64(),
    "Int64": pa.int64(),
    "float64": pa.float64(),
    "datetime64[ms, UTC]": pa.timestamp("ms", tz="UTC"),
}


def arrow_jobs(told: Mapping[str, str]) -> pa.Schema:
    """The schema of a job table; description and unit of a column, and what is `told`, are metadata."""
    fields = []
    for name, column in Jobs.to_schema().columns.items():
        unit = (column.metadata or {}).get("unit")
        metadata = {"description": column.description or "", **({"unit": unit} if unit else {})}
        kind = _TYPES.get(str(column.dtype), pa.string())
        fields.append(pa.field(name, kind, nullable=column.nullable, metadata=metadata))
    return pa.schema(fields, metadata=dict(told))


def load_jobs(url: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A job table as a frame; texts come as categories, which take little memory.

    Raises:
        IncompleteRun: there is no table at `url`.
    """
    wanted = list(columns or Jobs.to_schema().columns)
    texts = [name for name in wanted if str(Jobs.to_schema().columns[name].dtype).startswith("string")]
    repeated = [name for name in texts if name != "job_id"]
    try:
        with _opened(url) as source:
            file = pyarrow.parquet.ParquetFile(source, read_dictionary=repeated)
            # A column at a time: what Arrow and pandas hold of it twice is then small.
            columns_of = {name: frame_of(file.read([name]).unify_dictionaries())[name] for name in wanted}
    except FileNotFoundError as error:
        raise IncompleteRun(f"There is no job table at {url}.", hint="Run acmetrace jobs first.") from error
    return pd.DataFrame(columns_of, copy=False)


@contextmanager
def _opened(url: str) -> Iterator[Any]:
    if is_local(url):
        with local_path(url).open("rb") as local:
            yield local
        return
    store, path = filesystem(url)
    with store.open(path, "rb") as remote:
        yield remote


def frame_of(table: pa.Table) -> pd.DataFrame:
    """A job table as a frame with the types of its contract."""
    frame: pd.DataFrame = table.to_pandas()
    if "node_num" in frame:
        frame["node_num"] = frame["node_num"].astype("Int64")
    return frame
