"""Files of any kind: atomic writing, and arrays read from untrusted files."""

from polytomy.files.atomic_writing import open_atomically
from polytomy.files.npy import ArrayHeader, read_array, read_array_header, write_array

__all__ = ["ArrayHeader", "open_atomically", "read_array", "read_array_header", "write_array"]
