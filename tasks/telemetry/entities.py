"""Which GPUs and nodes are idle, hot, or hungry for power."""

from __future__ import annotations

import pandas as pd

UTILISATION = "GPU_UTIL"
HOT = ("GPU_TEMP", "MEMORY_TEMP")
HUNGRY = ("POWER_USAGE", "SERVER_POWER", "NODE_POWER")
TOP = 20


def idle(entities: pd.DataFrame) -> pd.DataFrame:
    """The share of samples in which a GPU does nothing, of each GPU and each node.

    A GPU is idle in a sample whose GPU_UTIL is zero; blank samples are not idle but unobserved, and
    count nowhere. A node has the samples of all its GPUs together. Sorted by level, then from the
    idlest.

    Source: shares of zero of the utilisation curves of Hu et al., NSDI '24; by GPU and node instead of all.
    """
    gpus = entities[(entities["metric"] == UTILISATION) & (entities["count"] > 0)]
    part = pd.DataFrame(
        {
            "cluster": gpus["cluster"],
            "entity": gpus["entity"],
            "node": gpus["node"],
            "samples": gpus["count"],
            "zeros": gpus["zero_share"] * gpus["count"],
            "total": gpus["mean"] * gpus["count"],
        }
    )
    nodes = part.groupby(["cluster", "node"], as_index=False).agg(
        gpus=("entity", "size"), samples=("samples", "sum"), zeros=("zeros", "sum"), total=("total", "sum")
    )
    both = pd.concat(
        [part.assign(level="gpu", gpus=1), nodes.assign(level="node", entity=nodes["node"])],
        ignore_index=True,
    )
    both["idle_share"] = (both["zeros"] / both["samples"]).clip(0, 1)
    both["utilisation_pct"] = both["total"] / both["samples"]
    columns = ["cluster", "level", "entity", "node", "gpus", "samples", "idle_share", "utilisation_pct"]
    ordered = both.sort_values(
        ["cluster", "level", "idle_share", "entity"], ascending=[True, True, False, True], ignore_index=True
    )
    return ordered[columns].astype({"gpus": "int64", "samples": "int64"})


def extremes(entities: pd.DataFrame, top: int = TOP) -> pd.DataFrame:
    """The `top` entities of each temperature and power by mean and by largest value, highest first.

    Of equal ones the first by name is higher.
    """
    chosen = entities[entities["metric"].isin([*HOT, *HUNGRY]) & (entities["count"] > 0)]
    parts = []
    for by in ("mean", "max"):
        ordered = chosen.sort_values(
            ["cluster", "metric", by, "entity"], ascending=[True, True, False, True], ignore_index=True
        )
        rank = ordered.groupby(["cluster", "metric"]).cumcount() + 1
        kept = ordered.assign(by=by, rank=rank, samples=ordered["count"])[(rank <= top).to_numpy()]
        parts.append(kept[["cluster", "metric", "by", "rank", "entity", "node", "mean", "max", "samples"]])
    return pd.concat(parts, ignore_index=True)
