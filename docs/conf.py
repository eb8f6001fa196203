"""The site: `make docs` builds it with Sphinx, and every warning is an error."""

from __future__ import annotations

import gc
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

# The trees of all pages stay until the end; to look through them for garbage again and again would
# take a seventh of the time.
gc.set_threshold(100_000, 50, 100)

project = "polytomy"
author = "The polytomy developers"
copyright = "2026, the polytomy developers"
release = version = version_of("polytomy")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "public_names",
    "unreleased_changes",
]

exclude_patterns = ["_build", "results", "gallery/README.*", "sg_execution_times.*"]
root_doc = "index"
smartquotes = False  # options keep their two dashes
templates_path = ["_templates"]

# Markdown: links to headings are those of GitHub.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# The languages of blocks that are tested but that Pygments does not know.
suppress_warnings = ["misc.highlighting_failure"]

# The reference: numpydoc sections, and a page for each public name.
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/[a-z]\w*\.py$",
    "ignore_pattern": r"/_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "min_reported_time": 60,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"polytomy {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_extensions" / "search_scorer.js")
# Pages without neighbours have no column of them.
html_sidebars = {"start": [], "changelog": []}
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
