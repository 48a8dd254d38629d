"""Every relative link of the prose leads somewhere: to a file that is in the repository and a heading that is in it.

Sphinx sees the links between pages of the site. It does not see README and CONTRIBUTING, nor links that only work on
one of the two: on the site or where the repository is read.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE = {
    "catalogue.md": "catalogue_page",
    "cli.md": "cli_page",
    "questions.md": "questions_page",
    "settings.md": "settings_page",
    "api/index.md": "api_pages",
}
"""Pages that are made from the code when the site is built, and what makes them."""

sys.path.insert(0, str(DOCS))

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md"))]
PAGES = [
    page
    for page in PAGES
    if not {DOCS / "api", DOCS / "notebooks"} & set(page.parents)
    and page.relative_to(ROOT).as_posix() not in {f"docs/{made}" for made in MADE}
]


def _prose(text: str) -> str:
    """Text without blocks of code, which hold brackets that are no links."""
    text = re.sub(r"^(`{3,}|~{3,}).*?^\1`*\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", lambda code: "`" + "x" * (len(code.group()) - 2) + "`", text)


def _links(text: str) -> list[str]:
    """Targets of `[words](target)`, of images, of `<target>` links of a download and of `[name]: target` lines."""
    prose = _prose(text)
    found = re.findall(r"\]\(\s*<?([^()\s>]+(?:\([^()\s]*\)[^()\s]*)*)>?(?:\s+\"[^\"]*\")?\s*\)", prose)
    found += re.findall(r"^\[[^\]]+\]:\s+(\S+)", prose, flags=re.MULTILINE)
    found += [one for role in re.findall(r"\{download\}`([^`]*)`", text) for one in re.findall(r"<([^>]+)>", role)]
    return [target for target in found if not re.match(r"[a-z][a-z+.-]*:", target)]


def _slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().rstrip("#").strip())
    return re.sub(r"[^\w\- ]", "", words.replace("`", "").replace("*", "").lower()).replace(" ", "-")


def _anchors(text: str) -> set[str]:
    prose = re.sub(r"^(`{3,}|~{3,}).*?^\1`*\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6}\s+(.+)$", prose, flags=re.MULTILINE):
        slug, place = _slug(heading), 0
        while (one := slug if not place else f"{slug}-{place}") in found:
            place += 1
        found.add(one)
    return found | set(re.findall(r"^\(([\w-]+)\)=$", prose, flags=re.MULTILINE))


@cache
def _made(name: str) -> str:
    """The text of a page that is made from the code."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        if name == "catalogue.md":
            import catalogue_page

            catalogue_page.write_catalogue_page(path)
        elif name == "cli.md":
            import cli_page

            cli_page.write_cli_page(path)
        elif name == "questions.md":
            import questions_page

            questions_page.write_questions_page(path)
        elif name == "settings.md":
            import settings_page

            settings_page.write_settings_page(path)
        else:
            import api_pages

            api_pages.write_api_pages(Path(folder))
        return path.read_text()


def _broken(page: Path, text: str) -> list[str]:
    broken = []
    for link in _links(text):
        target, _, anchor = link.partition("#")
        place = (page.parent / target).resolve() if target else page
        name = place.relative_to(DOCS).as_posix() if DOCS in place.parents else ""
        if name in MADE:
            there = _made(name) if anchor else ""
        elif re.fullmatch(r"(api/holdfast(\.\w+)*|notebooks/[\w-]+)\.md|(architecture|idea|workflow)-\w+\.svg", name):
            continue  # made by the site, which fails to build without them
        elif not place.exists() or ROOT not in (place, *place.parents):
            broken.append(f"{link}: no such file")
            continue
        else:
            there = (text if not target else place.read_text()) if anchor else ""
        if anchor and anchor not in _anchors(there):
            broken.append(f"{link}: no such heading")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert _broken(page, page.read_text()) == []


def test_there_are_links_to_check() -> None:
    assert len(PAGES) > 60
    assert sum(len(_links(page.read_text())) for page in PAGES) > 150


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[a](docs/nowhere.md)", 1),
        ("[a](docs/start.md#nothing-like-it)", 1),
        ("[a](#no-heading)\n\n# A heading", 1),
        ("![a](docs/no-picture.svg)", 1),
        ("{download}`Words <docs/notebooks/none.ipynb>`", 1),
        ("[a](../elsewhere.md)", 1),
        ("[a](#a-heading-with-code)\n\n## A heading, with `code`", 0),
        ("[a](docs/start.md#ask) [b](docs/cli.md#holdfast-plan) [c](https://example.org/x)", 0),
        ("`[a](nowhere.md)` and\n\n```\n[a](nowhere.md)\n```", 0),
    ],
)
def test_the_test_notices_what_is_broken(text: str, broken: int) -> None:
    assert len(_broken(ROOT / "README.md", text)) == broken
