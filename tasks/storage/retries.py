"""Trying again what a network or a store may refuse for a while.

The waits grow from half a second to half a minute, with jitter; a server that
says how long to wait (Retry-After) is believed, up to five minutes. What the
trial is, and which of its errors may pass, the caller says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import stamina

from schemas.errors import AcmetraceError

ATTEMPTS = 6
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_LONGEST_ASKED_S = 300.0
_SERVER_IS_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})

_REQUEST_ID = re.compile(r"\s*\(Request ID:[^)]*\)")
_BARE_STATUS = re.compile(r"\d{3} (Client|Server) Error\W*")

Result = TypeVar("Result")


class Busy(AcmetraceError):
    """A server asks to come again later; after `wait_s` seconds if it says when."""

    transient = True

    def __init__(self, message: str, *, hint: str = "", wait_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.wait_s = wait_s


def is_busy(status: int) -> bool:
    """Whether an HTTP status says that the same request may succeed later."""
    return status in _SERVER_IS_BUSY


def seconds_asked(retry_after: str | None) -> float | None:
    """The wait a Retry-After header asks for, in s; None where it gives no number of seconds."""
    text = (retry_after or "").strip()
    return min(float(text), _LONGEST_ASKED_S) if text.isdigit() else None


def reason(error: Exception) -> str:
    """What the error of a store or server says, in one line and without the request's id."""
    strerror = error.strerror if isinstance(error, OSError) else None
    lines = [_REQUEST_ID.sub("", line).strip() for line in (strerror or str(error)).splitlines()]
    told = [line for line in lines if line]
    # A bare status says less than the line behind it.
    text = next((line for line in told if not _BARE_STATUS.fullmatch(line)), "".join(told[:1]))
    return text.rstrip(". ") or type(error).__name__


def with_patience(trial: Callable[[], Result], may_pass: Callable[[Exception], bool]) -> Result:
    """The result of `trial`, tried up to six times while it fails in a way that may pass.

    Raises:
        Whatever the last trial raised.
    """

    def wait(error: Exception) -> bool | float:
        if isinstance(error, Busy) and error.wait_s is not None:
            return error.wait_s
        return may_pass(error)

    for attempt in stamina.retry_context(
        on=wait, attempts=ATTEMPTS, timeout=None, wait_initial=_FIRST_WAIT_S, wait_max=_LONGEST_WAIT_S
    ):
        with attempt:
            return trial()
    raise AssertionError("the last attempt returns or raises")
