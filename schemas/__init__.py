"""What the data is: metric catalogue, contracts, records, published numbers.

Nothing here reads a file of telemetry or starts work. Modules of this package
import neither `tasks` nor `flows`.
"""
