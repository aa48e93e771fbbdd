"""A raw series from its files to the plan of its cleaned form: heads, survey, order.

This is the path of one series in reading order; `tasks.cleaning.write` goes on from the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tasks.cleaning.order import in_order
from tasks.cleaning.rules import Rule
from tasks.cleaning.survey import BlockSurvey, Survey, put_together, survey_block
from tasks.cleaning.write import Plan, plan_of
from tasks.series.head import Head
from tasks.series.spec import Block, cut

BLOCK_BYTES = 16 << 20  # a cleaned block of each thread and a few more are held


def survey_series(
    heads: Sequence[Head],
    rule: Rule,
    *,
    workers: int,
    timezone: str | None = None,
    block_bytes: int = BLOCK_BYTES,
    on_bytes: Callable[[int], None] = lambda size: None,
) -> Survey:
    """Survey the files that begin with `heads`; times without a zone are read in `timezone`.

    Raises:
        FileChanged, ReadFailed, NotASeries: a file cannot be read to its end.
    """
    blocks = [(number, block) for number, head in enumerate(heads) for block in cut(head, block_bytes)]

    def survey(place: tuple[int, Block]) -> BlockSurvey:
        number, block = place
        found = survey_block(number, heads[number], block, rule, timezone)
        on_bytes(block.file.size if block.file.compression else block.stop - block.start)
        return found

    with ThreadPoolExecutor(workers) as pool:
        try:
            surveys = list(pool.map(survey, blocks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    by_file: list[list[BlockSurvey]] = [[] for _ in heads]
    for (number, _), found in zip(blocks, surveys, strict=True):
        by_file[number].append(found)
    return put_together(heads, by_file)


def plan_series(survey: Survey, rule: Rule, timezone: str | None = None) -> Plan:
    """How a series without troubles is written.

    Raises:
        NotASeries: its rows are in too many overlapping stretches.
        FileChanged, ReadFailed: a file is not what it was, or storage failed.
    """
    return plan_of(survey, rule, in_order(survey.runs), timezone)
