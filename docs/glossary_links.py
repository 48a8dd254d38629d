"""Links the first use of each word of the glossary on a page to its place in the glossary."""

import re
from functools import cache
from pathlib import Path

from docutils import nodes

GLOSSARY = Path(__file__).parent / "glossary.md"
SKIPPED = ("glossary", "index", "api/", "theorems/", "notebooks/", "errata/", "papers/", "catalogue", "cli", "mutants")
INSIDE = (nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.strong, nodes.raw, nodes.caption)


@cache
def words() -> dict[str, str]:
    """Each word of the glossary, in lower case, and the label of its entry."""
    entries = re.findall(r"^\((term-[\w-]+)\)=\n\*\*([^*]+)\*\*", GLOSSARY.read_text("utf-8"), flags=re.MULTILINE)
    return {word.strip().lower(): label for label, names in entries for word in names.split(",")}


def first_uses(text: str, wanted: set[str]) -> list[tuple[int, int, str]]:
    """Where words of `wanted` first stand in a text, in singular or plural, longer words first."""
    taken: list[tuple[int, int, str]] = []
    for word in sorted(wanted, key=lambda each: (-len(each), each)):
        for match in re.finditer(rf"(?<![\w-]){re.escape(word)}s?(?![\w-])", text, flags=re.IGNORECASE):
            if all(match.end() <= start or end <= match.start() for start, end, _ in taken):
                taken.append((match.start(), match.end(), word))
                break
    return sorted(taken)


def _link(app, tree, page):
    """Replace the first use of each word in the page's paragraphs by a link."""
    if page.startswith(SKIPPED):
        return
    wanted = set(words())
    address = app.builder.get_relative_uri(page, "glossary")
    for text in list(tree.findall(nodes.Text)):
        if not _is_prose(text):
            continue
        uses = first_uses(text.astext(), wanted)
        if uses:
            wanted -= {word for *_, word in uses}
            text.parent.replace(text, _pieces(text.astext(), uses, address))


def _is_prose(text: nodes.Text) -> bool:
    node, paragraph = text.parent, False
    while node is not None:
        if isinstance(node, (*INSIDE, nodes.table)):
            return False
        paragraph = paragraph or isinstance(node, nodes.paragraph)
        node = node.parent
    return paragraph


def _pieces(text: str, uses: list[tuple[int, int, str]], address: str) -> list[nodes.Node]:
    pieces: list[nodes.Node] = []
    place = 0
    for start, end, word in uses:
        link = nodes.reference("", text[start:end], internal=True, refuri=f"{address}#{words()[word]}")
        link["classes"].append("glossary-link")
        pieces += [nodes.Text(text[place:start]), link]
        place = end
    return [*pieces, nodes.Text(text[place:])]


def setup(app):
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
