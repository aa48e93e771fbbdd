"""`acmetrace verify`: a finished run beside the published numbers."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from flows.commands.common import FAILED, OK, Talk, out, print_json, say


def verify(out_: Annotated[str, Parameter(name="out")], *, talk: Talk = Talk()) -> int:
    """Compare a finished run with the published numbers and curves of AcmeTrace.

    Ends with 1 where a number differs though the run has read all of the release, and nothing
    explains it.

    Parameters
    ----------
    out_
        Output folder or URL of a finished run.
    """
    from flows.show_verification import outcomes_text, reasons, verification_table
    from tasks.outputs.results import Results
    from tasks.verify import verify as verify_results

    lines = verify_results(Results(out_))
    if talk.json:
        print_json([{**line.model_dump(), "difference": line.difference} for line in lines])
    elif not talk.quiet:
        shown = lines if talk.verbose else [line for line in lines if line.outcome != "not computable"]
        notes = reasons(shown)
        if shown:
            out.print(verification_table(shown, notes))
        for place, note in enumerate(notes, start=1):
            say(f"{place}  {note}")
        say(outcomes_text(lines))
    return FAILED if any(line.outcome == "differs" for line in lines) else OK
