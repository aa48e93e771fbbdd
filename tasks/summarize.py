"""The Prefect tasks of the main job: find the series, summarise each, publish the run.

A task here is coarse: one series, or the IPMI files of a cluster. It keeps its
result in the unit store and returns small references; nothing large passes
through Prefect.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.tasks import Task
from pydantic import BaseModel, ConfigDict

from schemas.errors import AcmetraceError, NotASeries, ReadFailed
from schemas.findings import Verdict
from schemas.ipmi import IPMI_FILES
from schemas.metrics import CATALOGUE
from tasks.longform import IPMI, IpmiSeries, ipmi_contract, is_ipmi, summarise_ipmi
from tasks.progress import Listener
from tasks.scan import DaskExecutor
from tasks.series.discover import SeriesFiles, discover
from tasks.series.options import ScanOptions
from tasks.series.summary import SeriesSummary, pack, unpack
from tasks.series.units import code_digest, merge_all, tally_file
from tasks.series.wide import bytes_unread, failed_summary, heads_of, plan_series, summarise_series
from tasks.storage.units import UnitStore, unit_key


@dataclass(frozen=True)
class SeriesGroup:
    """Series that are summarised together: one wide series, or the IPMI files of a cluster."""

    cluster: str
    name: str
    members: tuple[SeriesFiles, ...]
    form: Literal["wide", "ipmi"]

    @property
    def label(self) -> str:
        """`cluster/name`, as shown to a user."""
        return f"{self.cluster}/{self.name}"

    def key(self, options: ScanOptions, *, judge_only: bool) -> str:
        """What decides the summaries of the group: files in their versions, options and code."""
        files = [[f.url, f.size, f.version] for member in self.members for f in member.files]
        return unit_key(
            files=files, form=self.form, options=options.key_parts(), code=code_digest(), judge=judge_only
        )


class GroupRef(BaseModel):
    """Where the summaries of a group are kept, and the verdict of each series."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    place: str
    verdicts: dict[str, Verdict]


def _transient(task_: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    """Retry only what trying again may help."""
    try:
        state.result()
    except AcmetraceError as error:
        return error.transient
    except Exception:
        return False
    return False


@task(name="discover", task_run_name="discover {source}", cache_policy=NO_CACHE)
def discover_groups(
    source: str, clusters: tuple[str, ...], metrics: tuple[str, ...], store: UnitStore
) -> list[SeriesGroup]:
    """The series of a source in the groups they are summarised in."""
    groups, ipmi = [], dict[str, list[SeriesFiles]]()
    for series in discover(source, clusters, metrics):
        if series.name in IPMI_FILES or _looks_ipmi(series, store):
            ipmi.setdefault(series.cluster, []).append(series)
        else:
            groups.append(SeriesGroup(series.cluster, series.name, (series,), "wide"))
    groups += [SeriesGroup(cluster, "IPMI", tuple(members), "ipmi") for cluster, members in ipmi.items()]
    return sorted(groups, key=lambda group: group.label)


def _looks_ipmi(series: SeriesFiles, store: UnitStore) -> bool:
    if series.name in CATALOGUE:
        return False
    try:
        return all(is_ipmi(head) for head in heads_of(series, store))
    except AcmetraceError:
        return False  # the scan of the series will say what is wrong with it


def _cache_key(context: TaskRunContext, arguments: dict[str, Any]) -> str:
    return str(arguments["key"])


@task(
    name="summarize",
    task_run_name="summarize {group.label}",
    cache_key_fn=_cache_key,
    persist_result=True,
    result_serializer="json",
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=_transient,
)
def summarize_group(
    key: str,
    group: SeriesGroup,
    options: ScanOptions,
    executor: DaskExecutor,
    store: UnitStore,
    listener: Listener,
    *,
    judge_only: bool = False,
) -> GroupRef:
    """Summarise a group and keep the summaries; `key` is that of `SeriesGroup.key`."""
    if store.get(place_of(key)) is None:
        summaries = summarise(group, options, executor, store, listener, judge_only=judge_only)
        store.put(place_of(key), pack(summaries))
    else:
        summaries = load_summaries(GroupRef(place=place_of(key), verdicts={}), store)
    verdicts = {summary.record.series: summary.record.verdict for summary in summaries}
    return GroupRef(place=place_of(key), verdicts=verdicts)


def summarise(
    group: SeriesGroup,
    options: ScanOptions,
    executor: DaskExecutor,
    store: UnitStore,
    listener: Listener,
    *,
    judge_only: bool,
) -> list[SeriesSummary]:
    """The summaries of a group. A file that is no series gives a failed one and stops no other."""
    run = _summarise_ipmi if group.form == "ipmi" else _summarise_wide
    return [summary.described() for summary in run(group, options, executor, store, listener, judge_only)]


def _summarise_wide(
    group: SeriesGroup,
    options: ScanOptions,
    executor: DaskExecutor,
    store: UnitStore,
    listener: Listener,
    judge_only: bool,
) -> list[SeriesSummary]:
    (series,) = group.members
    try:
        planned = plan_series(series, heads_of(series, store), options)
        summary = summarise_series(
            planned,
            executor.with_bytes(functools.partial(listener.read, group.label)),
            store,
            judge_only=judge_only,
            on_pass=functools.partial(listener.planned, group.label),
        )
    except NotASeries as error:
        summary = failed_summary(series, error, options)
    return [summary]


def _summarise_ipmi(
    group: SeriesGroup,
    options: ScanOptions,
    executor: DaskExecutor,
    store: UnitStore,
    listener: Listener,
    judge_only: bool,
) -> list[SeriesSummary]:
    scanned: list[IpmiSeries] = []
    failed: list[SeriesSummary] = []
    teller = executor.with_bytes(functools.partial(listener.read, group.label))
    plans = []
    for series in group.members:
        try:
            contract = ipmi_contract(series.name, options.thresholds)
            plans.append(plan_series(series, heads_of(series, store), options, IPMI, contract))
        except NotASeries as error:
            failed.append(failed_summary(series, error, options))
    listener.planned(group.label, 1, bytes_unread([scan for plan in plans for scan in plan.scans], store))
    for plan in plans:
        tally = merge_all([tally_file(scan, teller, store) for scan in plan.scans])
        partial = any(part is not None for part in plan.within)
        scanned.append(IpmiSeries(plan.series.name, plan.heads, tally, plan.spec, partial))
    broken = [summary.record.series for summary in failed]
    summaries = summarise_ipmi(group.cluster, scanned, options.thresholds, broken)
    if judge_only:
        summaries = [SeriesSummary(s.record, (), pd.DataFrame(), pd.DataFrame()) for s in summaries]
    return summaries + failed


def failed_group(group: SeriesGroup, error: Exception, options: ScanOptions) -> list[SeriesSummary]:
    """The summaries of a group that could not be read."""
    return [failed_summary(series, error, options) for series in group.members]


def place_of(key: str) -> str:
    """Where the store keeps the summaries of the group with this key."""
    return f"summaries/{key}"


def load_summaries(ref: GroupRef, store: UnitStore) -> list[SeriesSummary]:
    """The summaries behind a reference.

    Raises:
        ReadFailed: the store no longer has them.
    """
    data = store.get(ref.place)
    if data is None:
        raise ReadFailed(
            f"{store.root} no longer holds {ref.place}.", hint="Run again; only what is missing is done."
        )
    return unpack(data)
