"""Names of files: what may stand below a root, and names made from user data.

A relative name comes from our own code, from a manifest or from a listing of
somebody else's store; `check_relative` is the one place that says which of them
stay below their root. `safe_name` turns any text into one path segment. Nothing
here touches a file system; links are the business of `tasks.storage.publish`.
"""

from __future__ import annotations

import hashlib
import re

from schemas.errors import UsageError

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,99}", re.ASCII)
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.ASCII | re.IGNORECASE)
_SLUG_CHARACTERS = 60
_DIGEST_CHARACTERS = 32


def check_relative(relative: str) -> str:
    """`relative` unchanged, if it names a file below any root on every kind of store.

    Raises:
        UsageError: the name is empty, absolute, has an empty, `.` or `..` part, a
            backslash, a drive, a URL or chain mark, or a character no name should have.
    """
    problem = _problem(relative)
    if problem:
        raise UsageError(
            f"The file name {relative!r} {problem}.",
            hint="Names are relative to the output folder, with / between parts: summaries/curves.parquet.",
        )
    return relative


def safe_name(text: str) -> str:
    """One path segment for any text; the same text always gives the same segment.

    Short names of ASCII letters, digits, `_`, `.` and `-` stay as they are. Every
    other text keeps its readable part, and `~` with 128 bits of its SHA-256 sets
    it apart from all others: a plain name never holds `~`.
    """
    if _PLAIN.fullmatch(text) and not text.endswith(".") and not _DEVICE.fullmatch(text):
        return text
    slug = re.sub(r"[^A-Za-z0-9_\-]+", "_", text)[:_SLUG_CHARACTERS].strip("_") or "name"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slug}~{digest[:_DIGEST_CHARACTERS]}"


def _problem(relative: str) -> str:
    if not relative:
        return "is empty"
    if any(ord(c) < 32 or ord(c) == 127 or "\ud800" <= c <= "\udfff" for c in relative):
        return "holds a control character or half a character"
    if "\\" in relative:
        return "holds a backslash"
    if relative.startswith(("/", "~")) or _DRIVE.match(relative):
        return "is not relative"
    if "::" in relative or "://" in relative:
        return "looks like a URL"
    parts = relative.split("/")
    if ".." in parts:
        return "leaves the folder"
    if "" in parts or "." in parts:
        return "has an empty part"
    return ""
