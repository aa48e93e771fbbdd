"""A wide series from its files to its summary: head, spec, scan, verdict, curves.

This is the whole path of one series in reading order. Blocks are run by the
given `Executor`; heads, blocks and finished files are remembered in the `UnitStore`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pandas as pd

from schemas.errors import NotASeries
from schemas.findings import Finding
from schemas.pickles import periods_of
from schemas.series import Observed, SeriesContract, SeriesRecord
from schemas.version import code_version
from tasks.series.clock import zone_label
from tasks.series.curves import curves_of
from tasks.series.discover import SeriesFiles
from tasks.series.frames import entity_frame, episode_frame, hour_frame
from tasks.series.head import Head, read_head
from tasks.series.judge import coverage_share, failure_of, judge, modal_interval_s, verdict_of
from tasks.series.options import ScanOptions, contract_of
from tasks.series.refine import KeyRanges
from tasks.series.spec import ScanSpec, month_window, spec_for
from tasks.series.summary import SeriesSummary
from tasks.series.tally import Tally
from tasks.series.units import (
    WIDE,
    Executor,
    FileScan,
    ScanKind,
    blocks_of,
    code_digest,
    fitting_block_bytes,
    is_known,
    plan_file,
    tally_file,
)
from tasks.storage.source import FileRef
from tasks.storage.units import UnitStore, unit_key


@dataclass(frozen=True)
class PlannedSeries:
    """A series that can be scanned: its contract, heads, spec and the scan of each file."""

    series: SeriesFiles
    kind: ScanKind
    contract: SeriesContract
    heads: tuple[Head, ...]
    spec: ScanSpec
    scans: tuple[FileScan, ...]
    within: tuple[tuple[int, int] | None, ...]
    block_bytes: tuple[int, ...]


def heads_of(
    series: SeriesFiles, store: UnitStore | None, read: Callable[[FileRef], Head] = read_head
) -> tuple[Head, ...]:
    """The heads of all files of a series, read by `read` where the store does not know them.

    Raises:
        NotASeries, FileChanged, ReadFailed: as `read_head`.
    """
    return tuple(_known_head(file, store, read) if store else read(file) for file in series.files)


def _known_head(file: FileRef, store: UnitStore, read: Callable[[FileRef], Head]) -> Head:
    key = f"heads/{unit_key(url=file.url, size=file.size, version=file.version, code=code_digest())}"
    known = store.get(key)
    if known is not None:
        return Head.from_bytes(file, known)
    head = read(file)
    store.put(key, head.to_bytes())
    return head


def plan_series(
    series: SeriesFiles,
    heads: tuple[Head, ...],
    options: ScanOptions,
    kind: ScanKind = WIDE,
    contract: SeriesContract | None = None,
    store: UnitStore | None = None,
) -> PlannedSeries:
    """Decide how the files of a series are scanned; the contract is that of its metric unless one is given.

    Where a period is asked for, `store` remembers which bytes of a file it takes.

    Raises:
        NotASeries: times have no zone and none is given (rule `no-zone`).
    """
    for head in heads:
        if head.naive and options.timezone is None:
            raise NotASeries(
                f"The times of {head.file.url} have no zone.",
                hint="Say which they are in: --timezone Asia/Shanghai, or --timezone +08:00.",
                rule="no-zone",
                place=head.first_time(),
            )
    contract = contract or contract_of(series.name, options)
    windows = tuple(month_window(name) for name in periods_of(series.cluster, series.name))
    spec = spec_for(
        contract,
        list(heads),
        windows=windows,
        since_ms=options.since_ms,
        until_ms=options.until_ms,
        timezone=options.timezone,
    )
    within = tuple(_known_period(head, spec, kind, store) for head in heads)
    sizes = tuple(
        options.block_bytes or min(fitting_block_bytes(head.file.size, options.workers), kind.largest_block)
        for head in heads
    )
    scans = tuple(
        plan_file(kind, head, spec, block_bytes, part)
        for head, part, block_bytes in zip(heads, within, sizes, strict=True)
    )
    return PlannedSeries(series, kind, contract, heads, spec, scans, within, sizes)


def _known_period(
    head: Head, spec: ScanSpec, kind: ScanKind, store: UnitStore | None
) -> tuple[int, int] | None:
    if store is None or not spec.has_period:
        return kind.period(head, spec)
    file = head.file
    parts = {"url": file.url, "size": file.size, "version": file.version, "timezone": spec.timezone}
    period = [spec.since_ms, spec.until_ms]
    key = f"periods/{unit_key(**parts, period=period, code=code_digest())}"
    known = store.get(key)
    if known is None:
        known = json.dumps(kind.period(head, spec)).encode()
        store.put(key, known)
    within = json.loads(known)
    return None if within is None else (within[0], within[1])


def summarise_series(
    planned: PlannedSeries,
    executor: Executor,
    store: UnitStore | None = None,
    *,
    judge_only: bool = False,
    on_pass: Callable[[int, int], None] = lambda number, size: None,
) -> SeriesSummary:
    """Scan a planned series, judge it, and compute its curves unless `judge_only`.

    `on_pass` is told the number of each pass (from 1) and the bytes it reads.

    Raises:
        FileChanged, ReadFailed: a file changed or storage failed; trying again may help.
    """
    on_pass(1, bytes_unread(planned.scans, store))
    tally = planned.kind.finish(_tally(planned.scans, executor, store))
    told = replace(planned, heads=tuple(_with_known(head, tally) for head in planned.heads))
    findings = judge(
        planned.series.cluster,
        planned.contract,
        told.heads,
        tally,
        planned.spec,
        partial=any(part is not None for part in planned.within),
    )
    record = _record(told, tally, findings)
    if record.verdict in ("failed", "no data") or judge_only:
        return SeriesSummary(record, (), pd.DataFrame(), pd.DataFrame())

    def recount(number: int, ranges: KeyRanges) -> Tally:
        scans = tuple(
            plan_file(planned.kind, head, planned.spec.refined(ranges), block_bytes, part)
            for head, part, block_bytes in zip(
                planned.heads, planned.within, planned.block_bytes, strict=True
            )
        )
        on_pass(number, bytes_unread(scans, store))
        return _tally(scans, executor, store)

    cluster, metric = planned.series.cluster, planned.contract.metric
    windows = tuple(window.name for window in planned.spec.windows)
    return SeriesSummary(
        record,
        curves_of(cluster, metric.name, tally, windows, recount),
        entity_frame(cluster, metric, tally.entities, tally.decimals),
        hour_frame(cluster, metric, tally.hours, tally.decimals),
        episode_frame(cluster, metric, tally.runs, tally.decimals),
    )


def failed_summary(series: SeriesFiles, error: Exception, options: ScanOptions) -> SeriesSummary:
    """The summary of a series that could not be scanned: a record with the reason, and no number."""
    finding = failure_of(series, error)
    contract = contract_of(series.name, options)
    record = SeriesRecord(
        cluster=series.cluster,
        series=series.name,
        contract=contract,
        entities=(),
        observed=Observed(
            files=tuple(file.url for file in series.files),
            bytes=sum(file.size for file in series.files),
            bytes_read=0,
            rows=0,
            columns=0,
            values=0,
            blanks=0,
        ),
        findings=(finding,),
        verdict=verdict_of((finding,), 0),
        code_version=code_version(),
    )
    return SeriesSummary(record, (), pd.DataFrame(), pd.DataFrame())


def _tally(scans: Sequence[FileScan], executor: Executor, store: UnitStore | None) -> Tally:
    tally = Tally()
    for scan in scans:
        tally = tally.merge(tally_file(scan, executor, store))
    return tally


def _with_known(head: Head, tally: Tally) -> Head:
    """The head with only the columns that the tally knows."""
    known = set(tally.entities.keys.tolist())
    if known.issuperset(head.columns) or not tally.rows:
        return head
    kept = [pair for pair in zip(head.names, head.columns, strict=True) if pair[1] in known]
    return replace(head, names=tuple(n for n, _ in kept), columns=tuple(c for _, c in kept))


def bytes_unread(scans: Sequence[FileScan], store: UnitStore | None) -> int:
    """Bytes of the files that have no stored result."""
    return sum(scan.bytes_to_read for scan in scans if not is_known(scan, store))


def bytes_done(scans: Sequence[FileScan], store: UnitStore) -> int:
    """Bytes of files without a stored result whose blocks have one: what an interrupted run has read."""
    done = 0
    for scan in scans:
        if not is_known(scan, store):
            known = {key.rpartition("/")[2] for key in store.keys(f"{blocks_of(scan)}/")}
            done += sum(unit.block.stop - unit.block.start for unit in scan.units if unit.key in known)
    return done


def _record(planned: PlannedSeries, tally: Tally, findings: tuple[Finding, ...]) -> SeriesRecord:
    table = tally.window()
    values = tally.value_count
    known = values > 0
    entities = tuple(dict.fromkeys(name for head in planned.heads for name in head.columns))
    observed = Observed(
        files=tuple(head.file.url for head in planned.heads),
        digests=tally.digests_of(head.file for head in planned.heads),
        bytes=sum(head.file.size for head in planned.heads),
        bytes_read=tally.bytes_read,
        rows=tally.rows,
        rows_outside_period=tally.outside_rows,
        columns=len(entities),
        values=values,
        blanks=tally.blanks,
        bad_cells=tally.bad_cells,
        bad_rows=tally.bad_rows,
        distinct_values=len(table.keys) if table.exact else None,
        first_time=_moment(tally.first_ms),
        last_time=_moment(tally.last_ms),
        interval_s=modal_interval_s(tally),
        missing_slots=tally.missing_slots,
        zones=tuple(zone_label(code) for code in tally.zones),
        low=float(tally.entities.least.min()) if known else None,
        high=float(tally.entities.most.max()) if known else None,
        zero_share=sum(tally.zeros.values()) / values if known else None,
        coverage_share=coverage_share(tally),
    )
    return SeriesRecord(
        cluster=planned.series.cluster,
        series=planned.series.name,
        contract=planned.contract,
        entities=entities,
        observed=observed,
        findings=findings,
        verdict=verdict_of(findings, values),
        code_version=code_version(),
    )


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
