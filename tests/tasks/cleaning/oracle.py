"""The steps of the release in plain pandas, as the notebook takes them."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pandas as pd

from tasks.cleaning.rules import Rule


def cleaned_by_pandas(texts: Sequence[str], rule: Rule) -> str:
    """What pandas writes for the raw files `texts` of one series, whose times are whole seconds."""
    frames = [pd.read_csv(io.StringIO(text), index_col="Time") for text in texts]
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return "Time\n"
    frame = pd.concat(frames)
    frame = frame[~frame.index.duplicated(keep="first")].sort_index()
    in_window = (frame.index * 1000 >= rule.window_from) & (frame.index * 1000 < rule.window_until)
    frame = frame[~in_window]
    frame.index = pd.to_datetime(frame.index, unit="s", utc=True).tz_convert(rule.timezone)
    frame.index.name = "Time"
    if rule.scale != 1:
        frame = frame * (int(rule.scale) if rule.whole_scale else rule.scale)
    if rule.decimals > 0:
        frame = frame.round(rule.decimals)
    if rule.drop_blank_rows:
        frame = frame.dropna(how="all")
    frame = frame.dropna(how="all", axis="columns")
    frame.columns = [rule.name_of(column) for column in frame.columns]
    return str(frame.to_csv(lineterminator="\n"))
