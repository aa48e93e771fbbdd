"""What the summaries of telemetry say of a cluster: pure functions from the tables of a run to tidy tables.

They read the tables that `schemas.summaries` describes and no series: what a
summary does not hold cannot be told here.
"""
