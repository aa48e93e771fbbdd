"""Figures of a finished run, each a pure function of its tables; `catalogue` lists them all.

To add one, write a function from `Results` to a Matplotlib figure and give it an entry there.
"""
