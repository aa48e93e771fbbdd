"""Job logs: from the text of any scheduler to the canonical job table.

Read them in this order: `head` (what kind of log is this), `parts` (its rows, a
few megabytes at a time), `cells` (text to numbers and times), `canonical` (rows of
the table), `rules` (what is checked), `audit` (what is kept of it), `read` (all of
it for one log). Nothing here knows Prefect.
"""
