"""The API reference has every public name, once."""

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import polytomy as pt

PAGES = sorted((Path(__file__).parents[1] / "docs" / "reference").glob("*.md"))
_LIST = re.compile(r"\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n(.*?)```", re.DOTALL)


def documented_names():
    """The names of all pages, with those of their modules."""
    for page in PAGES:
        for module, lines in _LIST.findall(page.read_text(encoding="utf-8")):
            for line in lines.splitlines():
                if line.strip() and not line.strip().startswith(":"):
                    yield f"{module}.{line.strip()}"


def public_names():
    """The public names of the package and of its public modules."""
    for name in pt.__all__:
        value = getattr(pt, name)
        if isinstance(value, ModuleType):
            yield from (f"polytomy.{name}.{each}" for each in value.__all__)
        else:
            yield f"polytomy.{name}"


def resolve(name):
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


def test_documented_names_exist():
    for name in documented_names():
        resolve(name)


def test_every_public_name_is_on_exactly_one_page():
    # Some names of the package are those of a module: polytomy.solve is polytomy.solvers.solve.
    documented = list(documented_names())
    values = {id(resolve(name)) for name in documented}
    assert not [name for name in public_names() if id(resolve(name)) not in values]
    assert not [name for name, count in Counter(documented).items() if count > 1]
