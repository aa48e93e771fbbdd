"""`hf://` URLs of the Hugging Face hub: pinned to a commit, and the web address behind them.

The endpoint and token are those that huggingface-hub's users know: HF_ENDPOINT,
HF_TOKEN or the saved login. Listing goes through fsspec, downloading whole
datasets is the business of `tasks.hub`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from schemas.errors import SourceError
from tasks.storage.retries import reason

if TYPE_CHECKING:
    from huggingface_hub.utils import HfUri  # type: ignore[attr-defined]

_COMMIT = re.compile(r"[0-9a-f]{40}")
_TIMEOUT_S = 30.0


def endpoint() -> str | None:
    """The hub to ask, where the environment names one now."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def pinned(url: str) -> str:
    """`url` with the commit its revision (a branch, a tag, or none) stands for at this moment.

    Raises:
        SourceError: the URL, the repository or the revision is wrong, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi

    place = parsed(url)
    if place.type == "bucket" or (place.revision and _COMMIT.fullmatch(place.revision)):
        return url.rstrip("/")
    try:
        info = HfApi(endpoint=endpoint()).repo_info(
            place.id, repo_type=place.type, revision=place.revision, timeout=_TIMEOUT_S
        )
    except Exception as error:  # the library's own, and those of its HTTP client, of no common class
        raise SourceError(
            f"{url} cannot be resolved to a commit: {reason(error)}.",
            hint="Check the name, your access (hf auth login, or HF_TOKEN) and the network.",
        ) from error
    kind = "" if place.type == "model" else f"{place.type}s/"
    path = f"/{place.path_in_repo}" if place.path_in_repo else ""
    return f"hf://{kind}{place.id}@{info.sha}{path}"


def web_address(url: str) -> tuple[str, dict[str, str]]:
    """Where the bytes of a pinned `url` are, and the headers to ask with.

    Raises:
        SourceError: the URL names no file of a repository.
    """
    from huggingface_hub import get_token, hf_hub_url

    place = parsed(url)
    if place.type == "bucket" or not place.path_in_repo:
        raise SourceError(f"{url} names no file of a repository.")
    token = get_token()
    address = hf_hub_url(
        place.id, place.path_in_repo, repo_type=place.type, revision=place.revision, endpoint=endpoint()
    )
    return address, {"authorization": f"Bearer {token}"} if token else {}


def parsed(url: str) -> HfUri:
    """The parts of `url`.

    Raises:
        SourceError: it is not well formed.
    """
    from huggingface_hub.utils import parse_hf_uri  # type: ignore[attr-defined]

    try:
        return parse_hf_uri(url.rstrip("/"))
    except ValueError as error:
        raise SourceError(
            f"{url} is no place on the hub: {error}.",
            hint="Write hf://datasets/OWNER/NAME@COMMIT or a path below it.",
        ) from error
