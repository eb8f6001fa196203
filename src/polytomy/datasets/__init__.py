"""Reading and writing data files, whole or block by block."""

from polytomy.datasets.reading import (
    FORMATS,
    find_format,
    open_blocks,
    open_source,
    read_data,
    write_data,
)
from polytomy.datasets.sources import Source, Stream
from polytomy.datasets.tables import Data

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
