"""Sphinx settings; the catalogue, the API reference, the command line and settings are written before each build."""

import gc
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
gc.set_threshold(50_000, 20, 20)  # pages are millions of objects that stay; looking for garbage took a seventh

import generated  # noqa: E402
from api_pages import write_api_pages  # noqa: E402
from architecture_diagrams import write_architecture_diagrams  # noqa: E402
from catalogue_page import write_catalogue_page  # noqa: E402
from cli_page import write_cli_page  # noqa: E402
from idea_pictures import write_idea_pictures  # noqa: E402
from notebook_pages import write_notebook_pages  # noqa: E402
from questions_page import write_questions_page  # noqa: E402
from settings_page import write_settings_page  # noqa: E402
from workflow_pictures import write_workflow_pictures  # noqa: E402

from holdfast import __version__  # noqa: E402

project = "Holdfast"
author = copyright = "The Holdfast authors"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.doctest",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "glossary_links",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build"]
html_theme = "furo"
html_title = "Holdfast"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
doctest_test_doctest_blocks = ""
suppress_warnings = ["myst.header", "ref.python"]  # words of a type that several classes have as a name

toc_object_entries = False  # names have headings; methods next to them took a third of the time, once for every page
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature shows them
default_role = "code"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True

if not generated.written:  # a second build in one process, as `tools/docs` makes it, would write the same again
    write_catalogue_page(HERE / "catalogue.md")
    write_api_pages(HERE / "api")
    write_cli_page(HERE / "cli.md")
    write_settings_page(HERE / "settings.md")
    write_architecture_diagrams(HERE)
    write_workflow_pictures(HERE)
    write_idea_pictures(HERE)
    write_notebook_pages()
    write_questions_page(HERE / "questions.md")
    generated.written = True


def _skip(app, what, name, found, skip, options):
    """Methods that scikit-learn adds to every estimator are described there."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def _mark_tracebacks(app, page, template, context, doctree):
    """Make one piece of each, so that it can be left out of what is copied: parts of it have no name of their own."""
    if "body" in context:
        piece = r'<span class="gt">.*?(?=</pre>|<span class="gp">)'
        context["body"] = re.sub(piece, r'<span class="go">\g<0></span>', context["body"], flags=re.DOTALL)


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.connect("html-page-context", _mark_tracebacks)
