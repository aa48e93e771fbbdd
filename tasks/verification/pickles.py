"""The curves of a run beside those of the published pickles."""

from __future__ import annotations

import numpy as np

from schemas.pickles import PICKLES, WHOLE, PickleLayout
from schemas.published import PAI, FloatArray, published_levels, published_pai, published_quantiles
from schemas.verification import Compared
from tasks.outputs.results import Results
from tasks.verification.distance import kolmogorov_smirnov
from tasks.verification.headlines import NOT_IN_RUN
from tasks.verification.release import part_of_release

MOST_PCT = 0.2  # two steps of the published levels
_KNOWN = {
    ("util_gpu_kalos", 1): "the published curve is of another, unknown period",
    (PAI, 1): "the published curve is digitised from another plot",
}


def compare_pickles(results: Results) -> list[Compared]:
    """Each pair of each published pickle beside the run's curve; a repeated pair is compared once."""
    return [
        _compared(results, layout, number)
        for layout in PICKLES
        for number, pair in enumerate(layout.pairs, start=1)
        if pair.copy_of is None
    ]


def _compared(results: Results, layout: PickleLayout, number: int) -> Compared:
    pair = layout.pairs[number - 1]
    values, levels = _published(layout.name, number)
    told = {
        "id": f"{layout.name}:{number}",
        "claim": f"curve of {pair.metric}" + ("" if pair.period == WHOLE else f", {pair.period}"),
        "cluster": pair.cluster,
        "unit": "",
        "published": float(np.interp(50, levels, values)),
    }
    curve = results.curve(pair.cluster, pair.metric, pair.period)
    if curve is None:
        return Compared(**told, outcome="not computable", reason=NOT_IN_RUN)
    own, own_levels = curve["value"].to_numpy(), curve["level_pct"].to_numpy()
    told["value"] = float(np.interp(50, own_levels, own))
    told["distance_pct"] = distance = kolmogorov_smirnov(own, own_levels, values, levels)
    if distance <= MOST_PCT:
        return Compared(**told, outcome="agrees")
    reason = _KNOWN.get((layout.name, number), "") or part_of_release(results, pair.cluster, jobs=False)
    return Compared(**told, outcome="known discrepancy" if reason else "differs", reason=reason)


def _published(name: str, number: int) -> tuple[FloatArray, FloatArray]:
    """Values and levels (%) of a published pair, both ascending."""
    if name == PAI:
        levels, values = published_pai()
        # Digitised levels step down a little in places.
        return np.maximum.accumulate(values), np.maximum.accumulate(levels)
    return published_quantiles(name, number), published_levels() * 100
