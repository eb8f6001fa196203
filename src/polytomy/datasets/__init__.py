"""Data files, read whole or in blocks of bounded memory, and written."""

from polytomy.datasets.dataset import Data
from polytomy.datasets.formats import FORMATS, find_format
from polytomy.datasets.reading import open_blocks, read_data
from polytomy.datasets.streams import Source, Stream, open_source
from polytomy.datasets.writing import write_data

__all__ = [
    "FORMATS",
    "Data",
    "Source",
    "Stream",
    "find_format",
    "open_blocks",
    "open_source",
    "read_data",
    "write_data",
]
