"""`acmetrace figures`: draw what a finished run found."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from flows.commands.common import OK, Talk, print_json, say


def figures(out_: Annotated[str, Parameter(name="out")], *, talk: Talk = Talk()) -> int:
    """Draw the figures of a finished run, as PDF and PNG.

    Parameters
    ----------
    out_
        Output folder or URL of a finished run; figures go to its folder figures.
    """
    from flows.environment import prepare
    from flows.server import OwnServer

    prepare(talk.verbosity)
    with OwnServer() as server:
        from flows.figures import figures as figures_flow

        with server.in_use():
            manifest = figures_flow(out_)
    if talk.json:
        print_json(manifest.model_dump(mode="json"))
    elif not talk.quiet:
        for name, reason in manifest.skipped.items():
            say(f"left out {name}: {reason}")
        say(f"{len(manifest.outputs)} files in {out_}/figures")
    return OK
