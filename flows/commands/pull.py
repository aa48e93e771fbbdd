"""`acmetrace pull`: a dataset of the hub, an archive or one file, to a folder, verified."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from rich.markup import escape

from flows.commands.common import OK, Names, Talk, err, first_problem, print_json, say
from schemas.errors import UsageError

if TYPE_CHECKING:
    from flows.pull import PullSettings
    from tasks.hub.plan import PullPlan

_WEB = Group("Instead of a dataset of the hub", sort_key=1)


def pull(
    dest: Path,
    *,
    repo: str | None = None,
    revision: str = "main",
    include: Names = (),
    exclude: Names = (),
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    check: Annotated[bool, Parameter(negative="")] = False,
    workers: int = 4,
    stall: float = 60.0,
    source: Annotated[str | None, Parameter(group=_WEB)] = None,
    url: Annotated[str | None, Parameter(group=_WEB)] = None,
    sha256: Annotated[str | None, Parameter(group=_WEB)] = None,
    unpack: Annotated[bool, Parameter(negative="", group=_WEB)] = False,
    talk: Talk = Talk(),
) -> int:
    """Fetch a dataset, verify every file, and go on where an earlier pull broke off.

    HF_ENDPOINT, HF_TOKEN and HF_HOME mean what they mean to huggingface-hub.

    Parameters
    ----------
    dest
        Folder for the files; what is there and verified is not fetched again.
    repo
        Dataset of the hub, OWNER/NAME: Qinghao/AcmeTrace by default.
    revision
        Branch, tag or commit.
    include
        Only these files: paths, folders with a / behind, or patterns with *.
    exclude
        Not these files.
    dry_run
        Say what would be fetched, and touch nothing.
    check
        Hash again what is there, also where it was not written to since.
    workers
        Files to fetch at a time.
    stall
        Seconds without a single byte after which a transfer is begun anew.
    source
        A dataset known by name: acmetrace, or helios, whose archive is unpacked.
    url
        A file at a web address; dest is then the file, or the folder that it is unpacked to.
    sha256
        What its SHA-256 must be.
    unpack
        Unpack it, a zip, to dest.
    """
    from schemas.sources import SOURCES

    if source is not None:
        if source not in SOURCES:
            raise UsageError(f"There is no source '{source}'.", hint=f"Known: {', '.join(SOURCES)}.")
        known = SOURCES[source]
        if known.url:
            url, sha256, unpack = url or known.url, sha256 or known.sha256, True
        repo = repo or known.repo
    if url is not None:
        return _pull_url(url, dest, sha256, stall, talk, unpack=unpack)
    if sha256 or unpack:
        raise UsageError("--sha256 and --unpack belong to --url.")
    settings = _settings(
        dest=str(dest),
        repo=repo or SOURCES["acmetrace"].repo,
        revision=revision,
        include=include,
        exclude=exclude,
        workers=workers,
        stall_s=stall,
        check=check,
    )
    return _dry_run(settings, talk) if dry_run else _pull(settings, talk)


def _settings(**options: Any) -> PullSettings:
    from pydantic import ValidationError

    from flows.environment import prepare

    prepare(0)
    from flows.pull import PullSettings

    try:
        return PullSettings(**options)
    except ValidationError as error:
        raise UsageError(first_problem(error)) from error


def _pull(settings: PullSettings, talk: Talk) -> int:
    from flows.environment import prepare, without_collection
    from flows.server import OwnServer

    prepare(talk.verbosity)
    with OwnServer() as server:
        with without_collection():
            from flows.pull import pull as pull_flow
        with _watched(talk) as listener, server.in_use():
            result = pull_flow(settings, listener)
    if talk.json:
        print_json(result.manifest.model_dump(mode="json"))
    elif not talk.quiet:
        total = sum(file.size for file in result.manifest.files)
        removed = f", {len(result.plan.gone)} removed" if result.plan.gone else ""
        say(
            f"{len(result.manifest.files)} files, {total / 1e6:,.1f} MB of {result.manifest.repo}"
            f"@{result.manifest.commit[:12]} verified in {settings.dest}{removed}"
        )
        say(f"Next: acmetrace run {shlex.quote(settings.dest)} --out out")
    return OK


def _dry_run(settings: PullSettings, talk: Talk) -> int:
    from tasks.hub.listing import list_dataset
    from tasks.hub.plan import check_space, plan_pull

    dest = Path(settings.dest).expanduser().absolute()
    listing = list_dataset(settings.repo, settings.revision)
    plan = plan_pull(listing, dest, settings.include, settings.exclude, check=settings.check, forget=True)
    if talk.json:
        print_json(
            {
                "repo": listing.repo,
                "commit": listing.commit,
                "fetch": [{"path": file.path, "size": file.size} for file in plan.wanted],
                "present": [file.path for file in plan.present],
                "remove": list(plan.gone),
            }
        )
    elif not talk.quiet:
        for file in plan.wanted:
            say(f"fetch  {file.size:>15,}  {file.path}")
        for path in plan.gone:
            say(f"remove {'':>15}  {path}")
        say(_planned_text(plan))
    check_space(dest, plan)
    return OK


def _pull_url(url: str, dest: Path, sha256: str | None, stall_s: float, talk: Talk, *, unpack: bool) -> int:
    import tempfile

    from tasks.hub.archive import unpack as unpack_archive
    from tasks.hub.single import fetch_url, name_of

    name = name_of(url)
    if dest.exists() and (unpack or not dest.is_dir()):
        raise UsageError(f"{dest} is there already.", hint="Name a new place, or remove this one first.")
    with _watched(talk) as listener:

        def fetched_to(target: Path) -> str:
            listener.started(name, 0)
            digests = fetch_url(
                url,
                target,
                sha256,
                stall_s=stall_s,
                on_size=lambda size: listener.started(name, size),
                on_bytes=lambda count: listener.received(name, count),
            )
            listener.verified(name)
            return digests.sha256

        if unpack:
            dest.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".pull-", dir=dest.parent) as folder:
                found = fetched_to(Path(folder) / name)
                files = unpack_archive(Path(folder) / name, dest)
        else:
            target = dest / name if dest.is_dir() else dest
            found = fetched_to(target)
            files = (target.name,)
    if talk.json:
        print_json({"dest": str(dest), "sha256": found, "files": list(files)})
    elif not talk.quiet:
        say(
            f"{len(files)} files in {dest}; SHA-256 of {name}: {found}" + ("" if sha256 else " (not checked)")
        )
    return OK


def _planned_text(plan: PullPlan) -> str:
    there = f", {len(plan.present)} are there" if plan.present else ""
    part = f" ({plan.part_bytes / 1e6:,.1f} MB of it from before)" if plan.part_bytes else ""
    left_out = f", {plan.left_out} left out" if plan.left_out else ""
    return (
        f"{plan.listing.repo}@{plan.listing.commit[:12]}: {len(plan.wanted)} files to fetch, "
        f"{plan.bytes_wanted / 1e6:,.1f} MB{part}{there}{left_out}"
    )


@contextmanager
def _watched(talk: Talk) -> Iterator[_Terminal]:
    """A listener with a bar a file and one for all, on a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from flows.console import Speed

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        Speed(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=talk.verbosity != 0 or not err.is_terminal,
        speed_estimate_period=60,
    )
    with progress:
        yield _Terminal(progress, talk.verbosity)


