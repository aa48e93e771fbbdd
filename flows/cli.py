"""The command line: all commands under one name, and its exit codes.

Exit codes: 0 all good; 1 failed; 2 bad usage; 3 finished, but an input was
judged failed; 130 interrupted, as shells expect. Results go to stdout,
everything else to stderr. What a command does stands in `flows.commands`.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable

from cyclopts import App, CycloptsError, Parameter
from rich.markup import escape

from flows.commands.clean import clean
from flows.commands.common import BAD_USAGE, FAILED, INTERRUPTED, OK, err, out
from flows.commands.compare import compare
from flows.commands.convert import convert
from flows.commands.export import export
from flows.commands.figures import figures
from flows.commands.jobs import jobs_app
from flows.commands.pull import pull
from flows.commands.runs import run, summarize, validate
from flows.commands.sample import sample
from flows.commands.show import show
from flows.commands.verify import verify
from schemas.errors import AcmetraceError, SourceError, UsageError
from schemas.version import code_version

app = App(
    name="acmetrace",
    help="Exact distributions of GPU cluster telemetry, at the speed of the disk.",
    help_epilogue=(
        "Exit codes: 0 all good, 1 failed, 2 bad usage, 3 finished but an input was judged failed, "
        "130 interrupted."
    ),
    version=code_version,
    # Markdown, the default, takes longer to import than all else that help needs.
    help_format="plaintext",
    console=out,
    error_console=err,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(show_default=False),
)
COMMANDS: tuple[Callable[..., int], ...] = (
    *(pull, sample, clean, convert, export),
    *(summarize, validate, run, show),
    *(figures, verify, compare),
)
for command in COMMANDS:
    app.command(command)
app.command(jobs_app)


def main() -> None:
    """The console command: run, and end with the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill stops as cleanly as Ctrl-C
    code = exit_code(sys.argv[1:])
    gc.freeze()  # else Python looks for garbage among all that was imported: a second, for nothing
    sys.exit(code)


def exit_code(arguments: list[str]) -> int:
    """Run the command line with `arguments` and give its exit code."""
    try:
        code = app(arguments, exit_on_error=False)
    except CycloptsError:
        return BAD_USAGE  # cyclopts has said what is wrong
    except (UsageError, SourceError) as error:
        err.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return BAD_USAGE
    except AcmetraceError as error:
        err.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return FAILED
    except KeyboardInterrupt:
        err.print("Interrupted. Finished work is kept; the same command goes on from there.", highlight=False)
        return INTERRUPTED
    return code if isinstance(code, int) else OK
