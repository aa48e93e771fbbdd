"""One raw series to one cleaned file and its record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from schemas.cleaning import CleanedSeries, Steps
from schemas.errors import AcmetraceError, NotASeries
from schemas.findings import Finding
from schemas.manifest import InputFile
from tasks.cleaning.rules import Rule
from tasks.cleaning.series import plan_series, survey_series
from tasks.cleaning.survey import Survey, Trouble
from tasks.cleaning.write import Cleaned, header_of, write_rows
from tasks.series.clock import EPOCH_MS, EPOCH_S, UNKNOWN_ZONE
from tasks.series.discover import SeriesFiles
from tasks.series.head import Head
from tasks.series.judge import failure_of
from tasks.storage.publish import growing_file

_SAID = {
    "bad-cell": "cells are not finite numbers",
    "bad-time": "rows have no readable time",
    "ragged-row": "rows have more or fewer cells than the header",
}


def clean_series(
    series: SeriesFiles,
    heads: Sequence[Head],
    rule: Rule,
    dest: str,
    relative: str,
    *,
    workers: int,
    on_bytes: Callable[[int], None] = lambda size: None,
) -> CleanedSeries:
    """Clean a series to the file `relative` below `dest`.

    `on_bytes` is told of bytes of the source as they are surveyed and, once more, as they are written.

    Raises:
        NotASeries: the files are no raw export, or their rows are in no order that can be mended.
        FileChanged, ReadFailed: a file is not what it was, or storage failed.
        UsageError: `dest` cannot be written.
    """
    check_raw(heads)
    survey = survey_series(heads, rule, workers=workers, on_bytes=on_bytes)
    inputs = inputs_of(series)
    if survey.troubles:
        findings = tuple(_finding(series, trouble) for trouble in survey.troubles)
        return CleanedSeries(
            cluster=series.cluster, series=series.name, status="failed", inputs=inputs, findings=findings
        )
    plan = plan_series(survey, rule)
    rows = window_rows = blank_rows = 0
    share = sum(head.file.size for head in heads) / max(survey.total("rows"), 1)
    with growing_file(dest, relative) as file:
        file.write(header_of(plan))

        def sink(cleaned: Cleaned) -> None:
            nonlocal rows, window_rows, blank_rows
            file.write(cleaned.text)
            rows += cleaned.rows
            window_rows += cleaned.in_window
            blank_rows += cleaned.blank_rows
            on_bytes(int(share * (cleaned.rows + cleaned.in_window + cleaned.blank_rows)))

        write_rows(plan, sink, workers)
        output = file.output(relative)
    read = survey.total("rows")
    return CleanedSeries(
        cluster=series.cluster,
        series=series.name,
        status="cleaned",
        inputs=inputs,
        steps=steps_of(rule),
        rows=read,
        rows_written=rows,
        duplicates=read - rows - window_rows - blank_rows,
        window_rows=window_rows,
        blank_rows=blank_rows,
        in_order=_in_order(survey),
        columns=len(plan.columns),
        blank_columns=tuple(name for name, kept in zip(survey.columns, plan.kept, strict=True) if not kept),
        output=output,
    )


def check_raw(heads: Sequence[Head]) -> None:
    """Refuse what was cleaned before: scaled twice, its numbers would be wrong and look right.

    Raises:
        NotASeries: times are not epoch numbers (rule `not-raw`).
    """
    for head in heads:
        if head.zone not in (EPOCH_S, EPOCH_MS, UNKNOWN_ZONE):
            raise NotASeries(
                f"The times of {head.file.url} are not epoch seconds, as in raw exports.",
                hint="If it was cleaned before, acmetrace run reads it as it is.",
                rule="not-raw",
                place=head.first_time(),
            )


def failed(series: SeriesFiles, error: AcmetraceError) -> CleanedSeries:
    """The record of a series that could not be read."""
    return CleanedSeries(
        cluster=series.cluster,
        series=series.name,
        status="failed",
        inputs=inputs_of(series),
        findings=(failure_of(series, error),),
    )


def inputs_of(series: SeriesFiles) -> tuple[InputFile, ...]:
    """The files of a series as a manifest names them."""
    return tuple(InputFile(path=file.url, size=file.size, version=file.version) for file in series.files)


def steps_of(rule: Rule) -> Steps:
    """A rule as a manifest tells it."""
    window = (rule.window_from, rule.window_until)
    return Steps(
        scale=rule.scale,
        decimals=rule.decimals if rule.decimals > 0 else None,
        drop_blank_rows=rule.drop_blank_rows,
        window=(_moment(window[0]), _moment(window[1])) if window[1] else None,
        suffix=rule.suffix,
        timezone=rule.timezone,
    )


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _finding(series: SeriesFiles, trouble: Trouble) -> Finding:
    return Finding(
        rule=trouble.rule,
        severity="error",
        cluster=series.cluster,
        metric=series.name,
        count=trouble.count,
        message=f"{_SAID[trouble.rule]}; nothing is written until they are mended",
        examples=trouble.places,
    )


def _in_order(survey: Survey) -> bool:
    runs = survey.runs
    return all(later.first_ms >= earlier.last_ms for earlier, later in itertools.pairwise(runs))
