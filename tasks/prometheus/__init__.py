"""Exporting series from a Prometheus-compatible server: asking, parsing, naming, keeping, writing.

    credentials, client   the server: who we are, one query, patience, what is wrong with an answer
    answers               bytes of an answer to series of numbers, and its labels
    labels                labels of a series to the name of its entity
    spans, parts          a period in chunks, the values of a chunk
    chunks                the chunks of a metric: asked once, split where too large, kept when done
    wide                  chunks to one wide file
    metric                a whole metric

Nothing here knows Prefect or a command line.
"""
