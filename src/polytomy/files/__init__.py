"""Files of any kind: atomic writing, CSV text, temporary rows, arrays from untrusted files."""

from polytomy.files.atomic_folders import check_output_folder, open_folder_atomically
from polytomy.files.atomic_writing import open_atomically
from polytomy.files.csv_text import escape_formula, to_csv
from polytomy.files.npy import ArrayHeader, read_array, read_array_header, write_array
from polytomy.files.temporary_rows import write_temporary_rows

__all__ = [
    "ArrayHeader",
    "check_output_folder",
    "escape_formula",
    "open_atomically",
    "open_folder_atomically",
    "read_array",
    "read_array_header",
    "to_csv",
    "write_array",
    "write_temporary_rows",
]
