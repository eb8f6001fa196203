"""Install packages in a virtual environment: `python tools/install.py FOLDER [OPTION ...]`.

The options are those of `pip install`. The folder is created if it does not exist. uv takes a sixth
of pip's time. pip is used if uv is not available or fails, and if pip has a package index of its
own: uv does not read pip's settings.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["main"]

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
PIP = ["-m", "pip", "--disable-pip-version-check"]


def main(folder: Path, options: list[str]) -> None:
    """Install packages with uv, or else with pip."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, symlinks=True)
    uv = None if has_own_index() else find_uv(python)
    if uv is not None:
        if succeeds([uv, "pip", "install", "--quiet", "--python", python, *options]):
            return
        print("uv failed; trying pip instead.", file=sys.stderr)
    subprocess.run([python, "-m", "ensurepip"], check=True, stdout=subprocess.PIPE)
    # Packages are compiled when they are imported: all of them would take half as long again.
    install = [python, *PIP, "install", "--quiet", "--no-compile"]
    subprocess.run([*install, "pip>=25.1"], check=True)  # older versions do not support --group
    subprocess.run([*install, *options], check=True)


def has_own_index() -> bool:
    """Return whether pip is set up to use another package index than the public one."""
    config = [sys.executable, *PIP, "config", "list"]
    settings = subprocess.run(config, check=False, capture_output=True, text=True).stdout
    return re.search(r"^[\w:.-]+\.(index-url|no-index)=", settings, re.MULTILINE) is not None


def find_uv(python: Path) -> Path | str | None:
    """Return the path of uv, which is installed in the environment if need be, or None."""
    own = python.with_name("uv")
    if own.exists():
        return own
    if (found := shutil.which("uv")) is not None:
        return found
    # The pip of this interpreter, because installing one in the environment takes seconds.
    install = [sys.executable, *PIP, "--python", python, "install", "--quiet"]
    install += ["--only-binary", ":all:", "--constraint", CONSTRAINTS]
    return own if succeeds([*install, "uv"]) else None


def succeeds(command: list) -> bool:
    """Return whether a command can be run, and succeeds."""
    try:
        return subprocess.run(command, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
