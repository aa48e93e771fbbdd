"""The error hierarchy of the pipeline.

Every error that a user can meet derives from `AcmetraceError`. An error says
what was found, where, what was expected and what to do next. It survives
pickling, so that it arrives whole from a Dask worker, and it is *transient*
(trying again may help) or terminal by its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.findings import Example  # pydantic is too slow to import for `--help`


class AcmetraceError(Exception):
    """Base of all errors of the pipeline; `transient` tells whether a retry may help."""

    transient: bool = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint))


def _rebuild(kind: type[AcmetraceError], message: str, hint: str) -> AcmetraceError:
    return kind(message, hint=hint)


class UsageError(AcmetraceError):
    """The request itself is wrong: an option, a path, a period."""


class SourceError(AcmetraceError):
    """The source holds nothing that can be read as telemetry."""


class NotASeries(AcmetraceError):
    """A file is not a series: no `Time` column, a pointer, a web page, binary data.

    `rule` is the finding it becomes, `place` where in the file it shows.
    """

    def __init__(
        self, message: str, *, hint: str = "", rule: str = "not-a-series", place: Example | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.rule = rule
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_not_a_series, (type(self), self.message, self.hint, self.rule, self.place))


def _rebuild_not_a_series(
    kind: type[NotASeries], message: str, hint: str, rule: str, place: Example | None
) -> NotASeries:
    return kind(message, hint=hint, rule=rule, place=place)


class NotAJobLog(NotASeries):
    """A file is no job log of a known kind, or its times cannot be told."""


class FileChanged(AcmetraceError):
    """A file is not the one that was planned: its size or version differs."""

    transient = True


class ReadFailed(AcmetraceError):
    """Storage failed or returned fewer bytes than it promised."""

    transient = True


class WorkerLost(AcmetraceError):
    """Dask workers died while they held a unit of work."""

    transient = True


class ServerFailed(AcmetraceError):
    """The Prefect server that a run starts for itself does not come up."""


class Stopped(AcmetraceError):
    """The user or an orchestrator asked to stop."""


class UntrustedPickle(AcmetraceError):
    """A pickle names something other than plain lists and numeric arrays."""


class IncompleteRun(AcmetraceError):
    """An output folder has no valid manifest: its run has not finished."""


class QueryRefused(AcmetraceError):
    """A Prometheus server does not answer a query: it is not valid, or cannot be computed."""


class QueryTooLarge(AcmetraceError):
    """The answer to a query is beyond a limit of the server or of ours; one for less time may do."""


class EntityUnclear(AcmetraceError):
    """The series of a query do not name one entity each."""


class WrongContent(AcmetraceError):
    """A file that was fetched is not the one that was promised."""


class NoSpace(AcmetraceError):
    """A disk is too small for what is to be written."""


class UnsafeArchive(AcmetraceError):
    """An archive holds what must not be unpacked: a path that leaves the folder, a link, too much."""
