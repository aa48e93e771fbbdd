"""`acmetrace show`: what a finished run found, in the terminal."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from flows.commands.common import INPUT_FAILED, OK, Names, Talk, out, print_json


def show(
    out_: Annotated[str, Parameter(name="out")],
    *,
    cluster: Names = (),
    metric: Names = (),
    talk: Talk = Talk(),
) -> int:
    """Show a finished run: counts, quantiles, share of zeros, curve and verdict of each series.

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

    rows = run_rows(out_, cluster, metric)
    if talk.json:
        print_json(rows)
    else:
        out.print(run_table(rows, out.width))
    return INPUT_FAILED if any(row["verdict"] == "failed" for row in rows) else OK
