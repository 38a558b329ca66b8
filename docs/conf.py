"""Sphinx configuration. `nox -s docs` builds the manual from the installed packages."""

from __future__ import annotations

import sys
from pathlib import Path

import flambeau

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Flambeau"
author = "Flambeau contributors"
copyright = "2026, Flambeau contributors"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "operator_pages",
    "transform_pages",
    "compat_pages",
]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

html_theme = "pydata_sphinx_theme"
html_title = "Flambeau"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
doctest_test_doctest_blocks = ""  # tools/doctests.py runs the examples in docstrings
doctest_global_setup = "import flambeau\nimport flambeau as fl\n\nflambeau.manual_seed(0)"

assert flambeau.tensor  # the reference is read from the installed core
