"""How many GPUs each virtual cluster may use, day by day: Helios' `cluster_gpu_number.csv`."""

from __future__ import annotations

import io

import pandas as pd

from schemas.errors import NotAJobLog
from schemas.findings import Example
from schemas.jobs import Quota
from tasks.storage.source import FileRef, open_reader

_LARGEST = 64 << 20


def read_quota(ref: FileRef, cluster: str) -> pd.DataFrame:
    """The quotas as a tidy table, by day and virtual cluster.

    Raises:
        NotAJobLog: the file has no date, a quota is no whole number, or a day's total is not the sum.
        ReadFailed, FileChanged: as `open_reader`.
    """
    if ref.size > _LARGEST:
        raise _wrong(ref, f"is no table of quotas: it has {ref.size:,} bytes")
    buffer = bytearray(ref.size)
    with open_reader(ref) as reader:
        data = bytes(buffer[: reader.read_into(0, memoryview(buffer))])
    try:
        wide = pd.read_csv(io.BytesIO(data), dtype={"date": str}, encoding="utf-8-sig")
    except (ValueError, pd.errors.ParserError) as error:
        raise _wrong(ref, f"cannot be read: {error}") from error
    if "date" not in wide:
        raise _wrong(ref, "has no column date")
    days = pd.to_datetime(wide["date"], format="ISO8601", errors="coerce")
    if days.isna().any():
        row = int(days.isna().to_numpy().argmax())
        raise _wrong(ref, f"has a date that is none: {wide['date'].iloc[row]!r}", row=row + 1)
    vcs = wide.drop(columns=["date", "total"], errors="ignore")
    numbers = vcs.apply(pd.to_numeric, errors="coerce")
    bad = numbers.isna() | (numbers < 0) | (numbers % 1 != 0)
    if bad.any(axis=None):
        row, column = next((r, c) for r in range(len(bad)) for c in bad.columns if bad[c].iloc[r])
        raise _wrong(
            ref, f"has a quota that is no number of GPUs: {vcs[column].iloc[row]!r}", row + 1, column
        )
    if "total" in wide:
        off = numbers.sum(axis=1) != pd.to_numeric(wide["total"], errors="coerce")
        if off.any():
            row = int(off.to_numpy().argmax())
            summed = int(numbers.iloc[row].sum())
            raise _wrong(
                ref, f"has a total of {wide['total'].iloc[row]} where the sum is {summed}", row + 1, "total"
            )
    dates = days.dt.strftime("%Y-%m-%d")
    tidy = numbers.astype("int64").assign(date=dates).melt(id_vars="date", var_name="vc", value_name="gpus")
    table: pd.DataFrame = Quota.validate(tidy.assign(cluster=cluster)[["cluster", "date", "vc", "gpus"]])
    return table.sort_values(["date", "vc"], ignore_index=True)


def _wrong(ref: FileRef, what: str, row: int | None = None, column: str | None = None) -> NotAJobLog:
    return NotAJobLog(
        f"{ref.url} {what}.",
        hint="Expected is date, a column of GPUs for each virtual cluster, and their total.",
        rule="not-a-job-log",
        place=Example(file=ref.url, row=row, column=column),
    )
