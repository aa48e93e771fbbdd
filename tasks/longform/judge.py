"""From the tally of an IPMI file to findings and the record.

The rules that both forms of file share are applied by `tasks.series.judge`, to
which a power column is what an entity is in a wide file. Here are the rules of
IPMI files alone: columns that are missing or not known, rows without a node,
nodes of mixed type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from schemas.findings import EXAMPLES_KEPT, RULES, Example, Finding
from schemas.ipmi import IPMI_FILES, NODE_COLUMN, TIME_COLUMN, power_metric
from schemas.metrics import metric_name
from schemas.series import Observed, SeriesContract, SeriesRecord, Thresholds
from schemas.version import code_version
from tasks.longform.columns import POWER_COLUMNS, TOTAL
from tasks.longform.scan import NO_NODE_RULE
from tasks.longform.servers import deviant_rows, deviant_spots
from tasks.longform.statistics import group_stats
from tasks.longform.tally import LongTally
from tasks.series.clock import zone_label
from tasks.series.head import Head
from tasks.series.judge import coverage_share, judge, modal_interval_s, verdict_of
from tasks.series.spec import ScanSpec
from tasks.series.tally import Spot, Tally

_KNOWN = {TIME_COLUMN, NODE_COLUMN, *POWER_COLUMNS}


@dataclass(frozen=True)
class IpmiSeries:
    """A scanned IPMI series: its name, the head of each of its files, and what was counted.

    `partial` says that only a byte range of a file was read.
    """

    name: str
    heads: tuple[Head, ...]
    tally: LongTally
    spec: ScanSpec
    partial: bool = False

    @property
    def power(self) -> tuple[int, ...]:
        """Indices in POWER_COLUMNS of the power columns that a file of the series has."""
        names = {name for head in self.heads for name in head.columns}
        return tuple(index for index, name in enumerate(POWER_COLUMNS) if name in names)

    @property
    def has_node(self) -> bool:
        """Whether rows name their node."""
        return all(NODE_COLUMN in head.columns for head in self.heads)


def ipmi_contract(name: str, thresholds: Thresholds | None = None) -> SeriesContract:
    """The contract of an IPMI series, released or a user's own."""
    file = IPMI_FILES.get(name)
    of = f" of servers of type {' and '.join(file.types)}" if file else ""
    metric = power_metric(metric_name(name), f"power of a server and its components{of}")
    return SeriesContract(metric=metric, thresholds=thresholds or Thresholds())


def record_of(cluster: str, series: IpmiSeries, thresholds: Thresholds | None = None) -> SeriesRecord:
    """The validated schema of an IPMI series: contract, facts, findings, verdict.

    Observed values, blanks and coverage are those of all power columns; the range,
    the share of zeros and the number of distinct values are those of the total.
    """
    contract = ipmi_contract(series.name, thresholds)
    wide = _by_column(series)
    findings = _findings(cluster, series, contract, wide)
    place = series.power.index(TOTAL)
    total = wide.entities
    count = int(total.count[place])
    _, values, _ = series.tally.cells.of_column(TOTAL)
    observed = Observed(
        files=tuple(head.file.url for head in series.heads),
        digests=wide.digests_of(head.file for head in series.heads),
        bytes=sum(head.file.size for head in series.heads),
        bytes_read=wide.bytes_read,
        rows=wide.rows,
        rows_outside_period=wide.outside_rows,
        columns=len(series.power),
        values=wide.value_count,
        blanks=wide.blanks,
        bad_cells=wide.bad_cells,
        bad_rows=wide.bad_rows,
        distinct_values=len(np.unique(values)),
        first_time=_moment(wide.first_ms),
        last_time=_moment(wide.last_ms),
        interval_s=modal_interval_s(wide),
        missing_slots=wide.missing_slots,
        zones=tuple(zone_label(code) for code in wide.zones),
        low=float(total.least[place]) if count else None,
        high=float(total.most[place]) if count else None,
        zero_share=int(total.zero[place]) / count if count else None,
        coverage_share=coverage_share(wide),
    )
    return SeriesRecord(
        cluster=cluster,
        series=series.name,
        contract=contract,
        entities=tuple(name for name in series.tally.nodes.names if name),
        observed=observed,
        findings=findings,
        verdict=verdict_of(findings, wide.value_count),
        code_version=code_version(),
    )


