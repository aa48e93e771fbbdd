"""What a pull has to fetch: the commit's files, less those that are there and verified."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from schemas.dataset import DATASET_NAME, DatasetFile, DatasetManifest
from schemas.errors import NoSpace, UsageError, WrongContent
from tasks.hub.fetch import part_of
from tasks.hub.listing import Listing, RemoteFile
from tasks.hub.verify import Promise, digests_of
from tasks.storage.publish import read_bytes
from tasks.storage.reference import FileRef
from tasks.storage.units import UnitStore, unit_key


@dataclass(frozen=True)
class PullPlan:
    """`present` files are there and verified, `wanted` ones are to be fetched, `gone` ones to be removed.

    `part_bytes` of the wanted ones are there from a pull that was broken off;
    `left_out` files of the commit are not asked for.
    """

    listing: Listing
    present: tuple[DatasetFile, ...]
    wanted: tuple[RemoteFile, ...]
    gone: tuple[str, ...]
    part_bytes: int
    left_out: int

    @property
    def bytes_wanted(self) -> int:
        """Bytes of the wanted files, with those that are there in part."""
        return sum(file.size for file in self.wanted)


def plan_pull(
    listing: Listing,
    dest: Path,
    include: Sequence[str],
    exclude: Sequence[str],
    *,
    check: bool = False,
    forget: bool = False,
) -> PullPlan:
    """Compare a listing with a folder. With `check` every file that is there is hashed again.

    What is found to be verified is remembered in the folder, unless `forget`.

    Raises:
        UsageError: the patterns choose no file, or a file's place leads out of the folder through a link.
    """
    from huggingface_hub.utils import filter_repo_objects  # type: ignore[attr-defined]

    chosen = tuple(
        filter_repo_objects(
            listing.files,
            allow_patterns=list(include) or None,
            ignore_patterns=list(exclude) or None,
            key=lambda file: file.path,
        )
    )
    if not chosen:
        raise UsageError(
            f"No file of {listing.repo} is chosen by the patterns.",
            hint="A pattern is a path, a folder with a / behind it, or has * in it: data/utilization/kalos/*",
        )
    store = state_of(dest)
    present, wanted = [], []
    for file in chosen:
        there = _known_file(dest, file, store, check=check, forget=forget)
        if there is None:
            wanted.append(file)
        else:
            present.append(there)
    parts = (part_of(dest / f.path, ref_of(listing, f)) for f in wanted)
    earlier = read_dataset(dest)
    paths = {file.path for file in listing.files}
    gone = [file.path for file in earlier.files if file.path not in paths] if earlier else []
    return PullPlan(
        listing,
        tuple(present),
        tuple(wanted),
        tuple(gone),
        sum(part.stat().st_size for part in parts if part.exists()),
        len(listing.files) - len(chosen),
    )


def ref_of(listing: Listing, file: RemoteFile) -> FileRef:
    """A file of a listing as something to read."""
    return FileRef(listing.url_of(file), file.size, file.etag)


def read_dataset(dest: Path) -> DatasetManifest | None:
    """The manifest of a folder; None where there is no valid one."""
    data = read_bytes(dest, DATASET_NAME)
    try:
        return None if data is None else DatasetManifest.model_validate_json(data)
    except ValidationError:
        return None


def state_of(dest: Path) -> UnitStore:
    """Where it is kept which files were verified."""
    return UnitStore(f"{dest}/.state")


def _known_file(
    dest: Path, file: RemoteFile, store: UnitStore, *, check: bool, forget: bool
) -> DatasetFile | None:
    """The file if it is there and is the promised one: as verified before, or hashed now."""
    path = _inside(dest, file.path)
    try:
        found = path.stat()
    except OSError:
        return None
    if not path.is_file() or found.st_size != file.size:
        return None
    key = _place(file, found.st_mtime_ns)
    known = None if check else store.get(key)
    if known is not None:
        return DatasetFile(path=file.path, size=file.size, sha256=json.loads(known), etag=file.etag)
    digests, start = digests_of(path)
    try:
        Promise.of(file).check(file.path, digests, start)
    except WrongContent:
        return None
    if forget:
        return DatasetFile(path=file.path, size=file.size, sha256=digests.sha256, etag=file.etag)
    return remember(dest, file, digests.sha256, store)


def remember(dest: Path, file: RemoteFile, sha256: str, store: UnitStore) -> DatasetFile:
    """Keep that the file at its place is the promised one, as long as it is not written to."""
    mtime_ns = (dest / file.path).stat().st_mtime_ns
    store.put(_place(file, mtime_ns), json.dumps(sha256).encode())
    return DatasetFile(path=file.path, size=file.size, sha256=sha256, etag=file.etag)


def check_space(dest: Path, plan: PullPlan) -> None:
    """Refuse to begin what does not fit.

    Raises:
        NoSpace: the disk has fewer free bytes than the pull needs.
    """
    needed = plan.bytes_wanted - plan.part_bytes
    folder = dest
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise NoSpace(
            f"The disk of {dest} is too small: {needed:,} bytes are needed, {free:,} are free.",
            hint="Choose fewer files with --include or --exclude, or another disk; or stream: acmetrace "
            f"summarize hf://datasets/{plan.listing.repo}.",
        )


def _place(file: RemoteFile, mtime_ns: int) -> str:
    return f"verified/{unit_key(path=file.path, size=file.size, etag=file.etag, mtime_ns=mtime_ns)}"


def _inside(dest: Path, relative: str) -> Path:
    path = dest / relative
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(dest)):
        raise UsageError(
            f"{path} leads out of {dest} through a link.", hint="Remove the link, or choose another folder."
        )
    return path
