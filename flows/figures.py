"""The figures of a finished run as a flow."""

from __future__ import annotations

from prefect import flow

from schemas.figures import FiguresManifest
from tasks.artifacts import figures_table
from tasks.figures import draw_figures
from tasks.storage.publish import local_folder


@flow(name="figures", flow_run_name="figures of {out}", persist_result=False)
def figures(out: str) -> FiguresManifest:
    """Draw all figures of the run in the folder or URL `out`.

    Raises:
        IncompleteRun: no run has finished there.
        UsageError: `out` cannot be written.
    """
    manifest = draw_figures(str(local_folder(out) or out))
    figures_table(manifest)
    return manifest