def _by_column(series: IpmiSeries) -> Tally:
    """The tally as that of a wide file whose entities are the power columns."""
    cells, nodes = series.tally.cells, series.tally.nodes
    parts = [cells.of_column(column) for column in series.power]
    entities = group_stats(
        np.array([POWER_COLUMNS[column] for column in series.power]),
        np.repeat(np.arange(len(parts)), [len(values) for _, values, _ in parts]),
        np.concatenate([values for _, values, _ in parts]),
        np.concatenate([counts for _, _, counts in parts]),
        nodes.blanks[:, list(series.power)].sum(axis=0),
        series.spec,
    )
    return replace(series.tally.base, entities=entities)


def _findings(cluster: str, series: IpmiSeries, contract: SeriesContract, wide: Tally) -> tuple[Finding, ...]:
    heads = [_known_columns(head) for head in series.heads]
    found = list(judge(cluster, contract, heads, wide, series.spec, partial=series.partial))

    def add(rule: str, count: int, message: str, examples: Sequence[Example]) -> None:
        if count:
            found.append(
                Finding(
                    rule=rule,
                    severity=RULES[rule].severity,
                    cluster=cluster,
                    metric=contract.metric.name,
                    count=count,
                    message=message,
                    examples=tuple(examples[:EXAMPLES_KEPT]),
                )
            )

    base = series.tally.base
    missing = [
        Example(file=head.file.url, column=name)
        for head in series.heads
        for name in (NODE_COLUMN, *POWER_COLUMNS)
        if name not in head.columns
    ]
    found = [finding for finding in found if finding.rule != "missing-column"]
    add("missing-column", len(missing), "columns of an IPMI file are not there", missing)
    odd = [
        Example(file=head.file.url, column=name)
        for head in series.heads
        for name in head.columns
        if name not in _KNOWN and name.rpartition(".")[0] not in _KNOWN
    ]
    add("odd-column", len(odd), "columns are none of an IPMI file's; their values are not read", odd)
    if NO_NODE_RULE in base.spots and series.has_node:
        spots = base.spots[NO_NODE_RULE]
        places = [_example(base, spot, NODE_COLUMN, "") for spot in spots.first]
        add("no-node", spots.count, "rows name no node; their values count in the curves only", places)
    file = IPMI_FILES.get(series.name)
    if file is not None and len(file.types) > 1:
        deviant = deviant_rows(series.tally)
        rows, nodes = int(deviant.sum()), int(np.count_nonzero(deviant))
        message = (
            f"rows of {nodes:,} nodes look like another server type; the majority decides."
            f" By row, {base.rows - series.tally.rows_without_blank:,} rows would count as type B"
        )
        places = [_example(base, spot, spot.column, None) for spot in deviant_spots(series.tally)]
        add("mixed-type-node", rows, message, places)
    order = list(RULES)
    return tuple(sorted(found, key=lambda finding: order.index(finding.rule)))


def _known_columns(head: Head) -> Head:
    """The head without columns that are not read; a repeated one stays."""
    pairs = [(n, c) for n, c in zip(head.names, head.columns, strict=True) if n in _KNOWN]
    return replace(head, names=tuple(n for n, _ in pairs), columns=tuple(c for _, c in pairs))


def _example(base: Tally, spot: Spot, column: str | None, value: str | None) -> Example:
    return Example(file=spot.file, row=base.row_of(spot), column=column, byte_offset=spot.offset, value=value)


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
