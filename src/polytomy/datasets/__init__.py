"""Reading and writing data files, whole or block by block."""

from polytomy.datasets.dataset import Data
from polytomy.datasets.file_reader import open_blocks, read_data
from polytomy.datasets.file_writer import write_data
from polytomy.datasets.formats import FORMATS, find_format
from polytomy.datasets.streams import Source, Stream, open_source

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
