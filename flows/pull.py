"""A dataset of the Hugging Face hub to a folder, as a flow; or one file or archive from a web address."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prefect import flow
from pydantic import BaseModel, ConfigDict, Field

from schemas.dataset import DatasetManifest
from tasks.hub.fetch import STALL_S
from tasks.hub.plan import PullPlan
from tasks.pull import PullListener, SilentPull, fetch_files, finish_pull, plan_of_pull, withdraw_manifest


class PullSettings(BaseModel):
    """What is pulled, and where to. A transfer without a byte for `stall_s` seconds is begun anew."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dest: str
    repo: str = "Qinghao/AcmeTrace"
    revision: str = "main"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    workers: int = Field(default=4, ge=1, le=64)
    stall_s: float = Field(default=STALL_S, gt=0)
    check: bool = False


@dataclass(frozen=True)
class PullResult:
    """The folder, what had to be done, and the manifest that was written."""

    dest: Path
    plan: PullPlan
    manifest: DatasetManifest


@flow(name="pull", flow_run_name="pull {settings.repo}", persist_result=False)
def pull(settings: PullSettings, listener: PullListener | None = None) -> PullResult:
    """Fetch what is missing of a dataset's commit, verify every file, and write its manifest last.

    Raises:
        SourceError, UsageError: the repository, the revision, the patterns or the folder are wrong.
        NoSpace, WrongContent, ReadFailed: the files cannot be had; what was verified is kept.
    """
    hearer = listener or SilentPull()
    dest = Path(settings.dest).expanduser().absolute()
    plan = plan_of_pull(
        settings.repo, settings.revision, dest, settings.include, settings.exclude, settings.check
    )
    hearer.planned(plan)
    if plan.wanted or plan.gone:
        withdraw_manifest(dest)
    fetched = fetch_files(plan, dest, settings.workers, settings.stall_s, hearer)
    manifest = finish_pull(plan, fetched, dest, settings.include, settings.exclude)
    return PullResult(dest, plan, manifest)
