"""Print constraints with the oldest versions that pyproject.toml allows.

`make test-oldest` installs them and runs the tests. A dependency of polytomy, of its extras or of
its tests that has a lower bound gets that version; every other package that of constraints.txt.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

__all__ = ["find_lower_bounds", "list_constraints"]

ROOT = Path(__file__).parents[1]

# Packages whose version is determined by that of another one.
TIED = {"distributed": "dask", "llvmlite": "numba", "polars-runtime-32": "polars"}

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?(?:>=(?P<version>[\w.]+))?")


def find_lower_bounds(settings: dict) -> dict[str, str | None]:
    """Return the lower bound, or None, of everything that polytomy and its tests need."""
    project = settings["project"]
    requirements = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
        *settings["dependency-groups"]["test"],
    ]
    bounds = {}
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} should be NAME or NAME>=VERSION")
        if match["name"] != project["name"]:
            bounds[match["name"].lower()] = match["version"]
    return bounds


def list_constraints(bounds: dict[str, str | None], newest: list[str]) -> list[str]:
    """Return the lower bounds as constraints, and those of the other packages as they are."""
    oldest = {name: f"{name}=={version}" for name, version in bounds.items() if version}
    others = [line for line in newest if line.split("==")[0].lower() not in {*oldest, *TIED}]
    return sorted([*oldest.values(), *others], key=str.lower)


def main() -> None:
    """Print the constraints."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    newest = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    print("\n".join(list_constraints(find_lower_bounds(settings), newest)))


if __name__ == "__main__":
    main()
