"""A Sphinx extension with which readers find public names and parameters.

A class such as `PolytomyClassifier`, or a dotted name such as `pt.save`, becomes a link to its page
in the reference wherever it is written as code. The parameters of estimators are entries of the
index, and so they are found by the search of the site.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from docutils import nodes
from sklearn.base import BaseEstimator
from sphinx.util.nodes import make_refnode

__all__ = ["find_target", "index_parameters", "setup"]

_CLASS = re.compile(r"[A-Z][a-z]\w*[A-Z]\w*$")
_DOTTED = re.compile(r"(?:pt|polytomy|[a-z]+)\.[\w.]+$")


def find_target(text: str, names: set[str]) -> str | None:
    """Return the full name that a piece of code means, or None.

    Parameters
    ----------
    text : code such as "PolytomyClassifier", "pt.save(model, path)" or "metrics.log_loss"
    names : full names, such as "polytomy.metrics.log_loss"
    """
    name = re.sub(r"\(.*\)$", "", text, flags=re.S)
    if _CLASS.match(name):
        ends = [each for each in names if each.endswith(f".{name}")]
        return ends[0] if len(ends) == 1 else None
    if not _DOTTED.match(name):
        return None
    full = "polytomy." + re.sub(r"^(pt|polytomy)\.", "", name)
    return full if full in names else None


def index_parameters(kind: str, name: str, obj: Any) -> list[str]:
    """Return lines that add the parameters of an estimator to the index."""
    if kind != "class" or not issubclass(obj, BaseEstimator):
        return []
    parameters = [each for each in inspect.signature(obj).parameters if each != "self"]
    short = name.rpartition(".")[2]
    entries = [f"   ! single: {each}; parameter of {short}" for each in parameters]
    return [".. index::", *entries, ""] if entries else []


def _add_index(app: Any, kind: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:0] = index_parameters(kind, name, obj)


def _add_links(app: Any, tree: nodes.document, page: str) -> None:
    objects = app.env.domains["py"].objects
    names = {name for name, place in objects.items() if not place.aliased}
    for literal in list(tree.findall(nodes.literal)):
        target = find_target(literal.astext(), names)
        is_taken = isinstance(literal.parent, nodes.reference | nodes.title)
        if target is None or is_taken or objects[target].docname == page:
            continue
        place = objects[target]
        link = make_refnode(
            app.builder, page, place.docname, place.node_id, literal.deepcopy(), target
        )
        literal.replace_self(link)


def setup(app: Any) -> dict[str, bool]:
    """Index parameters when docstrings are read, and link names when pages are written."""
    app.connect("autodoc-process-docstring", _add_index, priority=900)
    app.connect("doctree-resolved", _add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
