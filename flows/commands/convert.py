"""`acmetrace convert`: series to Parquet."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from flows.commands.common import INPUT_FAILED, OK, Names, Talk, err, first_problem, print_json, say
from schemas.errors import UsageError

if TYPE_CHECKING:
    from flows.convert import ConvertResult


def convert(
    source: str,
    dest: str,
    *,
    cluster: Names = (),
    metric: Names = (),
    timezone: str | None = None,
    workers: int | None = None,
    force: bool = False,
    talk: Talk = Talk(),
) -> int:
    """Convert series to Parquet: typed, sorted by time, for pandas, polars, DuckDB, and summarize.

    Parameters
    ----------
    source
        A dataset folder, any folder of series files, one file, or an fsspec URL of these.
    dest
        Folder for the Parquet files, in the layout of the source.
    cluster
        Only these clusters.
    metric
        Only these metrics.
    timezone
        Zone of times that have none: +08:00 or Asia/Shanghai.
    workers
        Threads to read with; all cores by default.
    force
        Convert again what was converted before.
    """
    from pydantic import ValidationError

    from flows.environment import prepare, without_collection
    from flows.server import OwnServer

    prepare(talk.verbosity)
    with OwnServer() as server:
        with without_collection():
            from flows.console import watch
            from flows.convert import ConvertSettings
            from flows.convert import convert as convert_flow
            from tasks.storage.publish import check_writable

            try:
                settings = ConvertSettings(
                    source=source,
                    dest=dest,
                    clusters=cluster,
                    metrics=metric,
                    timezone=timezone,
                    workers=workers,
                    force=force,
                )
            except ValidationError as error:
                raise UsageError(first_problem(error)) from error
            check_writable(dest)
        with watch(err, talk.verbosity) as listener, server.in_use():
            result = convert_flow(settings, listener)
    if talk.json:
        print_json(result.manifest.model_dump(mode="json"))
    elif not talk.quiet:
        _print_result(result, dest)
    return INPUT_FAILED if result.failed else OK


def _print_result(result: ConvertResult, dest: str) -> None:
    records = result.manifest.series
    counts = Counter(record.status for record in records)
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    read = sum(file.size for record in records if record.outputs for file in record.inputs)
    written = sum(output.size for record in records for output in record.outputs)
    say(f"{len(records)} series: {said}; {read / 1e6:,.1f} MB became {written / 1e6:,.1f} MB in {dest}")
    if written:
        say(f"Next: acmetrace run {shlex.quote(dest)} --out out")
