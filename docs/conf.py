"""How the documentation is built: `make docs`, or `sphinx-build -W docs docs/_build/html`."""

from __future__ import annotations

import sys
from pathlib import Path

import shoal

sys.path.insert(0, str(Path(__file__).parent))

project = "shoal"
author = "The authors of shoal"
version = release = shoal.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "_site.docstrings",
    "_site.generated",
    "_site.outside",
    "_site.executed",
    "_site.offline",
]
exclude_patterns = ["_build", "_site", "reference/generated/*.txt"]

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.header",
    "ref.python",  # words for types, such as frame, are names of attributes, too
]

autodoc_typehints = "none"  # the docstrings say it
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
default_role = "py:obj"
smartquotes = False  # two hyphens begin an option

html_theme = "pydata_sphinx_theme"
html_title = "shoal"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": "shoal"},
}
html_sidebars = {"index": [], "coming-from": []}
copyright = f"{author}. Apache-2.0"  # noqa: A001 - the name that Sphinx reads
