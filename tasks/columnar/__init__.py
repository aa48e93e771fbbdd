"""Series as Parquet: written from CSV (`write`), and read like it (`head`, `scan`).

A file has a `Time` column and one column an entity, doubles with null for a
blank cell, in row groups by time. What is counted, and how, is that of `tasks.series`.
"""

from __future__ import annotations

from schemas.errors import NotASeries
from tasks.columnar.head import bytes_of_groups, read_parquet_head
from tasks.columnar.scan import scan_parquet_block
from tasks.series.head import Head, read_head
from tasks.series.tally import Tally
from tasks.series.units import WIDE, ScanKind
from tasks.storage.source import FileRef

SUFFIX = ".parquet"
PARQUET = ScanKind(
    "parquet",
    scan_parquet_block,
    Tally.from_bytes,
    period=bytes_of_groups,
    largest_block=64 << 20,  # it is held in memory
)


def is_parquet(file: FileRef) -> bool:
    """Whether a file is Parquet, by its name."""
    return file.url.endswith(SUFFIX)


def read_any_head(file: FileRef) -> Head:
    """The head of a series file of either form; errors as those of the two readers."""
    return read_parquet_head(file) if is_parquet(file) else read_head(file)


def kind_of_files(files: tuple[FileRef, ...]) -> ScanKind:
    """How the blocks of a series are scanned.

    Raises:
        NotASeries: some of its files are Parquet and some are not.
    """
    if len({is_parquet(file) for file in files}) > 1:
        raise NotASeries(
            f"{files[0].url} and {files[-1].url} are parts of one series in two forms.",
            hint="Convert all of them, or remove those of one form.",
        )
    return PARQUET if is_parquet(files[0]) else WIDE
