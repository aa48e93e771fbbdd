"""Areas in proportion to values: the squarified treemap."""

from __future__ import annotations

from collections.abc import Sequence

Box = tuple[float, float, float, float]
_LEAST = 1e-9  # of the whole


def squarified(values: Sequence[float], width: float, height: float) -> list[Box]:
    """(x, y, width, height) of a rectangle for each value, its area in proportion, all of them filling
    `width` × `height`. Values descend; those that are hardly above zero have no area.

    Source: Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000: rows are laid along the
    shorter side, and a row takes the next value as long as its worst aspect ratio gets better.
    """
    total = sum(value for value in values if value > 0)
    if total <= 0:
        return [(0.0, 0.0, 0.0, 0.0) for _ in values]
    # What could not be seen has no area: it would make ratios of almost nothing.
    areas = [value / total * width * height if value > total * _LEAST else 0.0 for value in values]
    boxes: list[Box] = []
    x = y = 0.0
    start = 0
    while start < len(areas):
        side = min(width - x, height - y)
        stop = start + 1
        while stop < len(areas) and _worst(areas[start : stop + 1], side) <= _worst(areas[start:stop], side):
            stop += 1
        row = areas[start:stop]
        depth = sum(row) / side if side > 0 else 0.0
        upright = width - x >= height - y  # the row stands along the left edge
        along = y if upright else x
        for area in row:
            length = area / depth if depth > 0 else 0.0
            boxes.append((x, along, depth, length) if upright else (along, y, length, depth))
            along += length
        if upright:
            x += depth
        else:
            y += depth
        start = stop
    return boxes


def _worst(row: Sequence[float], side: float) -> float:
    """The worst aspect ratio of a row along a side."""
    total, low, high = sum(row), min(row), max(row)
    if low <= 0 or side <= 0 or side * side * low == 0:
        return float("inf")
    return max(side * side * high / total**2, total**2 / (side * side * low))
