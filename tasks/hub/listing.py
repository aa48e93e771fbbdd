"""The files of a dataset at one commit, as the hub tells them, names checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemas.errors import AcmetraceError, ReadFailed, SourceError, UsageError
from tasks.storage.hub_urls import endpoint
from tasks.storage.names import check_relative
from tasks.storage.retries import Busy, is_busy, reason, seconds_asked, with_patience

_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class RemoteFile:
    """A file of a commit: large ones are known by their SHA-256, the others by git's SHA-1."""

    path: str
    size: int
    git_sha1: str
    sha256: str | None

    @property
    def etag(self) -> str:
        """What the hub calls this content."""
        return self.sha256 or self.git_sha1


@dataclass(frozen=True)
class Listing:
    """All files of a dataset at `commit`, which `revision` stood for; sorted by path."""

    repo: str
    revision: str
    commit: str
    files: tuple[RemoteFile, ...]

    def url_of(self, file: RemoteFile) -> str:
        """The pinned address of a file."""
        return f"hf://datasets/{self.repo}@{self.commit}/{file.path}"


def list_dataset(repo: str, revision: str) -> Listing:
    """Resolve `revision` to a commit and list all its files.

    Raises:
        SourceError: there is no such repository or revision, it may not be read, or a name in it is not safe.
        ReadFailed: the hub cannot be reached, or did not give the whole list.
    """
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint())
    info: Any = _asked(
        lambda: api.repo_info(repo, repo_type="dataset", revision=revision, timeout=_TIMEOUT_S),
        repo,
        revision,
    )
    entries: list[Any] = _asked(
        lambda: list(api.list_repo_tree(repo, repo_type="dataset", revision=info.sha, recursive=True)),
        repo,
        revision,
        patient=False,  # the client has patience with the pages of a tree itself
    )
    files = tuple(
        sorted((_file(entry) for entry in entries if hasattr(entry, "blob_id")), key=lambda f: f.path)
    )
    _check_names(files, [entry.path for entry in entries if not hasattr(entry, "blob_id")], repo)
    return Listing(repo, revision, info.sha, files)


def _file(entry: Any) -> RemoteFile:
    return RemoteFile(entry.path, entry.size, entry.blob_id, entry.lfs.sha256 if entry.lfs else None)


def _check_names(files: Sequence[RemoteFile], folders: Sequence[str], repo: str) -> None:
    known: set[str] = set()
    for file in files:
        try:
            check_relative(file.path)
        except UsageError as error:
            raise SourceError(
                f"The list of {repo} is not safe: {error.message}",
                hint="Nothing was fetched. Tell its owner.",
            ) from error
        parts = file.path.split("/")
        known.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
    both = [file.path for file in files if file.path in known]
    # Git knows no empty folder: what is neither a file nor above one is a link, or a file was left out.
    strange = both + [folder for folder in folders if folder not in known]
    if strange:
        raise SourceError(
            f"The list of {repo} is not safe: {strange[0]!r} is neither a plain file nor a folder of files.",
            hint="Nothing was fetched. Links are not followed.",
        )


def _asked(call: Any, repo: str, revision: str, *, patient: bool = True) -> Any:
    def trial() -> Any:
        try:
            return call()
        except Exception as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            if status is not None and is_busy(status):
                headers = error.response.headers  # type: ignore[attr-defined]
                message = f"The hub cannot list {repo}: {reason(error)}."
                raise Busy(message, wait_s=seconds_asked(headers.get("retry-after"))) from error
            raise

    try:
        return with_patience(trial, _may_pass) if patient else trial()
    except Busy as error:
        raise ReadFailed(error.message, hint="Try again later; what was fetched is kept.") from error
    except Exception as error:
        raise _explained(error, repo, revision) from error


def _may_pass(error: Exception) -> bool:
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    unreachable = not isinstance(error, HfHubHTTPError | ValueError | OfflineModeIsEnabled)
    return isinstance(error, Busy) or unreachable


def _explained(error: Exception, repo: str, revision: str) -> AcmetraceError:
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, GatedRepoError):
        return SourceError(
            f"The dataset {repo} is open only to those who have asked for access.",
            hint="Ask for it on the dataset's page, then log in: hf auth login, or set HF_TOKEN.",
        )
    if isinstance(error, RepositoryNotFoundError):
        return SourceError(
            f"There is no dataset {repo}, or you may not see it.",
            hint="Check its name; for a private one log in: hf auth login, or set HF_TOKEN.",
        )
    if isinstance(error, RevisionNotFoundError):
        return SourceError(
            f"The dataset {repo} has no revision {revision}.",
            hint="Give a branch, a tag, or a full commit id.",
        )
    if isinstance(error, HFValidationError):
        return UsageError(f"{repo} is no name of a dataset: {reason(error)}.", hint="Write OWNER/NAME.")
    if isinstance(error, HfHubHTTPError):
        return SourceError(f"The dataset {repo} cannot be listed: {reason(error)}.")
    return ReadFailed(
        f"The hub cannot be reached to list {repo}: {reason(error)}.",
        hint="Check the network, and HF_ENDPOINT and HF_HUB_OFFLINE if they are set.",
    )
