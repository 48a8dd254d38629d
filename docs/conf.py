"""Sphinx settings; the theorem catalogue page is written from the code before each build."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from catalogue_page import write_catalogue_page  # noqa: E402

from holdfast import __version__  # noqa: E402

project = "Holdfast"
author = "The Holdfast authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.doctest", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build"]
html_theme = "furo"
html_title = "Holdfast"
doctest_test_doctest_blocks = ""
suppress_warnings = ["myst.header"]

write_catalogue_page(HERE / "catalogue.md")
