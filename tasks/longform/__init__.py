"""IPMI files in long form: scan, server types, curves."""

from tasks.longform.columns import is_ipmi
from tasks.longform.judge import IpmiSeries, ipmi_contract
from tasks.longform.scan import IPMI, scan_long_block
from tasks.longform.summary import summarise_ipmi
from tasks.longform.tally import LongTally

__all__ = [
    "IPMI",
    "IpmiSeries",
    "LongTally",
    "ipmi_contract",
    "is_ipmi",
    "scan_long_block",
    "summarise_ipmi",
]
