"""Install packages in a virtual environment: `python tools/install.py FOLDER [OPTION ...]`.

The options are those of `pip install`. The folder is created if it does not exist. uv installs the
packages in a sixth of pip's time. pip does it if uv is not available or fails, for example because
only pip is set up to use a mirror.
"""

from __future__ import annotations

import os
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
        venv.create(folder, symlinks=os.name != "nt")
    uv = find_uv(python)
    if uv is not None:
        install = [uv, "pip", "install", "--quiet", "--python", python, *options]
        if subprocess.run(install, check=False).returncode == 0:
            return
        print("uv failed; pip tries the same.", file=sys.stderr)
    subprocess.run([python, "-m", "ensurepip"], check=True, stdout=subprocess.PIPE)
    # Packages are compiled when they are imported: all of them would take half as long again.
    install = [python, *PIP, "install", "--quiet", "--no-compile"]
    subprocess.run([*install, "pip>=25.1"], check=True)  # older ones know no groups
    subprocess.run([*install, *options], check=True)


def find_uv(python: Path) -> Path | str | None:
    """Return the path of uv, which is installed in the environment if need be, or None."""
    own = python.with_name("uv")
    if own.exists():
        return own
    if (found := shutil.which("uv")) is not None:
        return found
    # The pip of this interpreter: to put one into the environment takes longer than all the rest.
    install = [sys.executable, *PIP, "--python", python, "install", "--quiet"]
    done = subprocess.run([*install, "--constraint", CONSTRAINTS, "uv"], check=False)
    return own if done.returncode == 0 else None


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
