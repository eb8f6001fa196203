"""Draw the pictures of docs/plots.md.

`python docs/figures/plots.py` runs the code of that page in an empty folder, and writes its
pictures next to this file.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).parent
NAMES = {
    "reliability.png": "reliability_display.png",
    "binaries.png": "binary_reliability.png",
    "confusions.png": "confusions.png",
    "tree.png": "tree_errors.png",
    "mixed.png": "mixed_tree.png",
    "pareto.png": "pareto_binaries.png",
}


def main() -> None:
    """Write the pictures."""
    mpl.use("agg")
    text = (HERE.parent / "plots.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            examples = doctest.DocTestParser().get_examples(block)
            for source in [each.source for each in examples] or [block]:
                exec(source, names)
        for written, name in NAMES.items():
            shutil.copy(written, HERE / name)
        os.chdir(HERE)


if __name__ == "__main__":
    main()
