"""The site's map, and the pictures of the page that explains the idea."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import catalogue_page  # noqa: E402
import glossary_links  # noqa: E402
import idea_pictures  # noqa: E402
import mathml  # noqa: E402
import notebook_pages  # noqa: E402

from holdfast.bounds import catalogue  # noqa: E402
from holdfast_papers.registry import experiments  # noqa: E402


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
    assert "the leaderboard shows 98.0%" in picture
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


def test_a_notebook_has_a_page_with_its_code_its_output_and_its_pictures(tmp_path: Path) -> None:
    notebook_pages.write_notebook_pages(tmp_path)
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(pages) == {path.stem for path in (DOCS / "notebooks").glob("*.ipynb")}
    for name, page in pages.items():
        pictures = re.findall(r"!\[[^\]]+\]\(([\w-]+\.svg)\)", page)
        assert pictures
        assert all((tmp_path / picture).read_text().startswith("<svg") for picture in pictures)
        assert "```python" in page
        assert "```text" in page
        assert f"{name}.ipynb" in page
        assert f"notebooks/{name}" in (DOCS / "notebooks.md").read_text()


def test_first_uses_of_a_word_lead_to_the_glossary() -> None:
    assert {"guard", "half-width", "filter", "odometer", "failed check"} <= set(glossary_links.words())
    found = glossary_links.first_uses(
        "A guard guards. Guards check; a failed check widens.", {"guard", "check", "failed check"}
    )
    assert [word for *_, word in found] == ["guard", "check", "failed check"]
    assert glossary_links.first_uses("a safeguarded half-widthless word", {"guard", "half-width"}) == []


def test_a_theorem_has_its_formula(tmp_path: Path) -> None:
    catalogue_page.write_catalogue_page(tmp_path / "catalogue.md")
    pages = [page.read_text() for page in (tmp_path / "theorems").glob("*.md")]
    formulas = [line for page in pages for line in page.splitlines() if line.startswith("- **Formula:** ")]
    assert len(formulas) == len(catalogue())
    assert sum("`" in line for line in formulas) > 0.9 * len(formulas)
    holdout = (tmp_path / "theorems" / "holdout.md").read_text()
    assert re.search(r"- \*\*Formula:\*\* [^\n]*`beta \* spending \* Q\(h\)`", holdout)


def _formulas() -> list[str]:
    prose = "\n".join(path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md")))
    prose = re.sub(r"^```.*?^```\s*$|`[^`]*`", "", prose, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\$\$(.+?)\$\$|\$([^$\n]*\\[^$]*?)\$", prose, flags=re.DOTALL)


def test_every_formula_of_the_prose_can_be_drawn() -> None:
    formulas = [block or inline for block, inline in _formulas()]
    assert len(formulas) > 300
    for formula in formulas:
        assert "<math" in str(mathml.latex2mathml.tex2mathml(mathml.braced(formula)))


def test_two_digits_of_a_fraction_are_its_two_parts() -> None:
    drawn = str(mathml.latex2mathml.tex2mathml(mathml.braced(r"\frac14 x")))
    assert drawn.index("<mn>1</mn>") < drawn.index("<mn>4</mn>")


def test_the_gallery_shows_every_picture_that_is_kept() -> None:
    page = (DOCS / "gallery.md").read_text()
    kept = {path.stem for path in (DOCS / "_static" / "gallery").glob("*.svg")}
    assert len(kept) >= 4
    assert set(re.findall(r"\]\(_static/gallery/([\w-]+)\.svg\) `", page)) == kept <= set(experiments())
