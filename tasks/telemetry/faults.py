"""Faults that a latched gauge shows: by code, and hour by hour."""

from __future__ import annotations

import pandas as pd


def fault_codes(episodes: pd.DataFrame) -> pd.DataFrame:
    """Each code of a cluster: how often it began, how often it was there from the start, its largest burst.

    An episode that an entity had at its first sample is left-censored: it is no onset, and
    counted apart. The largest burst is the most episodes that begin at one sample.

    Source: codes and their meaning are the vendor's; that a latched gauge has to be counted by
    changes follows from how it is exported.
    """
    keys = ["cluster", "metric", "value"]
    hours = (episodes["end"] - episodes["onset"]).dt.total_seconds() / 3600
    table = episodes.assign(hours=hours, seen=episodes["onset_seen"].astype("int64"))
    grouped = table.groupby(keys, as_index=False).agg(
        onsets=("seen", "sum"),
        episodes=("seen", "size"),
        entities=("entity", "nunique"),
        median_hours=("hours", "median"),
    )
    bursts = table.groupby([*keys, "onset"], as_index=False).size()
    bursts = bursts.sort_values([*keys, "size", "onset"], ascending=[True, True, True, False, True])
    largest = bursts.drop_duplicates(keys).rename(columns={"size": "largest_burst", "onset": "burst_at"})
    found = grouped.merge(largest, on=keys)
    found["at_first_sample"] = found["episodes"] - found["onsets"]
    columns = [*keys, "onsets", "at_first_sample", "entities", "median_hours", "largest_burst", "burst_at"]
    return found[columns]


def fault_hours(episodes: pd.DataFrame) -> pd.DataFrame:
    """Onsets that were seen, by code and hour; hours without one have no row."""
    seen = episodes[episodes["onset_seen"].astype(bool)]
    hour = seen["onset"].dt.floor("h")
    grouped = seen.assign(hour=hour).groupby(["cluster", "metric", "value", "hour"], as_index=False).size()
    return grouped.rename(columns={"size": "onsets"})
