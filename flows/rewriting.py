"""What the flows share that write one folder of series from another."""

from __future__ import annotations

from collections.abc import Collection

from schemas.errors import UsageError
from tasks.progress import Reading
from tasks.series.discover import SeriesFiles


def reading_of_files(
    source: str, found: Collection[SeriesFiles], unknown: Collection[SeriesFiles]
) -> Reading:
    """What will be read: the files of the `unknown` series, whole."""

    def size(group: Collection[SeriesFiles]) -> int:
        return sum(file.size for series in group for file in series.files)

    return Reading(source, sum(len(series.files) for series in found), size(found), size(unknown), 0)


def refuse_itself(dest: str, found: Collection[SeriesFiles]) -> None:
    """Refuse to write into what is read.

    Raises:
        UsageError: a file of the source is below the destination.
    """
    inside = [file.url for series in found for file in series.files if file.url.startswith(f"{dest}/")]
    if inside:
        raise UsageError(
            f"The destination {dest} holds {inside[0]}, which is to be read.", hint="Give another folder."
        )
