"""Random canonical job tables around a short window, and the quota of its days; records for plain loops."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

# Making a table takes longer than judging it.
FEW = settings(max_examples=40)

MINUTE = pd.Timedelta(minutes=1)
GPUS = [None, 0, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65]
VCS = ["vcA", "vcB", "vcC", None]
USERS = ["ann", "ben", "cid", "dot", None]
RAW = [
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "Failed",
    "RUNNING",
    "Running",
    "PENDING",
    "Waiting",
    None,
]
STATES = {"COMPLETED": "COMPLETED", "CANCELLED": "CANCELLED", "FAILED": "FAILED", "TIMEOUT": "FAILED"}
STATES["Failed"] = "FAILED"
TEXTS = ["cluster", "job_id", "user", "vc", "type", "state", "raw_state"]

# Local starts of windows whose minutes pass midnight, the end of a month, or a change of the clocks.
STARTS = [
    ("+08:00", datetime(2020, 5, 9, 22, 30)),
    ("Asia/Shanghai", datetime(2020, 4, 30, 23, 10)),
    ("America/Los_Angeles", datetime(2017, 11, 4, 23, 40)),
    ("America/Los_Angeles", datetime(2017, 3, 12, 0, 50)),
    ("UTC", datetime(2020, 12, 31, 23, 59)),
]


@dataclass(frozen=True)
class Case:
    """A job table, the quota of its cluster, and a period in whole minutes."""

    jobs: pd.DataFrame
    quota: pd.DataFrame
    since: pd.Timestamp
    until: pd.Timestamp
    timezone: str

    @property
    def period(self) -> tuple[pd.Timestamp, pd.Timestamp, str]:
        return self.since, self.until, self.timezone

    @cached_property
    def starts(self) -> list[pd.Timestamp]:
        """The minutes of the period, UTC."""
        number = int((self.until - self.since) / MINUTE)
        return [self.since.tz_convert("UTC") + i * MINUTE for i in range(number)]

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        return records(self.jobs)

    def gpus_on(self, minute: pd.Timestamp, vc: str | None = None) -> int:
        """The quota of the minute's local day, as its definition says it."""
        today = local_time(minute, self.timezone).date()
        day = min(self._named, key=lambda day: (abs(day - today), day))
        return sum(gpus for name, gpus in self._named[day] if vc in (None, name))

    @cached_property
    def _named(self) -> dict[date, list[tuple[str, int]]]:
        named: dict[date, list[tuple[str, int]]] = {}
        for row in records(self.quota):
            named.setdefault(date.fromisoformat(row["date"]), []).append((row["vc"], row["gpus"]))
        return named


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows with None for whatever is null."""
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in table.astype(object).to_dict("records")
    ]


def table_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A canonical table of rows; what they do not name is null or, as run_s, follows from the rest."""
    full = [_complete(row, number) for number, row in enumerate(rows, 1)]
    columns: dict[str, Any] = {name: pd.Series([r[name] for r in full], dtype="str") for name in TEXTS[:2]}
    columns["row"] = pd.Series([r["row"] for r in full], dtype="int64")
    columns |= {name: pd.Series([r[name] for r in full], dtype="str") for name in TEXTS[2:]}
    for name in ("submit", "start", "end"):
        columns[name] = pd.Series([r[name] for r in full], dtype="datetime64[ms, UTC]")
    for name in ("run_s", "wait_s", "gpu_num", "cpu_num"):
        columns[name] = pd.Series([r[name] for r in full], dtype="float64")
    columns["node_num"] = pd.Series([r["node_num"] for r in full], dtype="Int64")
    for name in ("gpu_time_s", "released_duration_s", "released_queue_s", "released_gpu_time_s"):
        columns[name] = pd.Series([r[name] for r in full], dtype="float64")
    return pd.DataFrame(columns)


