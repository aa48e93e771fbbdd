"""Which series a source holds: files, clusters and metrics by place and name.

A source is a directory in the released layout (`data/utilization/<cluster>/`),
any other folder of series files (then the folder is the cluster), a folder of
such folders, or one file. Nothing is opened here; whether a file is what its
name says is found out when its head is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemas.errors import SourceError, UsageError
from schemas.ipmi import FOLDER_CLUSTER
from tasks.storage.listing import absolute, entries, kind_of
from tasks.storage.source import FileRef, stat_file

SUFFIXES = (".csv", ".csv.gz", ".csv.zst", ".parquet")
_RELEASED = ("data/utilization", "utilization")
# Job logs by the names they are released under; `tasks.joblog` reads them.
_JOB_LOGS = ("trace_", "cluster_log.", "cluster_gpu_number.")
_PART = re.compile(r"^(?P<metric>.+?)-(?P<part>\d{4}(?:-\d{2}){0,2})$")


@dataclass(frozen=True)
class SeriesFiles:
    """The files of one series, in the order of their names."""

    cluster: str
    name: str
    files: tuple[FileRef, ...]

    @property
    def label(self) -> str:
        """`cluster/name`, as shown to a user."""
        return f"{self.cluster}/{self.name}"

    def folder_below(self, source: str) -> str:
        """The folder of the files relative to `source`; "" where they stand in it, or are it."""
        folder = self.files[0].url.rpartition("/")[0]
        return folder[len(source) :].strip("/") if folder.startswith(source) else ""


def discover(source: str, clusters: tuple[str, ...] = (), metrics: tuple[str, ...] = ()) -> list[SeriesFiles]:
    """All series of `source`, sorted by cluster and name; only those of the named clusters and metrics.

    Raises:
        SourceError: there is nothing at `source`, or no series file in it.
        UsageError: a named cluster or metric is not in the source.
    """
    folders = _folders(source)
    found = [(cluster, *series) for cluster, urls in folders for series in _series_of(urls)]
    if not found:
        raise SourceError(
            f"{source} holds no series file ({', '.join(SUFFIXES)}).",
            hint="Give a folder with data/utilization/<cluster>/<METRIC>.csv, a folder, or one file.",
        )
    _require(clusters, {cluster for cluster, _, _ in found}, "cluster", source)
    _require(metrics, {name for _, name, _ in found}, "metric", source)
    return [
        SeriesFiles(cluster, name, tuple(stat_file(url) for url in urls))
        for cluster, name, urls in sorted(found)
        if (not clusters or cluster in clusters) and (not metrics or name in metrics)
    ]


def series_name(url: str) -> tuple[str, str]:
    """Metric and part of a file name: `GPU_UTIL-2023-07.csv.gz` gives (`GPU_UTIL`, `2023-07`)."""
    stem = url.rsplit("/", 1)[-1]
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if stem.endswith(suffix):
            stem = stem.removesuffix(suffix)
            break
    match = _PART.match(stem)
    return (match["metric"], match["part"]) if match else (stem, "")


def _folders(source: str) -> list[tuple[str, list[str]]]:
    """Cluster and file urls of each folder to look at."""
    source = absolute(source)
    kind = kind_of(source)
    if kind == "file":
        return [(_cluster_of(source.rpartition("/")[0]), [source])]
    for released in _RELEASED:
        if kind_of(f"{source}/{released}") == "folder":
            return _subfolders(f"{source}/{released}")
    if kind == "nothing":
        raise SourceError(
            f"There is nothing at {source}.",
            hint="Check the path, or make a sample: acmetrace sample DEST.",
        )
    own = _files(source)
    return [(_cluster_of(source), own)] if own else _subfolders(source)


def _cluster_of(folder: str) -> str:
    name = folder.rstrip("/").rsplit("/", 1)[-1] or "cluster"
    return FOLDER_CLUSTER.get(name, name)


def _subfolders(url: str) -> list[tuple[str, list[str]]]:
    return [(_cluster_of(entry.url), _files(entry.url)) for entry in entries(url) if entry.folder]


def _files(url: str) -> list[str]:
    return [
        entry.url
        for entry in entries(url)
        if not entry.folder and entry.name.endswith(SUFFIXES) and not entry.name.startswith(_JOB_LOGS)
    ]


def _series_of(urls: list[str]) -> list[tuple[str, list[str]]]:
    """Names of series and their files; an unsplit file replaces parts, an unpacked one its packed copies."""
    groups: dict[str, dict[str, str]] = {}
    for url in sorted(urls, key=len, reverse=True):
        metric, part = series_name(url)
        groups.setdefault(metric, {})[part] = url
    return [
        (metric, [parts[""]] if "" in parts else [parts[part] for part in sorted(parts)])
        for metric, parts in groups.items()
    ]


def _require(wanted: tuple[str, ...], there: set[str], kind: str, source: str) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UsageError(
            f"{source} has no {kind} {', '.join(missing)}.", hint=f"It has {', '.join(sorted(there))}."
        )
