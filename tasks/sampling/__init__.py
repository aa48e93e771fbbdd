"""Synthetic datasets in the released layout.

`write_sample` is the way in. Values follow the published curves; nothing here
reads a dataset or checks one.
"""

from tasks.sampling.options import PlantedFault, SampleOptions, SampleReport, WrittenFile
from tasks.sampling.sample import write_sample

__all__ = ["PlantedFault", "SampleOptions", "SampleReport", "WrittenFile", "write_sample"]
