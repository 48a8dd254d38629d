"""Private words that have a standard word in the glossary do not come back: in documentation, pages and docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Pages that the site makes from texts of the product, which are read there, and from names of theorems.
MADE = {"api", "theorems", "notebooks", "catalogue.md", "cli.md", "questions.md", "settings.md"}

#: What is not written in prose, and what is written instead. Names in code stand between backticks: they may stay.
STANDARD = {
    r"(?<!power )\blaws?\b(?! of large numbers)(?! of total)": "distribution",
    r"\banswerers?\b": "method",
    r"\bbeside\b": "next to",
    r"\bdear(er|est)?\b": "expensive",
    r"\bfor ever\b": "forever",
    r"\bshall\b": "will, must, should",
    r"\bsure pass\b": "guaranteed pass",
    r"\bwith 95\s?%(?! (probability|confidence))": "with 95% probability",
    r"\bone a line\b": "one per line",
    r"\b(guess|score|claim)(es)?( that)? (stands?|stood|does not stand)\b": "passes, passed, failed",
    r"\bthe house\b": "architecture, conventions",
    r"\bdoors?\b": "entry point, interface; gateway",
    r"\bpacked\b": "compressed",
    r"\brest(s|ed)? on\b": "guarantee; depends on",
    r"\bsa(ys?|id) (nothing|anything)\b": "is vacuous; reveals nothing",
    r"\b(an?|the) looks?\b(?!-up)|\bthe looking\b": "a noiseless question or step; what was seen",
    r"\b(number|value|label|prediction|entry|object) a (row|record|question|line|person)\b": "per row",
}


def documentation() -> Iterator[tuple[str, str]]:
    """Paragraphs of the pages, without code."""
    pages = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not MADE & set(path.relative_to(ROOT).parts)]
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]:
        text = re.sub(r"^(`{3,}).*?^\1\s*$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n", text):
            yield str(path.relative_to(ROOT)), paragraph


def web_pages() -> Iterator[tuple[str, str]]:
    """The templates, without what they compute."""
    for path in sorted((ROOT / "src").rglob("*.html")):
        yield path.name, re.sub(r"\{[%{#].*?[%}#]\}", "", path.read_text("utf-8"), flags=re.DOTALL)


def texts() -> Iterator[tuple[str, str]]:
    """Docstrings, help texts and messages: every text of the product with a space in it, without its examples."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                lines = [line for line in node.value.splitlines() if not line.lstrip().startswith((">>>", "... "))]
                # A parameter's line begins with its name.
                prose = "\n".join(re.sub(r"^\s*[\w*, ]+ : ", "", line) for line in lines)
                yield f"{path.relative_to(ROOT)}:{node.lineno}", prose


def private_words(text: str) -> list[str]:
    """What a text should say in other words."""
    prose = re.sub(r"`[^`]*`|\$[^$]*\$", "name", text)
    return [
        f"{word[0]!r}: {better}"
        for form, better in STANDARD.items()
        for word in re.finditer(form, prose, re.IGNORECASE)
    ]


@pytest.mark.parametrize(("read", "at_least"), [(documentation, 2000), (web_pages, 20), (texts, 10_000)])
def test_prose_has_the_standard_words(read: object, at_least: int) -> None:
    passages = list(read())  # type: ignore[operator]
    assert len(passages) >= at_least
    assert [(place, word) for place, text in passages for word in private_words(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Two laws of one sample.",
        "It is beside the table.",
        "the naive answerer",
        "a dear test",
        "What it rests on",
        "from 0.5 on it says nothing",
        "one number a row",
        "priced as a look",
    ],
)
def test_a_private_word_is_noticed(text: str) -> None:
    assert private_words(text)


@pytest.mark.parametrize(
    "text", ["`law.cdf(x)` of a distribution", "the law of large numbers", "a power law", "a look-up table"]
)
def test_names_and_terms_of_the_field_stay(text: str) -> None:
    assert private_words(text) == []
