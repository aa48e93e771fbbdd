"""The Prefect tasks of the main job: find the series, summarise each, publish the run.

A task here is coarse: one series, or the IPMI files of a cluster. It keeps its
result in the unit store and returns small references; nothing large passes
through Prefect.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.tasks import Task
from pydantic import BaseModel, ConfigDict

from schemas.errors import AcmetraceError, ReadFailed, Stopped
from schemas.findings import Verdict
from schemas.ipmi import IPMI_FILES
from schemas.metrics import CATALOGUE
from tasks.cleaning.count import check_parts, cleaned_head, raw_kind
from tasks.cleaning.output import check_raw
from tasks.cleaning.rules import rule_of
from tasks.columnar import kind_of_files, read_any_head
from tasks.longform import IPMI, IpmiSeries, ipmi_contract, is_ipmi, summarise_ipmi
from tasks.progress import Listener, Reading
from tasks.scan import DaskExecutor
from tasks.series.discover import SeriesFiles, discover
from tasks.series.head import Head
from tasks.series.options import ScanOptions, contract_of
from tasks.series.summary import SeriesSummary, pack, unpack
from tasks.series.units import FileScan, code_digest, merge_all, tally_file
from tasks.series.wide import (
    PlannedSeries,
    bytes_done,
    bytes_unread,
    failed_summary,
    heads_of,
    plan_series,
    summarise_series,
)
from tasks.storage.units import UnitStore, unit_key

_LOOKS_AT_ONCE = 4


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
            files=files,
            form=self.form,
            options=options.key_parts(),
            code=code_digest(whole=True),
            judge=judge_only,
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
        return all(is_ipmi(head) for head in heads_of(series, store, read_any_head))
    except AcmetraceError:
        return False  # the scan of the series will say what is wrong with it


def reading_of(
    source: str, groups: Sequence[SeriesGroup], unknown: Sequence[SeriesGroup], work: Work
) -> Reading:
    """What the summaries of `groups` will read of `source` if all but the `unknown` ones are there."""
    with ThreadPoolExecutor(_LOOKS_AT_ONCE) as pool:  # a store takes its time for each look
        sizes = list(pool.map(work.to_read, unknown))
    files = [file for group in groups for series in group.members for file in series.files]
    return Reading(
        source,
        len(files),
        sum(file.size for file in files),
        sum(wanted for wanted, _ in sizes),
        sum(done for _, done in sizes),
    )


def _cache_key(context: TaskRunContext, arguments: dict[str, Any]) -> str:
    return str(arguments["key"])


@dataclass(frozen=True)
class Work:
    """What all groups of a run share. `judge_only`: findings and verdicts, no curves."""

    options: ScanOptions
    executor: DaskExecutor
    store: UnitStore
    listener: Listener
    judge_only: bool = False

    def summarise(self, group: SeriesGroup, *, give_up: bool = True) -> list[SeriesSummary]:
        """The summaries of a group. A file that is no series gives a failed one and stops no other.

        With `give_up`, so does a file that cannot be read just now.

        Raises:
            FileChanged, ReadFailed, WorkerLost: trying again may help, and `give_up` is not set.
            Stopped: the run was stopped.
        """
        self.executor.check_stopped()
        summaries = self._ipmi(group, give_up) if group.form == "ipmi" else self._wide(group, give_up)
        return [summary.described() for summary in summaries]

    def to_read(self, group: SeriesGroup) -> tuple[int, int]:
        """Bytes of a group that are wanted and not known, and those of them an interrupted run has read."""
        scans: list[FileScan] = []
        for series in group.members:
            # Why a series cannot be read is told when it is its turn.
            with contextlib.suppress(AcmetraceError):
                scans += self._plan(group, series).scans
        return bytes_unread(scans, self.store), bytes_done(scans, self.store)

    def _plan(self, group: SeriesGroup, series: SeriesFiles) -> PlannedSeries:
        heads = heads_of(series, self.store, read_any_head)
        if group.form == "wide" and self.options.raw:
            return self._plan_raw(series, heads)
        if group.form == "wide":
            kind = kind_of_files(series.files)
            return plan_series(series, heads, self.options, kind, store=self.store)
        contract = ipmi_contract(series.name, self.options.thresholds)
        return plan_series(series, heads, self.options, IPMI, contract, self.store)

    def _plan_raw(self, series: SeriesFiles, heads: tuple[Head, ...]) -> PlannedSeries:
        check_raw(heads)
        check_parts(heads)
        rule = rule_of(contract_of(series.name, self.options).metric)
        cleaned = tuple(cleaned_head(head, rule) for head in heads)
        return plan_series(series, cleaned, self.options, raw_kind(rule), store=self.store)

    def _wide(self, group: SeriesGroup, give_up: bool) -> list[SeriesSummary]:
        (series,) = group.members
        try:
            return [
                summarise_series(
                    self._plan(group, series),
                    self._teller(group),
                    self.store,
                    judge_only=self.judge_only,
                    on_pass=functools.partial(self.listener.planned, group.label),
                )
            ]
        except AcmetraceError as error:
            return [self._failed(series, error, give_up)]

    def _ipmi(self, group: SeriesGroup, give_up: bool) -> list[SeriesSummary]:
        plans: list[PlannedSeries] = []
        scanned: list[IpmiSeries] = []
        failed: list[SeriesSummary] = []
        for series in group.members:
            try:
                plans.append(self._plan(group, series))
            except AcmetraceError as error:
                failed.append(self._failed(series, error, give_up))
        unread = bytes_unread([scan for plan in plans for scan in plan.scans], self.store)
        self.listener.planned(group.label, 1, unread)
        for plan in plans:
            try:
                tally = merge_all(tally_file(scan, self._teller(group), self.store) for scan in plan.scans)
            except AcmetraceError as error:
                failed.append(self._failed(plan.series, error, give_up))
                continue
            partial = any(part is not None for part in plan.within)
            scanned.append(IpmiSeries(plan.series.name, plan.heads, tally, plan.spec, partial))
        broken = [summary.record.series for summary in failed]
        summaries = summarise_ipmi(group.cluster, scanned, self.options.thresholds, broken)
        if self.judge_only:
            summaries = [SeriesSummary(s.record, (), pd.DataFrame(), pd.DataFrame()) for s in summaries]
        return summaries + failed

    def _teller(self, group: SeriesGroup) -> DaskExecutor:
        return self.executor.with_bytes(functools.partial(self.listener.read, group.label))

    def _failed(self, series: SeriesFiles, error: AcmetraceError, give_up: bool) -> SeriesSummary:
        """The summary of a series that has an error; raises it where it is nobody's fault or may pass."""
        if isinstance(error, Stopped) or (error.transient and not give_up):
            raise error
        return failed_summary(series, error, self.options)


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
def summarize_group(key: str, group: SeriesGroup, work: Work) -> GroupRef:
    """Summarise a group and keep the summaries; `key` is that of `SeriesGroup.key`.

    Raises:
        FileChanged, ReadFailed, WorkerLost: even the last try failed; nothing is kept.
    """
    place = place_of(key)
    if work.store.get(place) is None:
        summaries = work.summarise(group, give_up=False)
        work.store.put(place, pack(summaries))
    else:
        summaries = load_summaries(place, work.store)
    verdicts = {summary.record.series: summary.record.verdict for summary in summaries}
    return GroupRef(place=place, verdicts=verdicts)


def place_of(key: str) -> str:
    """Where the store keeps the summaries of the group with this key."""
    return f"summaries/{key}"


def load_summaries(place: str, store: UnitStore) -> list[SeriesSummary]:
    """The summaries kept at `place`.

    Raises:
        ReadFailed: the store no longer has them.
    """
    data = store.get(place)
    if data is None:
        raise ReadFailed(
            f"{store.root} no longer holds {place}.", hint="Run again; only what is missing is done."
        )
    return unpack(data)