class _Terminal:
    """Shows a pull on stderr: bars on a terminal, else a line a file."""

    def __init__(self, progress: Any, verbosity: int) -> None:
        self._progress = progress
        self._verbosity = verbosity
        self._lock = threading.Lock()
        self._bars: dict[str, Any] = {}
        self._total: Any = None

    def planned(self, plan: PullPlan) -> None:
        """Say what will be fetched."""
        if self._verbosity >= 0:
            err.print(escape(_planned_text(plan)), highlight=False, soft_wrap=True)
        if plan.wanted:
            self._total = self._progress.add_task("[bold]total", total=plan.bytes_wanted)

    def started(self, path: str, size: int) -> None:
        """Show a bar."""
        with self._lock:
            if path in self._bars:
                self._progress.update(self._bars[path], total=size or None)
            else:
                self._bars[path] = self._progress.add_task(escape(path), total=size or None)

    def received(self, path: str, count: int) -> None:
        """Move the bars on."""
        with self._lock:
            for bar in (self._bars.get(path), self._total):
                if bar is not None:
                    self._progress.advance(bar, count)

    def verified(self, path: str) -> None:
        """Replace the bar by a line."""
        with self._lock:
            self._progress.remove_task(self._bars.pop(path))
        if self._verbosity >= 0:
            err.print(f"[green]verified[/] {escape(path)}", highlight=False, soft_wrap=True)
