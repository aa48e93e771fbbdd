"""`acmetrace compare`: two finished runs beside each other."""

from __future__ import annotations

from flows.commands.common import OK, Talk, out, print_json, say

_SHOWN = 10
_TITLES = {
    "curve": "curves: medians, and the Kolmogorov–Smirnov distance in points",
    "jobs": "distributions of GPU jobs: the largest difference in points",
    "number": "numbers of cluster_summary.csv: the change in percent of the larger",
}


def compare(
    out_a: str,
    out_b: str,
    *,
    clusters: tuple[str, str] | None = None,
    periods: tuple[str, str] | None = None,
    talk: Talk = Talk(),
) -> int:
    """Compare two finished runs, or two clusters or periods of one, and name what moved most.

    Shows the ten of each kind that moved most; --verbose shows all.

    Parameters
    ----------
    out_a
        Output folder or URL of the first run.
    out_b
        The second; the same folder again, to compare two clusters or periods of one run.
    clusters
        A cluster of the first and one of the second, to compare these two.
    periods
        A period of the first and one of the second, such as 2023-07 2023-08, or all.
    """
    from flows.show_verification import moved_table
    from tasks.compare import Side
    from tasks.compare import compare as compare_sides
    from tasks.outputs.results import Results

    (cluster_a, cluster_b), (period_a, period_b) = clusters or ("", ""), periods or ("", "")
    found = compare_sides(
        Side(Results(out_a), cluster_a, period_a), Side(Results(out_b), cluster_b, period_b)
    )
    if talk.json:
        moved = [{**line.model_dump(), "moved_pct": line.moved_pct} for line in found.moved]
        print_json({**found.model_dump(), "moved": moved})
        return OK
    if talk.quiet:
        return OK
    for kind, title in _TITLES.items():
        lines = [line for line in found.moved if line.kind == kind]
        if not lines:
            continue
        apart = sum(line.moved_pct > 0 for line in lines)
        say(f"{title}; {apart} of {len(lines)} moved")
        shown = lines if talk.verbose else [line for line in lines[:_SHOWN] if line.moved_pct > 0]
        if shown:
            out.print(moved_table(shown))
        say("")
    for names, which in ((found.only_a, "first"), (found.only_b, "second")):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            say(f"only in the {which}: {', '.join(names[:_SHOWN])}{more}")
    return OK
