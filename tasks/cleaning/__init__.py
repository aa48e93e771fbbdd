"""From raw exports to the released form: what was done to AcmeTrace's telemetry before its release.

`rules` says what is done to which metric, `survey` reads a series once to learn
what its columns hold and in which order its rows are, `write` reads it again and
writes the cleaned rows. The compiled parts are `kernel`, `digits` and `moments`.
"""
