"""Files of any kind: written whole or not at all, arrays read without trust."""

from polytomy.files.arrays import ArrayHeader, read_array, read_array_header, write_array
from polytomy.files.whole import writing_whole

__all__ = ["ArrayHeader", "read_array", "read_array_header", "write_array", "writing_whole"]
