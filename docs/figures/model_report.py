"""Draw the picture of docs/model_report.md: run the code of that page, and photograph the report.

`python docs/figures/model_report.py` needs Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Write the picture."""
    text = (HERE.parent / "model_report.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    chromium = shutil.which("chromium") or "google-chrome"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0], names)
        exec("pt.ModelReport(classifier, X_test, y_test).write_html('page.html')", names)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [f"--user-data-dir={folder}/profile", "--window-size=1000,1320"]
        options += [
            f"--screenshot={HERE / 'model_report.png'}",
            Path("page.html").resolve().as_uri(),
        ]
        subprocess.run([chromium, *options], check=True, capture_output=True)


if __name__ == "__main__":
    main()
