"""From a tally to findings and a verdict.

Every rule of `schemas.findings.RULES` that concerns a scanned wide series is
applied here, by looking at the tally and the header only. A series fails where
a rule of severity "error" is broken; then none of its numbers is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from schemas.errors import FileChanged, NotASeries
from schemas.findings import EXAMPLES_KEPT, RULES, Example, Finding, Verdict
from schemas.series import ENTITY_PATTERNS, SeriesContract
from tasks.series.clock import zone_label
from tasks.series.discover import SeriesFiles
from tasks.series.head import Head
from tasks.series.spec import ScanSpec
from tasks.series.tally import Spots, Tally

_BY_ROW = ".parquet"  # places in such files are rows, not bytes
_FEWEST_CHANGES = 20  # below, equal pairs may be chance
_STRAY_CHANGES = 0.05  # share of changes that may fall on the other parity


def judge(
    cluster: str,
    contract: SeriesContract,
    heads: Sequence[Head],
    tally: Tally,
    spec: ScanSpec,
    *,
    partial: bool = False,
) -> tuple[Finding, ...]:
    """All findings of a scanned series, in the order of the rules; `partial`: only a byte range was read."""
    make = _Maker(cluster, contract.metric.name)
    found = [
        *_columns(make, contract, heads),
        *_rows(make, tally, spec),
        *_cells(make, contract, tally),
        *_times(make, contract, tally),
        *_coverage(make, contract, tally, heads),
    ]
    if contract.inferred:
        found.append(make("unknown-metric", 1, "the catalogue has no entry; unit and range are unknown"))
    if partial:
        found.append(make("order-assumed", 1, "rows before and after the period's byte range were not read"))
    order = list(RULES)
    return tuple(sorted(found, key=lambda finding: order.index(finding.rule)))


def verdict_of(findings: Iterable[Finding], values: int) -> Verdict:
    """failed, no data, warned or passed: the worst that applies."""
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "failed"
    if values == 0:
        return "no data"
    return "warned" if "warning" in severities else "passed"


def modal_interval_s(tally: Tally) -> float | None:
    """The most common positive step between neighbouring rows, in s."""
    if not tally.steps.exact:
        return None
    steps, counts = tally.steps.values, tally.steps.counts
    forward = steps > 0
    if not forward.any():
        return None
    return float(steps[forward][np.argmax(counts[forward])]) / 1000


class _Maker:
    """Makes findings of one series."""

    def __init__(self, cluster: str, metric: str) -> None:
        self.cluster = cluster
        self.metric = metric

    def __call__(self, rule: str, count: int, message: str, examples: Sequence[Example] = ()) -> Finding:
        return Finding(
            rule=rule,
            severity=RULES[rule].severity,
            cluster=self.cluster,
            metric=self.metric,
            count=count,
            message=message,
            examples=tuple(examples[:EXAMPLES_KEPT]),
        )


def _columns(make: _Maker, contract: SeriesContract, heads: Sequence[Head]) -> list[Finding]:
    pattern = ENTITY_PATTERNS[contract.metric.entity]
    duplicates, suffixed, odd = [], [], []
    for head in heads:
        seen: set[str] = set()
        every = set(head.names)
        for name, offset in zip(head.names, head.name_offsets(), strict=True):
            at = Example(file=head.file.url, column=name, byte_offset=offset, value=name)
            base, _, suffix = name.rpartition(".")
            if name in seen:
                duplicates.append(at)
            elif suffix == "1" and base in every:
                suffixed.append(at)
            elif not name.strip() or name != name.strip() or not pattern.match(name):
                odd.append(at)
            seen.add(name)
    found = []
    if duplicates:
        found.append(
            make("duplicate-column", len(duplicates), "column names occur more than once", duplicates)
        )
    if suffixed:
        found.append(
            make("suffixed-column", len(suffixed), "columns repeat another with .1 appended", suffixed)
        )
    if odd:
        expected = {"gpu": "<node>-<index>", "node": "a node name or address", "any": "a name"}
        form = expected[contract.metric.entity]
        found.append(make("odd-column", len(odd), f"columns are not named like {form}", odd))
    if len(heads) > 1:
        everything = sorted({name for head in heads for name in head.columns})
        missing = [
            Example(file=head.file.url, column=name)
            for head in heads
            for name in sorted(set(everything) - set(head.columns))
        ]
        if missing:
            message = "columns of one file of the series are not in another"
            found.append(make("missing-column", len(missing), message, missing))
    return found


def _examples(tally: Tally, spots: Spots) -> list[Example]:
    return [
        Example(
            file=spot.file,
            row=tally.row_of(spot),
            column=spot.column,
            byte_offset=None if spot.file.endswith(_BY_ROW) else spot.offset,
            value=spot.text,
        )
        for spot in spots.first
    ]


def _rows(make: _Maker, tally: Tally, spec: ScanSpec) -> list[Finding]:
    messages = {
        "ragged-row": "rows have more or fewer cells than the header; they are left out",
        "bad-time": "rows have no readable time; they are left out",
        "duplicate-time": "rows repeat the time of the row before; they are counted",
        "disordered-time": "rows are older than the row before; they are counted",
        "gap": f"steps are longer than {spec.gap_intervals:g} intervals of {spec.interval_ms / 1000:g} s;"
        f" {tally.missing_slots:,} slots are missing",
    }
    return [
        make(rule, tally.spots[rule].count, message, _examples(tally, tally.spots[rule]))
        for rule, message in messages.items()
        if rule in tally.spots and tally.spots[rule].count
    ]


def _cells(make: _Maker, contract: SeriesContract, tally: Tally) -> list[Finding]:
    found = []
    if "bad-cell" in tally.spots:
        spots = tally.spots["bad-cell"]
        message = "cells are not finite numbers; they are left out"
        found.append(make("bad-cell", spots.count, message, _examples(tally, spots)))
    if "out-of-range" in tally.spots:
        spots, metric = tally.spots["out-of-range"], contract.metric
        bounds = f"{_bound(metric.low)} … {_bound(metric.high)} {metric.unit}"
        message = f"values lie outside {bounds}; they are kept"
        found.append(make("out-of-range", spots.count, message, _examples(tally, spots)))
    # A file without value columns is judged by its rows.
    columns = len(tally.entities.keys)
    lost = tally.bad_cells + tally.bad_rows * max(columns, 1)
    cells = max((tally.cells if columns else tally.rows) + tally.bad_rows * max(columns, 1), 1)
    limit = contract.thresholds.bad_cell_share
    if lost / cells > limit:
        places = [
            *_spots_of(tally, "bad-cell"),
            *_spots_of(tally, "ragged-row"),
            *_spots_of(tally, "bad-time"),
        ]
        message = f"{lost / cells:.3%} of the cells are unreadable, allowed are {limit:.3%}"
        found.append(make("too-many-bad-cells", lost, message, places))
    return found


def _spots_of(tally: Tally, rule: str) -> list[Example]:
    return _examples(tally, tally.spots[rule]) if rule in tally.spots else []


def _bound(value: float | None) -> str:
    return "any" if value is None else f"{value:g}"


def _times(make: _Maker, contract: SeriesContract, tally: Tally) -> list[Finding]:
    found = []
    if len(tally.zones) > 1:
        forms = ", ".join(f"{zone_label(code)} in {rows:,} rows" for code, rows in tally.zones.items())
        strays = sum(tally.zones.values()) - max(tally.zones.values())
        places = _spots_of(tally, "mixed-zones")
        found.append(make("mixed-zones", strays, f"times are written in several forms: {forms}", places))
    interval, expected = modal_interval_s(tally), contract.metric.interval_s
    if interval is not None and expected is not None and abs(interval - expected) > 0.1 * expected:
        rows = int(tally.steps.counts.sum())
        found.append(make("wrong-interval", rows, f"rows are {interval:g} s apart, expected {expected:g} s"))
    by_parity = (
        np.sort(tally.entities.changed, axis=1).sum(axis=0) if len(tally.entities.keys) else np.zeros(2)
    )
    rare, common = int(by_parity[0]), int(by_parity[1])
    if rare + common >= _FEWEST_CHANGES and rare <= _STRAY_CHANGES * (rare + common):
        share = common / (rare + common)
        message = f"{share:.1%} of the changes fall on every second row: readings come in equal pairs"
        found.append(make("repeated-pairs", rare + common, message))
    return found


def _coverage(make: _Maker, contract: SeriesContract, tally: Tally, heads: Sequence[Head]) -> list[Finding]:
    found = []
    files = [Example(file=head.file.url) for head in heads]
    if not any(head.has_rows for head in heads):
        found.append(make("header-only", 1, "there is a header and no row", files))
    if not tally.rows:
        return found
    blank = tally.entities.keys[tally.entities.count == 0]
    if len(blank):
        places = [
            Example(file=next(head.file.url for head in heads if name in head.columns), column=str(name))
            for name in blank[:EXAMPLES_KEPT]
        ]
        found.append(make("blank-column", len(blank), "columns have no value at all", places))
    share, limit = coverage_share(tally), contract.thresholds.low_coverage_share
    if share is not None and share < limit:
        message = f"{share:.1%} of the cells hold a value, expected at least {limit:.0%}"
        found.append(make("low-coverage", tally.blanks, message))
    return found


def coverage_share(tally: Tally) -> float | None:
    """Filled cells of all cells, a fraction of 1; None without cells."""
    cells = tally.rows * len(tally.entities.keys)
    return tally.value_count / cells if cells else None


def failure_of(series: SeriesFiles, error: Exception) -> Finding:
    """The finding of a series that could not be read at all."""
    rule = "file-changed" if isinstance(error, FileChanged) else "unreadable"
    place = None
    if isinstance(error, NotASeries):
        rule, place = error.rule, error.place
    urls = [file.url for file in series.files]
    place = place or Example(file=next((url for url in urls if url in str(error)), urls[0]))
    return _Maker(series.cluster, series.name)(rule, 1, str(error), [place])
