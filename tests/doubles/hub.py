"""The routes of the Hugging Face hub for datasets, on loopback: listings, and files behind redirects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.doubles.web import NO_FAULT, Fault, Handler, WebServer, serving

NAME = "acme/trace"
_LFS_FROM = 1000  # bytes; smaller files are plain git files


@dataclass
class HubServer(WebServer):
    """A hub with one dataset: commits, branches, and what goes wrong next.

    Faults are scripted by the path in the dataset, for its content, and by
    "revision" and "tree" for the two listings.
    """

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    page_size: int = 1000
    needs_token: str | None = None
    gated: bool = False
    tokens: list[str] = field(default_factory=list)
    extra_entries: list[dict[str, object]] = field(default_factory=list)

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Make a commit of these files, and the branch's head of it."""
        text = repr([branch, len(self.commits), sorted(files)]).encode()
        sha = hashlib.sha1(text).hexdigest()
        self.commits[sha] = dict(files)
        self.branches[branch] = sha
        return sha

    def files_at(self, revision: str) -> dict[str, bytes] | None:
        """The files of a branch or commit."""
        return self.commits.get(self.branches.get(revision, revision))

    def fetched(self, path: str) -> list[str]:
        """The ranges in which the content of a file was asked for; "" for all of it."""
        return self.ranges(path)


def git_sha1(data: bytes) -> str:
    """The id of a file in git."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """Run a hub on loopback while the block runs."""
    with serving(HubServer(Path()), _HubHandler) as hub:
        yield hub


class _HubHandler(Handler):
    web: HubServer

    def answer(self, *, body: bool) -> None:
        place = urlsplit(self.path)
        parts = unquote(place.path).strip("/").split("/")
        if (token := self.headers.get("Authorization")) is not None:
            self.web.tokens.append(token)
        if parts[0] == "cdn":
            self._content("/".join(parts[2:]), self.web.commits[parts[1]], body=body)
            return
        api = parts[:2] == ["api", "datasets"]
        name = "/".join(parts[2:4] if api else parts[1:3])
        if name != NAME or not (api or parts[0] == "datasets"):
            self._refuse(404, "RepoNotFound", "Repository not found", body=body)
        elif self.web.needs_token and token != f"Bearer {self.web.needs_token}":
            self._refuse(401, "RepoNotFound", "Repository not found", body=body)
        elif self.web.gated:
            self._refuse(403, "GatedRepo", "Access to dataset acme/trace is restricted", body=body)
        elif api:
            self._api(parts[4:], parse_qs(place.query), body=body)
        else:
            self._resolve(parts[4], "/".join(parts[5:]), body=body)

    def _refuse(self, status: int, code: str, message: str, *, body: bool) -> None:
        self.send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": message}, body=body)

    def _api(self, parts: list[str], query: dict[str, list[str]], *, body: bool) -> None:
        kind = parts[0] if parts else "revision"
        revision = unquote(parts[1]) if len(parts) > 1 else "main"
        if self.refused(self.next_fault(kind), body=body):
            return
        files = self.web.files_at(revision)
        if files is None:
            self._refuse(404, "RevisionNotFound", f"Revision not found: {revision}", body=body)
        elif kind == "revision":
            sha = self.web.branches.get(revision, revision)
            self._json({"id": NAME, "sha": sha, "siblings": [], "private": False}, body=body)
        elif kind == "tree":
            self._tree(files, "/".join(parts[2:]), query, body=body)
        else:
            self.send(404, b"", {}, body=body)

    def _tree(self, files: dict[str, bytes], folder: str, query: dict[str, list[str]], *, body: bool) -> None:
        inside = {p: d for p, d in files.items() if not folder or p.startswith(f"{folder}/")}
        if folder and not inside:
            self._refuse(404, "EntryNotFound", "No such folder", body=body)
            return
        entries: list[dict[str, object]] = [_entry(path, data) for path, data in sorted(inside.items())]
        depth = folder.count("/") + 1 if folder else 0
        folders = {"/".join(path.split("/")[: depth + 1]) for path in inside if path.count("/") > depth}
        if query.get("recursive", ["false"])[0].lower() != "true":
            entries = [e for e in entries if str(e["path"]).count("/") == depth]
        entries += [{"type": "directory", "path": f, "oid": git_sha1(f.encode()), "size": 0} for f in folders]
        entries += self.web.extra_entries
        start = int(query.get("cursor", ["0"])[0])
        stop = start + self.web.page_size
        extra = {}
        if stop < len(entries):
            flags = "&".join(f"{k}={v[0]}" for k, v in query.items() if k != "cursor")
            extra["Link"] = f'<{self.web.url}{urlsplit(self.path).path}?{flags}&cursor={stop}>; rel="next"'
        self._json(entries[start:stop], extra, body=body)

    def _json(self, content: object, extra: dict[str, str] | None = None, *, body: bool) -> None:
        headers = {"Content-Type": "application/json", **(extra or {})}
        self.send(200, json.dumps(content).encode(), headers, body=body)

    def _resolve(self, revision: str, path: str, *, body: bool) -> None:
        sha = self.web.branches.get(revision, revision)
        files = self.web.files_at(revision)
        if files is None or path not in files:
            code = "RevisionNotFound" if files is None else "EntryNotFound"
            self._refuse(404, code, "Entry not found", body=body)
            return
        data = files[path]
        if len(data) < _LFS_FROM:
            self._content(path, files, body=body)
            return
        headers = {
            "X-Repo-Commit": sha,
            "X-Linked-Size": str(len(data)),
            "X-Linked-Etag": f'"{hashlib.sha256(data).hexdigest()}"',
            "Location": f"{self.web.url}/cdn/{sha}/{quote(path)}",
        }
        self.send(302, b"", headers, body=body)

    def _content(self, path: str, files: dict[str, bytes], *, body: bool) -> None:
        fault = self.next_fault(path) if body else NO_FAULT
        if not self.refused(fault, body=body):
            self.send_content(path, files[path], fault, body=body)

    def send(
        self, status: int, data: bytes, headers: dict[str, str], fault: Fault = NO_FAULT, *, body: bool
    ) -> None:
        sha = next((sha for sha in self.web.commits if sha in self.path), "")
        super().send(status, data, {"X-Repo-Commit": sha, **headers}, fault, body=body)


def _entry(path: str, data: bytes) -> dict[str, object]:
    entry: dict[str, object] = {"type": "file", "path": path, "size": len(data), "oid": git_sha1(data)}
    if len(data) >= _LFS_FROM:
        digest = hashlib.sha256(data).hexdigest()
        entry["lfs"] = {"oid": digest, "size": len(data), "pointerSize": 130}
    return entry
