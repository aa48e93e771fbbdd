"""`acmetrace show`: what a finished run found, in the terminal."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from flows.commands.common import INPUT_FAILED, OK, Names, Talk, out, print_json


def show(
    out_: Annotated[str, Parameter(name="out")],
    *,
    cluster: Names = (),
    metric: Names = (),
    talk: Talk = Talk(),
) -> int:
    """Show a finished run: counts, quantiles, curve and verdict of each series, and its job logs.

    Parameters
    ----------
    out_
        Output folder or URL of a finished run.
    cluster
        Only these clusters.
    metric
        Only these metrics.
    """
    from flows.show import run_rows, run_table
    from schemas.errors import IncompleteRun

    logs = [] if metric else _logs(out_, cluster)
    try:
        rows = run_rows(out_, cluster, metric)
    except IncompleteRun:
        if not logs:
            raise
        rows = []
    if talk.json:
        print_json([*rows, *({"series": "job log", "metric": "job log", **log} for log in logs)])
    elif rows:
        out.print(run_table(rows, out.width))
    if logs and not talk.json:
        from flows.show_jobs import jobs_table

        if rows:
            out.print()
        out.print(jobs_table(logs, out.width))
    return INPUT_FAILED if any(row["verdict"] == "failed" for row in (*rows, *logs)) else OK


def _logs(folder: str, clusters: tuple[str, ...]) -> list[dict[str, Any]]:
    """The job logs of the run, if it read any."""
    from schemas.job_records import JOBS_MANIFEST_NAME
    from tasks.storage.publish import read_bytes

    if read_bytes(folder, JOBS_MANIFEST_NAME) is None:
        return []
    from flows.show_jobs import jobs_rows

    return jobs_rows(folder, clusters)
