"""Who we are to a server: a bearer token, or a name and a password, never shown or kept.

Secrets come from the environment or from files, so that neither the command
line nor a record of a run holds them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from schemas.errors import UsageError

TOKEN, USER, PASSWORD = (f"ACMETRACE_PROMETHEUS_{name}" for name in ("TOKEN", "USER", "PASSWORD"))


@dataclass(frozen=True)
class Credentials:
    """A token, or a user with a password, or nothing; none of them is part of any text of it."""

    token: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.token or self.user)

    def auth(self) -> httpx.Auth | None:
        """The same for an HTTP client."""
        if self.token:
            return _Bearer(self.token)
        return httpx.BasicAuth(self.user, self.password) if self.user else None


def read_credentials(
    environment: Mapping[str, str], *, token_file: str | None = None, basic_auth_file: str | None = None
) -> Credentials:
    """The credentials of a file, or else of the environment.

    A token file holds a token, a basic-auth file `user:password`.

    Raises:
        UsageError: a file cannot be read or holds something else, both kinds are given, or a part is missing.
    """
    token = user = password = ""
    if token_file:
        token = _of_file(token_file)
    if basic_auth_file:
        user, colon, password = _of_file(basic_auth_file).partition(":")
        if not user or not colon:
            raise UsageError(f"The file {basic_auth_file} does not hold user:password.")
    if not token_file and not basic_auth_file:
        token = environment.get(TOKEN, "").strip()
        user, password = environment.get(USER, ""), environment.get(PASSWORD, "")
    if token and (user or password):
        raise UsageError(
            "There are two kinds of credentials: a token, and a user with a password.",
            hint=f"Give one file, or set either {TOKEN}, or {USER} and {PASSWORD}.",
        )
    if bool(user) != bool(password):
        missing = "password" if user else "user"
        raise UsageError(f"There is no {missing} for the server.", hint=f"Set {USER} and {PASSWORD}.")
    for what, text in (("token", token), ("user", user), ("password", password)):
        if any(ord(c) < 32 or ord(c) == 127 for c in text) or (what == "token" and not text.isascii()):
            raise UsageError(f"The {what} for the server holds characters that no {what} has.")
    return Credentials(token=token, user=user, password=password)


def _of_file(path: str) -> str:
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"The file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"The file {path} is not text.") from error
    if not text:
        raise UsageError(f"The file {path} is empty.")
    return text


class _Bearer(httpx.Auth):
    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request
