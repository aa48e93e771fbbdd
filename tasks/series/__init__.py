"""Wide series files: blocks, the scan, the tally, curves and the verdict."""
