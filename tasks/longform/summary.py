"""From scanned IPMI files to their summaries: curves, rows of the tables, record.

A run has up to three released files and any number of a user's own. Curves of
all GPU servers need every GPU file, so that they stand in the summary of the
first of them, and nowhere if one of them failed. Names are in `schemas.ipmi`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.ipmi import (
    IPMI_FILES,
    SERVER_POWER,
    Servers,
    group_curve,
    node_address,
    own_curve,
    power_metric,
    type_curve,
)
from schemas.series import SeriesRecord, Thresholds
from tasks.longform.columns import MEMORY, POWER_COLUMNS, TOTAL
from tasks.longform.judge import IpmiSeries, record_of
from tasks.longform.servers import node_types
from tasks.longform.statistics import group_stats, whole_curve
from tasks.series.frames import entity_frame, hour_frame
from tasks.series.summary import Curve, SeriesSummary
from tasks.series.tally import GroupStats

NameOf = Callable[[str], str]


@dataclass(frozen=True)
class _Judged:
    series: IpmiSeries
    record: SeriesRecord

    @property
    def has_numbers(self) -> bool:
        return self.record.verdict not in ("failed", "no data")

    @property
    def servers(self) -> Servers | None:
        file = IPMI_FILES.get(self.series.name)
        return file.servers if file else None


def summarise_ipmi(
    cluster: str,
    series: Sequence[IpmiSeries],
    thresholds: Thresholds | None = None,
    failed: Collection[str] = (),
) -> list[SeriesSummary]:
    """One summary of each of the IPMI `series` of a cluster, in the order given.

    `failed` names the IPMI series of the run that could not be scanned at all: no
    curve that needs them is made.

    Raises:
        ValueError: files whose values are added up were scanned in different decimals.
    """
    if len({one.spec.decimals for one in series}) > 1:
        raise ValueError("IPMI files of one cluster were scanned in different decimals")
    judged = [_Judged(one, record_of(cluster, one, thresholds)) for one in series]
    broken = {*failed, *(one.series.name for one in judged if one.record.verdict == "failed")}
    groups: dict[Servers, list[_Judged]] = {"gpu": [], "cpu": []}
    for one in judged:
        if one.servers and one.has_numbers:
            groups[one.servers].append(one)
    summaries = []
    for one in judged:
        if not one.has_numbers:
            summaries.append(SeriesSummary(one.record, (), pd.DataFrame(), pd.DataFrame()))
            continue
        curves = _type_curves(cluster, one.series)
        members, name_of = [one], _own_names(one.series.name)
        if one.servers:
            whole = not any(f.stem in broken for f in IPMI_FILES.values() if f.servers == one.servers)
            members = groups[one.servers] if whole and groups[one.servers][0] is one else []
            name_of = _group_names(one.servers)
        scans = [member.series for member in members]
        curves += _curves(cluster, scans, name_of)
        hourly = _hourly(cluster, scans, name_of)
        summaries.append(SeriesSummary(one.record, tuple(curves), _entities(cluster, one, name_of), hourly))
    return summaries


def _group_names(servers: Servers) -> NameOf:
    return lambda column: group_curve(column, servers)


def _own_names(file: str) -> NameOf:
    return lambda column: own_curve(column, file)


def _type_curves(cluster: str, series: IpmiSeries) -> list[Curve]:
    """Total power of the servers of each type in the file."""
    types = np.array([kind or "" for kind in node_types(series.name, series.tally, MEMORY in series.power)])
    nodes, values, counts = series.tally.cells.of_column(TOTAL)
    found = []
    for kind in IPMI_FILES[series.name].types if series.name in IPMI_FILES else ():
        here = types[nodes] == kind
        curve = whole_curve(cluster, type_curve(kind), [(values[here], counts[here])])
        found += [curve] if curve else []
    return found


def _curves(cluster: str, scans: Sequence[IpmiSeries], name_of: NameOf) -> list[Curve]:
    """A curve of each power column, all nodes of all `scans` together."""
    found = []
    for column, name in enumerate(POWER_COLUMNS):
        parts = (scan.tally.cells.of_column(column) for scan in scans)
        curve = whole_curve(cluster, name_of(name), ((values, counts) for _, values, counts in parts))
        found += [curve] if curve else []
    return found


def _hourly(cluster: str, scans: Sequence[IpmiSeries], name_of: NameOf) -> pd.DataFrame:
    """Rows of the hourly table: each power column, all nodes of all `scans` together."""
    frames = []
    for column, name in enumerate(POWER_COLUMNS):
        hours = GroupStats.empty("i8")
        for scan in scans:
            hours = hours.merge(scan.tally.hours_of(column))
        if len(hours.keys):
            metric = power_metric(name_of(name), name)
            frames.append(hour_frame(cluster, metric, hours, scans[0].spec.decimals))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _entities(cluster: str, one: _Judged, name_of: NameOf) -> pd.DataFrame:
    """Rows of the entities table: each node and power column of a file."""
    series, frames = one.series, []
    names = series.tally.nodes.names
    named = np.array([bool(name) for name in names])
    place = np.cumsum(named) - 1
    for column in series.power:
        nodes, values, counts = series.tally.cells.of_column(column)
        here = named[nodes]
        groups = group_stats(
            np.array([name for name in names if name], np.str_),
            place[nodes[here]],
            values[here],
            counts[here],
            series.tally.nodes.blanks[named, column],
            series.spec,
        )
        metric = SERVER_POWER if column == TOTAL and one.servers else name_of(POWER_COLUMNS[column])
        frame = entity_frame(
            cluster, power_metric(metric, POWER_COLUMNS[column]), groups, series.spec.decimals
        )
        frames.append(frame.assign(node=[node_address(str(name)) for name in groups.keys]))
    return pd.concat(frames, ignore_index=True)
