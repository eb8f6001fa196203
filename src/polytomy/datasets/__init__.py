"""Data files, read whole or in blocks of bounded memory, and written."""

from polytomy.datasets.data import Data
from polytomy.datasets.formats import FORMATS, find_format
from polytomy.datasets.reading import open_blocks, read_data
from polytomy.datasets.writing import write_data

__all__ = ["FORMATS", "Data", "find_format", "open_blocks", "read_data", "write_data"]
