"""Fetching datasets: what a hub's commit holds, what is there already, and the rest, verified.

`listing` asks the hub, `plan` compares with the folder, `fetch` brings one file,
`verify` decides whether it is the promised one. `archive` unpacks what comes as a zip.
"""
