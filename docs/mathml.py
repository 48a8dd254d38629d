"""Formulas as MathML, which browsers draw themselves: the site needs nothing from the network.

The translation from LaTeX is the one of docutils, which Sphinx brings along.
"""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.errors import SphinxError


def braced(formula):
    r"""Return a formula with braces around the digits of `\frac12`, which docutils reads as the number twelve."""
    return re.sub(r"\\([dt]?frac|binom)(\d)(\d)", r"\\\1{\2}{\3}", formula)


def _made(node, as_block):
    try:
        return str(latex2mathml.tex2mathml(braced(node.astext()), as_block=as_block))
    except MathError as error:
        raise SphinxError(f"{node.source}:{node.line}: {error} in the formula {node.astext()!r}") from None


def _inline(translator, node):
    translator.body.append(_made(node, as_block=False))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="math">{_made(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
