"""The unit store: results of finished units of work, kept under their keys.

A key says what a unit reads, what it does and with which code (`unit_key`), so a
result under a key never goes out of date: it is written once and used by every
later run. An entry that is cut short or damaged reads as absent, and the unit is
done again. What a result means is for the caller; here it is bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import UsageError
from tasks.storage.publish import list_files, local_folder, put_bytes, read_bytes, remove

# An entry: mark and version, length of the data, SHA-256 of the data, the data.
_HEADER = struct.Struct(">8sQ32s")
_MARK = b"ACMUNIT1"
_SUFFIX = ".unit"
_KEY = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.~\-]*/)*[0-9a-f]{32,128}", re.ASCII)


@dataclass(frozen=True)
class UnitStore:
    """Bytes under keys below `root`, a local folder or a URL of fsspec.

    A key is a hex digest, or a path that ends in one: `scan/9f86…`. The store
    pickles by its root alone; a local root is made absolute, so that a worker
    with another working folder finds the same store.
    """

    root: str

    def __init__(self, root: str | Path) -> None:
        object.__setattr__(self, "root", str(local_folder(root) or root))

    def get(self, key: str) -> bytes | None:
        """The result under `key`; None where there is none or its entry is damaged.

        Raises:
            UsageError: `key` is not a key.
            ReadFailed: storage failed.
        """
        entry = read_bytes(self.root, _file_of(key))
        if entry is None or len(entry) < _HEADER.size:
            return None
        mark, size, digest = _HEADER.unpack_from(entry)
        data = entry[_HEADER.size :]
        if mark != _MARK or size != len(data) or digest != hashlib.sha256(data).digest():
            return None
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`, at once and whole; a sound entry that is there stays.

        Raises:
            UsageError: `key` is not a key, or the folder cannot be written.
            ReadFailed: storage failed.
        """
        if self.get(key) is None:
            header = _HEADER.pack(_MARK, len(data), hashlib.sha256(data).digest())
            put_bytes(self.root, _file_of(key), header + data)

    def discard(self, prefix: str) -> int:
        """Remove every entry whose key starts with `prefix` ("" is all of them); how many there were."""
        keys = self.keys(prefix)
        for key in keys:
            remove(self.root, _file_of(key))
        return len(keys)

    def keys(self, prefix: str = "") -> tuple[str, ...]:
        """The keys that start with `prefix`, sorted, damaged entries among them."""
        folder = prefix.rpartition("/")[0]
        place = f"{self.root}/{folder}" if folder else self.root
        found = (f"{folder}/{name}" if folder else name for name in list_files(place))
        names = (name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))
        return tuple(name for name in names if name.startswith(prefix) and _KEY.fullmatch(name))


def unit_key(**parts: object) -> str:
    """SHA-256 in hex over the parts as canonical JSON: sorted names, no blanks, exact numbers.

    Parts are what JSON knows: text, integers, floats, booleans, None, lists and
    mappings with text keys. The order of names does not matter; 1, 1.0, True and
    "1" are four different parts.

    Raises:
        TypeError: a part is something else; its text would not be stable.
        ValueError: a float is not finite.
    """
    text = json.dumps(_plain(parts), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plain(part: object) -> object:
    if isinstance(part, Mapping):
        if not all(isinstance(name, str) for name in part):
            raise TypeError("a mapping in a unit key needs text keys: JSON would make 1 and '1' the same")
        return {name: _plain(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain(value) for value in part]
    return part


def _file_of(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise UsageError(
            f"{key!r} is not the key of a unit.", hint="A key is a hex digest, or names and a digest."
        )
    return f"{key}{_SUFFIX}"
