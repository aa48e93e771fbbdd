"""A listing is whole, pinned and safe, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stamina

from schemas.errors import ReadFailed, SourceError, UsageError
from tasks.hub.listing import list_dataset
from tasks.storage.retries import ATTEMPTS
from tests.doubles.hub import NAME, HubServer, git_sha1
from tests.doubles.web import Fault

FILES = {f"data/{name}.csv": name.encode() * 1500 for name in "abcdefg"} | {"README.md": b"hello"}


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=ATTEMPTS):
        yield


def test_all_pages_of_the_commit_are_listed_with_their_digests(hub: HubServer) -> None:
    hub.page_size = 3
    commit = hub.commit(FILES)
    listing = list_dataset(NAME, "main")
    assert (listing.repo, listing.commit, listing.revision) == (NAME, commit, "main")
    assert {file.path: file.size for file in listing.files} == {p: len(d) for p, d in FILES.items()}
    by_path = {file.path: file for file in listing.files}
    assert (by_path["README.md"].sha256, by_path["README.md"].git_sha1) == (None, git_sha1(b"hello"))
    assert by_path["data/a.csv"].sha256 is not None
    assert listing.url_of(by_path["data/a.csv"]) == f"hf://datasets/{NAME}@{commit}/data/a.csv"


def test_a_busy_hub_is_asked_again_until_the_list_is_whole(hub: HubServer) -> None:
    hub.page_size = 3
    hub.commit(FILES)
    hub.fail("revision", Fault(status=429, retry_after="0"))
    hub.fail("tree", Fault(), Fault(status=503), Fault(), Fault(), Fault(status=500))
    assert len(list_dataset(NAME, "main").files) == len(FILES)


def test_a_list_that_fails_half_way_is_an_error_and_no_shorter_list(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    hub.page_size = 3
    hub.commit(FILES)
    hub.fail("tree", Fault(), *[Fault(status=500)] * 50)
    with pytest.raises(ReadFailed, match="cannot list"):
        list_dataset(NAME, "main")


@pytest.mark.parametrize(
    "name", ["../escape.csv", "/etc/passwd", "data/../../x", "a\\b", "C:/x", "a//b", "~/x"]
)
def test_a_name_that_leaves_the_folder_is_refused(hub: HubServer, name: str) -> None:
    hub.commit(FILES)
    hub.extra_entries = [{"type": "file", "path": name, "size": 1, "oid": git_sha1(b"x")}]
    with pytest.raises(SourceError, match="not safe"):
        list_dataset(NAME, "main")


def test_a_link_is_refused(hub: HubServer) -> None:
    hub.commit(FILES)
    hub.extra_entries = [{"type": "symlink", "path": "data/link", "size": 9, "oid": git_sha1(b"x")}]
    with pytest.raises(SourceError, match="Links are not followed"):
        list_dataset(NAME, "main")


def test_what_may_not_be_seen_is_told_apart(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit(FILES)
    with pytest.raises(SourceError, match="no dataset acme/none"):
        list_dataset("acme/none", "main")
    with pytest.raises(SourceError, match="no revision v9"):
        list_dataset(NAME, "v9")
    with pytest.raises(UsageError, match="OWNER/NAME"):
        list_dataset("a/b/c", "main")
    hub.gated = True
    with pytest.raises(SourceError, match="asked for access"):
        list_dataset(NAME, "main")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ReadFailed, match="cannot be reached"):
        list_dataset(NAME, "main")
