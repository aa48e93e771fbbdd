"""What is done to the raw export of a metric.

The steps, in this order, are those of the notebook that made the AcmeTrace
release: of rows of one time the first is kept, rows are sorted by time, times
get the release's zone. Then, for Prometheus' node metrics: ratios × 100, the
hours in which the memory export was broken left out, all-blank columns left out,
three decimals. For DCGM's: ratios × 100, three decimals for these and one for
power, all-blank rows left out, then all-blank columns. A metric the catalogue
does not know is treated like one of DCGM's, neither scaled nor rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.metrics import Metric
from tasks.series.spec import parse_instant

RELEASE_ZONE = "Asia/Shanghai"

# Both ends are left out. The export had every column twice then.
_BROKEN_MEMORY = ("2023-07-19T11:35:00+08:00", "2023-07-19T14:01:00+08:00")
_PORT_SUFFIX = "-mlx5_0"


@dataclass(frozen=True)
class Rule:
    """What is done to one metric.

    Values are multiplied by `scale`, then rounded to `decimals` (-1: not at all).
    Rows with `window_from` ≤ time < `window_until` (UTC ms) are left out, and rows
    without a value if `drop_blank_rows`; so are columns without a value, always.
    `suffix` is cut off the end of column names. Times are written in `timezone`.
    """

    scale: float
    decimals: int
    drop_blank_rows: bool
    window_from: int = 0
    window_until: int = 0
    suffix: str = ""
    timezone: str = RELEASE_ZONE

    @property
    def whole_scale(self) -> bool:
        """Whether whole numbers stay whole."""
        return self.scale == int(self.scale)

    def name_of(self, column: str) -> str:
        """A column's name in the cleaned file."""
        return column.removesuffix(self.suffix)


def rule_of(metric: Metric, timezone: str = RELEASE_ZONE) -> Rule:
    """The rule for a metric of the catalogue, or an inferred one."""
    from_node = metric.source == "node_exporter"
    window_from = window_until = 0
    if metric.name == "NODE_MEMORY_UTILIZATION":
        window_from, last = (parse_instant(text, None) for text in _BROKEN_MEMORY)
        window_until = last + 1
    return Rule(
        scale=metric.scale,
        decimals=metric.decimals or -1,
        drop_blank_rows=not from_node,
        window_from=window_from,
        window_until=window_until,
        suffix=_PORT_SUFFIX if metric.name.startswith("NODE_IB_") else "",
        timezone=timezone,
    )