def _complete(row: dict[str, Any], number: int) -> dict[str, Any]:
    names = [*TEXTS, "submit", "start", "end", "run_s", "wait_s", "gpu_num", "cpu_num", "node_num"]
    names += ["gpu_time_s", "released_duration_s", "released_queue_s", "released_gpu_time_s"]
    full = dict.fromkeys(names) | {"cluster": "test", "job_id": f"j{number}", "row": number} | row
    for name, first, last in (("run_s", "start", "end"), ("wait_s", "submit", "start")):
        if name not in row and full[first] is not None and full[last] is not None:
            seconds = (full[last] - full[first]).total_seconds()
            full[name] = seconds if seconds >= 0 else None
    if full["gpu_num"] and full["run_s"] is not None:
        full["gpu_time_s"] = full["run_s"] * full["gpu_num"]
    return full


def seconds(low: int, high: int) -> st.SearchStrategy[timedelta]:
    """Whole seconds, whole minutes and milliseconds."""
    return st.one_of(
        st.integers(low, high).map(lambda s: timedelta(seconds=s)),
        st.integers(low // 60, high // 60).map(lambda m: timedelta(minutes=m)),
        st.integers(low * 1000, high * 1000).map(lambda ms: timedelta(milliseconds=ms)),
    )


@st.composite
def job_rows(draw: st.DrawFn, since: pd.Timestamp, minutes: int) -> dict[str, Any]:
    """A job whose life may touch a window of some minutes; any of its times may be unknown."""
    submit = since + draw(seconds(-3600, minutes * 60 + 1800))
    start = submit + draw(st.one_of(st.just(timedelta()), seconds(0, 90), seconds(0, 5400)))
    end = start + draw(st.one_of(st.just(timedelta()), seconds(0, 90), seconds(0, 9000)))
    unknown = draw(
        st.sampled_from(["", "", "", "", "end", "start", "submit", "start end", "submit start end"])
    )
    raw = draw(st.sampled_from(RAW))
    row: dict[str, Any] = {
        "user": draw(st.sampled_from(USERS)),
        "vc": draw(st.sampled_from(VCS)),
        "raw_state": raw,
        "state": STATES.get(raw) if raw else draw(st.sampled_from([None, "COMPLETED"])),
        "gpu_num": draw(st.sampled_from(GPUS)),
        "cpu_num": draw(st.sampled_from([None, 0, 1, 4, 32])),
        "submit": submit,
        "start": start,
        "end": end,
    }
    row |= dict.fromkeys(unknown.split())
    if draw(st.integers(0, 19)) == 0:
        row["end"], row["start"] = row["start"], row["end"]
    return row


@st.composite
def quotas(draw: st.DrawFn, day: datetime) -> pd.DataFrame:
    """GPUs of three virtual clusters on some days about one; a day may name only some of them."""
    days = draw(st.sets(st.integers(-2, 3), min_size=1, max_size=4))
    rows = [
        {"cluster": "test", "date": (day + timedelta(days=shift)).date().isoformat(), "vc": vc, "gpus": gpus}
        for shift in sorted(days)
        for vc in VCS[:3]
        if (gpus := draw(st.sampled_from([None, 0, 1, 8, 24]))) is not None
    ]
    rows = rows or [{"cluster": "test", "date": day.date().isoformat(), "vc": "vcA", "gpus": 8}]
    return pd.DataFrame(rows).astype({"cluster": "str", "date": "str", "vc": "str", "gpus": "int64"})


@st.composite
def cases(draw: st.DrawFn, max_jobs: int = 12, max_minutes: int = 100) -> Case:
    """Random jobs about a random window; their strings may be categoricals."""
    timezone, local = draw(st.sampled_from(STARTS))
    since = pd.Timestamp(local).tz_localize(timezone)
    minutes = draw(st.integers(1, max_minutes))
    rows = draw(st.lists(job_rows(since.tz_convert("UTC"), minutes), max_size=max_jobs))
    jobs = table_of(rows)
    if draw(st.booleans()):
        jobs = jobs.astype(dict.fromkeys(TEXTS, "category"))
    return Case(jobs, draw(quotas(local)), since, since + minutes * MINUTE, timezone)


def local_time(time: pd.Timestamp, timezone: str) -> pd.Timestamp:
    """The wall clock at a time, by the standard library where it knows the zone."""
    if timezone.startswith("+"):
        return time.tz_convert("UTC").tz_localize(None) + pd.Timedelta(hours=int(timezone[1:3]))
    return pd.Timestamp(time.to_pydatetime().astimezone(ZoneInfo(timezone)).replace(tzinfo=None))
