"""Which series a source holds: files, clusters and metrics by place and name.

A source is a directory in the released layout (`data/utilization/<cluster>/`),
any other folder of series files (then the folder is the cluster), a folder of
such folders, or one file. Nothing is opened here; whether a file is what its
name says is found out when its head is read.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from fsspec.core import url_to_fs

from schemas.errors import SourceError, UsageError
from schemas.ipmi import FOLDER_CLUSTER
from tasks.storage.source import FileRef, is_local, stat_file

SUFFIXES = (".csv", ".csv.gz", ".csv.zst")
_RELEASED = ("data/utilization", "utilization")
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


def discover(source: str, clusters: tuple[str, ...] = (), metrics: tuple[str, ...] = ()) -> list[SeriesFiles]:
    """All series of `source`, sorted by cluster and name; only those of the named clusters and metrics.

    Raises:
        SourceError: there is nothing at `source`, or no series file in it.
        UsageError: a named cluster or metric is not in the source.
    """
    folders = _folders(source)
    found = [series for cluster, urls in folders for series in _series_of(cluster, urls)]
    if not found:
        raise SourceError(
            f"{source} holds no series file ({', '.join(SUFFIXES)}).",
            hint="Give a folder with data/utilization/<cluster>/<METRIC>.csv, a folder, or one file.",
        )
    found.sort(key=lambda series: (series.cluster, series.name))
    _require(clusters, {series.cluster for series in found}, "cluster", source)
    _require(metrics, {series.name for series in found}, "metric", source)
    return [
        series
        for series in found
        if (not clusters or series.cluster in clusters) and (not metrics or series.name in metrics)
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
    if is_local(source):
        source = os.path.abspath(source.removeprefix("file://"))
    source = source.rstrip("/") or "/"
    try:
        fs, path = url_to_fs(source)
        if fs.isfile(path):
            folder = path.rstrip("/").rsplit("/", 2)
            name = folder[-2] if len(folder) > 1 and folder[-2] else "cluster"
            return [(FOLDER_CLUSTER.get(name, name), [source])]
        for released in _RELEASED:
            if fs.isdir(f"{path}/{released}"):
                return _subfolders(fs, f"{path}/{released}", source)
        if not fs.isdir(path):
            raise SourceError(
                f"There is nothing at {source}.",
                hint="Check the path, or make a sample: acmetrace sample DEST.",
            )
        own = _files(fs, path, source)
        name = path.rstrip("/").rsplit("/", 1)[-1]
        return [(FOLDER_CLUSTER.get(name, name), own)] if own else _subfolders(fs, path, source)
    except (OSError, ImportError, ValueError) as error:
        raise SourceError(f"{source} cannot be listed: {error}.") from error


def _subfolders(fs: object, path: str, source: str) -> list[tuple[str, list[str]]]:
    found = []
    for entry in sorted(fs.ls(path, detail=True), key=lambda e: e["name"]):  # type: ignore[attr-defined]
        if entry["type"] == "directory":
            name = entry["name"].rstrip("/").rsplit("/", 1)[-1]
            found.append((FOLDER_CLUSTER.get(name, name), _files(fs, entry["name"], source)))
    return found


def _files(fs: object, path: str, source: str) -> list[str]:
    entries = fs.ls(path, detail=True)  # type: ignore[attr-defined]
    names = sorted(e["name"] for e in entries if e["type"] != "directory" and e["name"].endswith(SUFFIXES))
    return names if is_local(source) else [fs.unstrip_protocol(name) for name in names]  # type: ignore[attr-defined]


def _series_of(cluster: str, urls: list[str]) -> list[SeriesFiles]:
    """Files grouped to series. An unsplit file replaces its parts, an unpacked one its packed copies."""
    groups: dict[str, dict[str, str]] = {}
    for url in sorted(urls, key=len, reverse=True):
        metric, part = series_name(url)
        groups.setdefault(metric, {})[part] = url
    found = []
    for metric, parts in groups.items():
        chosen = [parts[""]] if "" in parts else [parts[part] for part in sorted(parts)]
        files = tuple(stat_file(url) for url in chosen)
        found.append(SeriesFiles(cluster, metric, files))
    return found


def _require(wanted: tuple[str, ...], there: set[str], kind: str, source: str) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UsageError(
            f"{source} has no {kind} {', '.join(missing)}.", hint=f"It has {', '.join(sorted(there))}."
        )
