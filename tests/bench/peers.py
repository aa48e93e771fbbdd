"""The same question asked of other tools, each the fastest honest way we found.

Belongs here: one function for each tool, which counts every value of a file exactly and
reports blanks nowhere. Honest means: all values are read as doubles, none is sampled or
rounded, column types are told (we know them too), and the tool uses the cores it likes.
The locked pandas reads decimals exactly by itself; an older one would be caught disagreeing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tests.bench.counts import Counts, Outcome, levels
from tests.bench.registry import works

if TYPE_CHECKING:
    import pandas as pd

# Two thousand columns: some 40 MB of doubles, which keeps pandas in its stride.
CHUNK_ROWS = 2000
# Larger than the longest row of any file here; of 1, 4 and 16 MB the fastest.
BLOCK_BYTES = 16 << 20


def columns_of(path: Path) -> list[str]:
    """Names of the columns, the first of which is the time."""
    with path.open(encoding="utf-8") as file:
        return file.readline().rstrip("\r\n").split(",")


@works("reference", "the published notebook: pandas, all in memory", forms=("wide", "ipmi"), small=True)
def notebook(path: Path) -> Outcome:
    """One long column of everything, and its quantiles; IPMI rows with and without a blank apart."""
    import pandas as pd

    frame = pd.read_csv(path)
    if "Sys_Total_Power" in frame.columns:
        blank = frame.isna().any(axis=1)
        power = frame["Sys_Total_Power"]
        return Outcome.joined([_quantiles(power[~blank]), _quantiles(power[blank])])
    return _quantiles(frame.drop(columns="Time").melt()["value"].dropna())


def _quantiles(values: pd.Series[float]) -> Outcome:
    if not len(values):
        return Outcome(0, None)
    return Outcome(len(values), np.asarray(values.quantile(levels()), np.float64))


@works("pandas-chunks", "pandas in pieces, np.unique of each", small=True)
def pandas_chunks(path: Path) -> Outcome:
    """What one writes when the notebook's way does not fit."""
    import pandas as pd

    counts = Counts()
    names = columns_of(path)[1:]
    reader = pd.read_csv(path, usecols=names, dtype=np.float64, chunksize=CHUNK_ROWS)
    with reader:
        for chunk in reader:
            counts.add_cells(chunk.to_numpy())
    return counts.outcome()


@works("pyarrow", "pyarrow's CSV reader in blocks, value_counts of each", needs=("pyarrow",))
def arrow_blocks(path: Path) -> Outcome:
    """Arrow's streaming reader; its reader is threaded, the counting follows behind it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    names = columns_of(path)
    types = dict.fromkeys(names[1:], pa.float64())
    counts = Counts()
    reader = csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=BLOCK_BYTES),
        convert_options=csv.ConvertOptions(column_types=types, include_columns=names[1:]),
    )
    for batch in reader:
        found = pc.value_counts(pa.chunked_array(batch.columns))
        values = found.field("values")
        filled = pc.is_valid(values)
        counts.add(values.filter(filled).to_numpy(), found.field("counts").filter(filled).to_numpy())
    return counts.outcome()


@works("polars", "polars, streaming: unpivot and group", needs=("polars",))
def polars_streaming(path: Path) -> Outcome:
    """Unpivot in the streaming engine was faster than lists, whole frames or a count for each column."""
    import polars as pl

    names = columns_of(path)
    schema = {name: pl.Float64() if place else pl.String() for place, name in enumerate(names)}
    table = (
        pl.scan_csv(path, schema=schema)
        .drop(names[0])
        .unpivot()
        .group_by("value")
        .len()
        .collect(engine="streaming")
        .drop_nulls("value")
    )
    counts = Counts()
    counts.add(table["value"].to_numpy(), table["len"].to_numpy())
    return counts.outcome()


@works("duckdb", "DuckDB: UNPIVOT and GROUP BY", needs=("duckdb",), small=True, timeout_s=60)
def duckdb_unpivot(path: Path) -> Outcome:
    """SQL; nulls are left out by UNPIVOT itself."""
    import duckdb

    names = columns_of(path)
    types = {name: "DOUBLE" if place else "VARCHAR" for place, name in enumerate(names)}
    with duckdb.connect() as connection:
        connection.read_csv(str(path), columns=types, header=True).create_view("wide")
        found = connection.execute(
            f'SELECT value, count(*) AS n FROM (UNPIVOT (SELECT * EXCLUDE "{names[0]}" FROM wide) '
            "ON COLUMNS(*) INTO NAME entity VALUE value) GROUP BY value"
        ).fetchnumpy()
    counts = Counts()
    counts.add(found["value"], found["n"])
    return counts.outcome()


def _count_partition(part: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    flat = part.to_numpy().ravel()
    values, times = np.unique(flat[~np.isnan(flat)], return_counts=True)
    return pd.DataFrame({"value": values, "n": times})


@works("dask", "dask.dataframe: partitions of 64 MB, counted each", needs=("dask.dataframe",), small=True)
def dask_partitions(path: Path) -> Outcome:
    """Pandas on dask's threads; the sample for types has to hold a row of any width."""
    import dask.dataframe as dd
    import pandas as pd

    names = columns_of(path)[1:]
    frame = dd.read_csv(
        str(path),
        blocksize="64MB",
        sample=1 << 20,
        usecols=names,
        dtype=dict.fromkeys(names, np.float64),
    )
    shape = pd.DataFrame({"value": np.empty(0), "n": np.empty(0, np.int64)})
    found = frame.map_partitions(_count_partition, meta=shape).compute()
    counts = Counts()
    counts.add(found["value"].to_numpy(), found["n"].to_numpy())
    return counts.outcome()
