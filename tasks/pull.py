"""The Prefect tasks of a pull: list, fetch, finish. Each is a stage, which works on a few files at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from prefect import task
from prefect.cache_policies import NO_CACHE

from schemas.dataset import DATASET_NAME, DatasetFile, DatasetManifest
from schemas.errors import Stopped
from schemas.version import code_version
from tasks.hub.fetch import fetch
from tasks.hub.listing import RemoteFile, list_dataset
from tasks.hub.plan import PullPlan, check_space, plan_pull, ref_of, remember, state_of
from tasks.hub.verify import Promise
from tasks.storage.publish import remove, write_bytes


@runtime_checkable
class PullListener(Protocol):
    """Is told of a pull; calls come from several threads."""

    def planned(self, plan: PullPlan) -> None:
        """What there is and what will be fetched; the first event."""

    def started(self, path: str, size: int) -> None:
        """A file of `size` bytes is being fetched."""

    def received(self, path: str, count: int) -> None:
        """`count` bytes of it are there; negative where bytes were thrown away."""

    def verified(self, path: str) -> None:
        """It is whole, verified and in its place."""


class SilentPull:
    """Listens to nothing."""

    def planned(self, plan: PullPlan) -> None:
        """Say nothing."""

    def started(self, path: str, size: int) -> None:
        """Say nothing."""

    def received(self, path: str, count: int) -> None:
        """Say nothing."""

    def verified(self, path: str) -> None:
        """Say nothing."""


@task(name="list", task_run_name="list {repo}@{revision}", cache_policy=NO_CACHE, persist_result=False)
def plan_of_pull(
    repo: str, revision: str, dest: Path, include: tuple[str, ...], exclude: tuple[str, ...], check: bool
) -> PullPlan:
    """What has to be fetched.

    Raises:
        As `list_dataset` and `plan_pull`.
    """
    return plan_pull(list_dataset(repo, revision), dest, include, exclude, check=check)


@task(name="fetch", task_run_name="fetch {dest}", cache_policy=NO_CACHE, persist_result=False)
def fetch_files(
    plan: PullPlan, dest: Path, workers: int, stall_s: float, listener: PullListener
) -> list[DatasetFile]:
    """Fetch and verify the wanted files, `workers` at a time; the first error stops the others.

    Raises:
        NoSpace: they do not fit.
        WrongContent, ReadFailed, UsageError: a file cannot be had; those that were finished are kept.
    """
    check_space(dest, plan)
    store, stopped = state_of(dest), threading.Event()

    def one(file: RemoteFile) -> DatasetFile:
        def received(count: int) -> None:
            if stopped.is_set():
                raise Stopped("The pull was stopped.")
            listener.received(file.path, count)

        received(0)
        listener.started(file.path, file.size)
        ref = ref_of(plan.listing, file)
        target = dest / file.path
        digests = fetch(ref, target, Promise.of(file), stall_s=stall_s, on_bytes=received)
        fetched = remember(dest, file, digests.sha256, store)
        listener.verified(file.path)
        return fetched

    return _few_at_once(one, plan.wanted, workers, stopped)


def _few_at_once(
    one: Callable[[RemoteFile], DatasetFile],
    files: Sequence[RemoteFile],
    workers: int,
    stopped: threading.Event,
) -> list[DatasetFile]:
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one, file) for file in files]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stopped.set()
            for future in futures:
                future.cancel()
    errors = [e for f in futures if f.done() and not f.cancelled() and (e := f.exception())]
    first = next((error for error in errors if not isinstance(error, Stopped)), None)
    if first is not None:
        raise first
    return [future.result() for future in futures]


@task(name="finish", task_run_name="finish {dest}", cache_policy=NO_CACHE, persist_result=False)
def finish_pull(
    plan: PullPlan,
    fetched: list[DatasetFile],
    dest: Path,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
) -> DatasetManifest:
    """Remove what the commit no longer has, and write the manifest, last."""
    for path in plan.gone:
        remove(dest, path)
    files = sorted((*plan.present, *fetched), key=lambda file: file.path)
    manifest = DatasetManifest(
        code_version=code_version(),
        repo=plan.listing.repo,
        revision=plan.listing.revision,
        commit=plan.listing.commit,
        include=include,
        exclude=exclude,
        left_out=plan.left_out,
        finished=datetime.now(UTC),
        files=tuple(files),
    )
    write_bytes(dest, DATASET_NAME, manifest.model_dump_json(indent=2).encode() + b"\n")
    return manifest


def withdraw_manifest(dest: Path) -> None:
    """Take the manifest away while files change: without one a folder is not whole."""
    remove(dest, DATASET_NAME)
