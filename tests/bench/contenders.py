"""Our own ways through a file, and the two processes that frame them: `wc -l` and the whole command.

Belongs here: everything that uses this project's code, and nothing that imports a peer.
Imports of what is measured stand inside the functions: a contender's process loads only
what that contender needs, so that memory is that of the method and not of its rivals.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tests.bench import peers
from tests.bench.counts import Outcome
from tests.bench.registry import CONTENDERS, Contender, runs, works

if TYPE_CHECKING:
    from tasks.series.summary import SeriesSummary

__all__ = ["CONTENDERS", "Contender", "peers"]

TYPE_CURVES = ("SERVER_POWER_A", "SERVER_POWER_B")


@works("ours-1", "this project, one thread", forms=("wide", "ipmi"))
def ours_on_one_thread(path: Path) -> Outcome:
    """The scan without any parallel help."""
    return _ours(path, 1)


@works("ours-2", "this project, two threads", forms=("wide", "ipmi"))
def ours_on_two_threads(path: Path) -> Outcome:
    """The scan as a small machine runs it."""
    return _ours(path, 2)


def _ours(path: Path, workers: int) -> Outcome:
    from schemas.ipmi import IPMI_FILES

    if path.stem in IPMI_FILES:
        found = {curve.metric: curve for curve in _ipmi_summary(path, workers).curves}
        chosen = [found[name] for name in TYPE_CURVES if name in found]
    else:
        from tasks.series.api import summary_of_file

        chosen = list(summary_of_file(path, workers=workers).curves[:1])
    return Outcome.joined([Outcome(curve.count, curve.values) for curve in chosen])


def _ipmi_summary(path: Path, workers: int) -> SeriesSummary:
    """What the main job does with an IPMI file, on threads instead of its cluster and without a store."""
    from tasks.longform import IPMI, IpmiSeries, ipmi_contract, summarise_ipmi
    from tasks.series.discover import discover
    from tasks.series.options import ScanOptions
    from tasks.series.units import ThreadExecutor, merge_all, tally_file
    from tasks.series.wide import heads_of, plan_series

    (series,) = discover(str(path))
    options = ScanOptions()
    contract = ipmi_contract(series.name, options.thresholds)
    plan = plan_series(series, heads_of(series, None), options, IPMI, contract)
    tally = merge_all(tally_file(scan, ThreadExecutor(workers), None) for scan in plan.scans)
    partial = any(part is not None for part in plan.within)
    scanned = IpmiSeries(series.name, plan.heads, tally, plan.spec, partial)
    (summary,) = summarise_ipmi(series.cluster, [scanned], options.thresholds)
    return summary


@runs("wc", "wc -l: a look at every byte and nothing else", forms=("wide", "ipmi"))
def line_count(path: Path, out: Path) -> list[str]:
    """The floor: a compiled program that touches each byte once."""
    return ["wc", "-l", str(path)]


def _from_tables(out: Path) -> Outcome:
    import pandas as pd

    tables = out / "run" / "summaries"
    curves, entities = (pd.read_parquet(tables / f"{name}.parquet") for name in ("curves", "entities"))
    (metric,) = entities["metric"].unique()
    curve = curves[(curves["metric"] == metric) & (curves["period"] == "all")]
    return Outcome(int(entities["count"].sum()), curve["value"].to_numpy(np.float64))


@runs("summarize", "the whole command: start, flow, cluster, scan, outputs", read_back=_from_tables)
def summarize(path: Path, out: Path) -> list[str]:
    """The console script of this very environment, as a user calls it."""
    script = Path(sys.executable).with_name("acmetrace")
    return [str(script), "summarize", str(path), "--out", str(out / "run"), "-q"]
