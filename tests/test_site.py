"""The site's map, and the pictures of the page that explains the idea."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import idea_pictures  # noqa: E402


def _trees(page: Path) -> list[str]:
    return re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL)


def test_the_map_has_seven_parts_and_at_most_forty_links() -> None:
    trees = _trees(DOCS / "index.md")
    captions = [re.findall(r":caption: (.+)", tree)[0] for tree in trees]
    assert captions == ["Get started", "Tutorials", "How-to", "Concepts", "Reference", "Evidence", "Contributing"]
    pages = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    assert len(pages) == len(set(pages)) <= 40


def test_the_picture_of_the_readme_shows_the_numbers_beside_it() -> None:
    picture = (DOCS / "_static" / "leaderboard.svg").read_text()
    for page in (ROOT / "README.md", DOCS / "index.md", DOCS / "idea.md"):
        assert "leaderboard.svg" in page.read_text()
        assert "climbs to 98.0% while the true accuracy falls to 93.2%" in page.read_text()
    assert "the board says 98.0%" in picture
    assert "true: 93.2%" in picture


def test_the_price_of_wrong_guesses_is_drawn_from_a_run() -> None:
    found = idea_pictures.prices((0, 10))
    assert found["right"][1] < 1.05 * found["right"][0]
    assert found["wrong"][1] > 2 * found["wrong"][0]


def test_the_picture_of_coverage_has_one_miss_and_none() -> None:
    missed = {name: sum(not holds for *_, holds in rows) for name, rows in idea_pictures.coverage().items()}
    assert missed == {"each": 1, "all": 0}


@pytest.mark.parametrize("name", idea_pictures.PICTURES)
def test_pictures_are_drawn(name: str) -> None:
    picture = idea_pictures.PICTURES[name]()
    assert picture.startswith("<svg ")
    assert "nan" not in picture
