"""What a place holds: a file, a folder of names, or nothing; on a disk, a store, a hub or a web server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from schemas.errors import AcmetraceError, SourceError
from tasks.storage.reference import is_local, is_web, local_path
from tasks.storage.retries import reason, with_patience
from tasks.storage.stores import filesystem, may_pass

Kind = Literal["file", "folder", "nothing"]


@dataclass(frozen=True)
class Entry:
    """One name in a folder."""

    name: str
    url: str
    folder: bool


def fixed(source: str) -> str:
    """`source`, one on a hub with the commit that its branch or tag stands for now.

    Raises:
        SourceError: it names nothing, or the hub cannot be reached.
    """
    if not source.startswith("hf://"):
        return source
    from tasks.storage.hub_urls import pinned

    return pinned(source)


def absolute(source: str) -> str:
    """`source` so that it means the same in every process, from now on.

    Raises:
        SourceError: as `fixed`.
    """
    if is_local(source):
        return os.path.abspath(local_path(source).expanduser())
    return fixed(source).rstrip("/")


def kind_of(url: str) -> Kind:
    """What is at `url`.

    Raises:
        SourceError: the place cannot be looked at.
    """
    if is_local(url):
        place = local_path(url)
        return "folder" if place.is_dir() else "file" if place.exists() else "nothing"
    if _by_links(url):
        from tasks.storage.web import is_page

        page = is_page(url)
        return "nothing" if page is None else "folder" if page else "file"
    fs, path = filesystem(url)
    try:
        found = with_patience(lambda: fs.info(path), may_pass)
    except FileNotFoundError:
        return "nothing"
    except Exception as error:
        raise _unlisted(url, error) from error
    return "folder" if found["type"] == "directory" else "file"


def entries(url: str) -> list[Entry]:
    """The names in the folder at `url`, sorted.

    Raises:
        SourceError: it cannot be listed.
    """
    inside = _local_entries(url) if is_local(url) else _remote_entries(url)
    return sorted(inside, key=lambda entry: entry.name)


def _local_entries(url: str) -> list[Entry]:
    try:
        with os.scandir(local_path(url)) as found:
            return [Entry(entry.name, entry.path, entry.is_dir()) for entry in found]
    except OSError as error:
        raise _unlisted(url, error) from error


def _remote_entries(url: str) -> list[Entry]:
    fs, path = filesystem(f"{url}/" if _by_links(url) else url)
    try:
        found = with_patience(lambda: fs.ls(path, detail=True), may_pass)
    except Exception as error:
        raise _unlisted(url, error) from error
    inside = []
    for info in found:
        name = str(info["name"]).rstrip("/").rsplit("/", 1)[-1]
        inside.append(Entry(name, f"{url}/{name}", info["type"] == "directory"))
    return inside


def _by_links(url: str) -> bool:
    """Whether folders at `url` are web pages whose links are the names."""
    return is_web(url) and not url.startswith("hf://")


def _unlisted(url: str, error: Exception) -> AcmetraceError:
    if isinstance(error, AcmetraceError):
        return error
    return SourceError(
        f"{url} cannot be listed: {reason(error)}.", hint="Check the name, access and network."
    )
