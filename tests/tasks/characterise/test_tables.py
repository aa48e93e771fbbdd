"""The random tables of these tests are canonical ones."""

from __future__ import annotations

from hypothesis import given

from schemas.jobs import Jobs, Quota
from tests.tasks.characterise.tables import FEW, TEXTS, Case, cases


@FEW
@given(cases())
def test_random_tables_keep_the_contract_of_job_tables_and_quotas(case: Case) -> None:
    Jobs.validate(case.jobs.astype(dict.fromkeys(TEXTS, "str")))
    Quota.validate(case.quota)
