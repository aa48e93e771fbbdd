"""Which job logs a source holds, and what their clusters are called.

Known places are `data/job_trace/` of AcmeTrace's layout and `<Cluster>/cluster_log.csv`
of Helios'. In any other folder all files that may be logs are looked at; so is one
file that is named. What is found here is only by name and place: what a file really
is, its head tells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from schemas.errors import SourceError, UsageError
from tasks.storage.listing import Entry, absolute, entries, kind_of
from tasks.storage.source import FileRef, stat_file

_PACKED = (".gz", ".zst")
_SUFFIXES = (".csv", ".txt", ".log", ".json", ".sacct", ".psv", ".tsv")
_DEEPEST = 4
# Folders of the dataset that hold telemetry, and those of our own outputs.
_ELSEWHERE = frozenset({"utilization", "util_pkl", "summaries", "schemas", "figures"})
_TRACE = re.compile(r"(?:trace_(?P<after>.+)|(?P<before>.+)_trace)")
_QUOTA = re.compile(r"(?:(?P<cluster>.+)_)?gpu_number\.csv")
_LIKELY = re.compile(r"trace_|_trace|cluster_log|cluster_job_log|sacct|jobs?\b|job_", re.IGNORECASE)


@dataclass(frozen=True)
class LogFile:
    """A file that may be a job log: its cluster's name, and its quotas where they lie beside it."""

    cluster: str
    file: FileRef
    quota: FileRef | None = None

    @property
    def likely(self) -> bool:
        """Whether it is named like a job log."""
        return _is_likely(self.file.url)

    @property
    def label(self) -> str:
        """`cluster/job log`, as shown to a user."""
        return f"{self.cluster}/job log"


def discover_logs(source: str, clusters: tuple[str, ...] = (), *, likely: bool = False) -> list[LogFile]:
    """The possible job logs of a source, sorted by cluster; with `likely` only those named like one.

    Raises:
        SourceError: there is nothing at `source`, or no file that may be a log.
        UsageError: a named cluster has no log.
    """
    source = absolute(source)
    kind = kind_of(source)
    if kind == "nothing":
        raise SourceError(f"There is nothing at {source}.", hint="Check the path.")
    there = [source] if kind == "file" else _files(source, 1)
    urls = [url for url in there if not likely or _is_likely(url)]
    quotas = [url for url in urls if _QUOTA.fullmatch(_name(url))]
    logs = [url for url in urls if url not in quotas]
    if not logs and not likely:
        raise SourceError(
            f"{source} holds no file that may be a job log ({', '.join(_SUFFIXES)}).",
            hint="Give a log, or a folder with data/job_trace/ or <Cluster>/cluster_log.csv.",
        )
    names = _cluster_names(logs)
    missing = sorted(set(clusters) - set(names.values()))
    if missing and not likely:
        raise UsageError(
            f"{source} has no job log of {', '.join(missing)}.",
            hint=f"It has {', '.join(sorted(names.values()))}.",
        )
    return [
        LogFile(names[url], stat_file(url), _quota_of(url, names[url], quotas))
        for url in sorted(logs, key=lambda url: names[url])
        if not clusters or names[url] in clusters
    ]


def _files(folder: str, depth: int) -> Iterator[str]:
    for entry in entries(folder):
        if entry.name.startswith((".", "_")):
            continue
        if entry.folder:
            if depth < _DEEPEST and entry.name not in _ELSEWHERE:
                yield from _files(entry.url, depth + 1)
        elif _may_be_log(entry):
            yield entry.url


def _quota_of(url: str, cluster: str, quotas: list[str]) -> FileRef | None:
    """`cluster_gpu_number.csv` belongs to the log beside it, `Earth_gpu_number.csv` to that of Earth."""
    for quota in quotas:
        match = _QUOTA.fullmatch(_name(quota))
        owner = match["cluster"] if match else None
        beside = owner in ("cluster", None) and _folder(quota) == _folder(url)
        if beside or (owner or "").lower() == cluster.lower():
            return stat_file(quota)
    return None


def _may_be_log(entry: Entry) -> bool:
    stem = entry.name
    for suffix in _PACKED:
        stem = stem.removesuffix(suffix)
    return stem.endswith(_SUFFIXES) or stem == "cluster_job_log"


def _is_likely(url: str) -> bool:
    name = _name(url)
    return bool(_LIKELY.search(name) or _QUOTA.search(name) or "/job_trace/" in url)


def _cluster_names(urls: list[str]) -> dict[str, str]:
    """A name for each log: that of its cluster, or where two would share it, that of the file."""
    short = {url: _short_name(url) for url in urls}
    taken = Counter(short.values())
    return {url: name if taken[name] == 1 else _unlike(url, urls) for url, name in short.items()}


def _unlike(url: str, urls: list[str]) -> str:
    stem = _stem(url)
    alone = sum(_stem(other) == stem for other in urls) == 1
    return stem if alone else f"{_name(_folder(url))}-{stem}"


def _short_name(url: str) -> str:
    stem = _stem(url)
    if stem in ("cluster_log", "cluster_job_log"):
        return _name(_folder(url)) if stem == "cluster_log" else "philly"
    match = _TRACE.fullmatch(stem)
    return (match["after"] or match["before"]) if match else stem


def _stem(url: str) -> str:
    name = _name(url)
    for suffix in (*_PACKED, *_SUFFIXES):
        name = name.removesuffix(suffix)
    return name


def _name(url: str) -> str:
    return url.rsplit("/", 1)[-1]


def _folder(url: str) -> str:
    return url.rpartition("/")[0]
