"""Files of any kind: atomic writing, CSV text, temporary rows, arrays from untrusted files."""

from polytomy.files.arrays import (
    read_array,
    read_array_header,
    write_array,
    write_temporary_rows,
)
from polytomy.files.writing import (
    check_output_folder,
    open_atomically,
    open_folder_atomically,
    to_csv,
)

__all__ = [
    "check_output_folder",
    "open_atomically",
    "open_folder_atomically",
    "read_array",
    "read_array_header",
    "to_csv",
    "write_array",
    "write_temporary_rows",
]
