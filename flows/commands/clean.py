"""`acmetrace clean`: raw exports to the released form."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from flows.commands.common import INPUT_FAILED, OK, Names, Talk, err, first_problem, print_json, say
from schemas.errors import UsageError

if TYPE_CHECKING:
    from flows.clean import CleanResult


def clean(
    raw: str,
    dest: str,
    *,
    cluster: Names = (),
    metric: Names = (),
    timezone: str | None = None,
    catalogue: Path | None = None,
    workers: int | None = None,
    force: bool = False,
    talk: Talk = Talk(),
) -> int:
    """Clean raw Prometheus or DCGM exports as the released dataset was: time, order, scale, decimals, blanks.

    Parameters
    ----------
    raw
        Folder, file or fsspec URL of raw exports: epoch seconds, one column an entity.
    dest
        Folder for the cleaned series; run this next.
    cluster
        Only these clusters.
    metric
        Only these metrics.
    timezone
        Zone that times are written in; Asia/Shanghai, as in the release, by default.
    catalogue
        TOML file with metrics of your own: their scale and decimals.
    workers
        Threads to clean with; all cores by default.
    force
        Clean again what was cleaned before.
    """
    from pydantic import ValidationError

    from flows.environment import prepare, without_collection
    from flows.server import OwnServer

    prepare(talk.verbosity)
    with OwnServer() as server:
        with without_collection():
            from flows.clean import CleanSettings
            from flows.clean import clean as clean_flow
            from flows.console import watch
            from tasks.cleaning.rules import RELEASE_ZONE
            from tasks.storage.publish import check_writable

            try:
                settings = CleanSettings(
                    source=raw,
                    dest=dest,
                    clusters=cluster,
                    metrics=metric,
                    timezone=timezone or RELEASE_ZONE,
                    catalogue=str(catalogue) if catalogue else None,
                    workers=workers,
                    force=force,
                )
            except ValidationError as error:
                raise UsageError(first_problem(error)) from error
            check_writable(dest)
        with watch(err, talk.verbosity) as listener, server.in_use():
            result = clean_flow(settings, listener)
    if talk.json:
        print_json(result.manifest.model_dump(mode="json"))
    elif not talk.quiet:
        _print_result(result, dest)
    return INPUT_FAILED if result.failed else OK


def _print_result(result: CleanResult, dest: str) -> None:
    counts = Counter(record.status for record in result.manifest.series)
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    written = sum(record.output.size for record in result.manifest.series if record.output)
    say(f"{len(result.manifest.series)} series: {said}; {written / 1e6:,.1f} MB in {dest}")
    if written:
        say(f"Next: acmetrace run {shlex.quote(dest)} --out out")
