"""A finished run beside all published numbers and curves of AcmeTrace."""

from __future__ import annotations

from schemas.verification import Compared
from tasks.outputs.results import Results
from tasks.verification.headlines import compare_headlines
from tasks.verification.job_curves import compare_job_curves
from tasks.verification.pickles import compare_pickles


def verify(results: Results) -> list[Compared]:
    """A line each headline number, published pickle's curve and published distribution of jobs."""
    return [*compare_headlines(results), *compare_pickles(results), *compare_job_curves(results)]
