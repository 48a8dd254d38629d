"""Every figure and table of the papers has its place, and the page shows them all without loading anything."""

from __future__ import annotations

import importlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from holdfast_papers import kept
from holdfast_papers.gallery import Run, page, text
from holdfast_papers.papers import BESIDE, PAPERS, Item
from holdfast_papers.registry import Settings, experiments, select
from holdfast_papers.running import Finished, run_all

COUNTS = {
    "dwork": {"Figure": 5},
    "rogers-2016": {},
    "rogers-2017": {"Figure": 25, "Table": 3},
    "zhao": {"Figure": 3},
    "coherence": {"Figure": 4, "Table": 1},
}
"""How many figures and tables each paper has, counted in its text."""
RUN = Run(True, 1, "0.2.0", "a machine")


def test_no_figure_or_table_is_missing() -> None:
    for paper in PAPERS:
        found: dict[str, list[int]] = {}
        for item in paper.items:
            kind, number = item.label.split()
            found.setdefault(kind, []).append(int(number))
        assert {kind: sorted(numbers) for kind, numbers in found.items()} == {
            kind: list(range(1, count + 1)) for kind, count in COUNTS[paper.key].items()
        }


def test_every_experiment_has_a_place_and_every_place_exists() -> None:
    placed = [name for paper in PAPERS for name in (*(i.experiment for i in paper.items if i.experiment), *paper.more)]
    assert set(placed) == set(experiments())
    for paper in PAPERS:
        for item in paper.items:
            if item.code:
                _resolve(item.code)
    with pytest.raises(ValueError, match="needs an experiment or code"):
        Item("Figure 1", "nothing")


def _resolve(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        home, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(home), attribute)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Finished]:
    out = tmp_path_factory.mktemp("gallery")
    return list(run_all(select(["coherence-table-1", "rogers-table-3"]), Settings(quick=True), out))


class _Reader(HTMLParser):
    void = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [given["src"] or ""] if "src" in given else []
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given["href"] or ""] if "href" in given else []
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_whole_offline_and_linked(finished: list[Finished]) -> None:
    made = page(finished, RUN)
    reader = _Reader()
    reader.feed(made)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert all(address.startswith("data:image/svg+xml;base64,") for address in reader.addresses)
    assert len(reader.addresses) == 2
    assert all(link[1:] in reader.ids for link in reader.links if link.startswith("#"))
    assert not re.search(r"(src|href)=.https?:|<script|@import|url\(", made)
    assert "Not among those that were run" in made


def test_printed_numbers_stand_beside_ours(finished: list[Finished]) -> None:
    told = text(finished, RUN)
    assert "| Table 3 | critical value, n = 1,000 | 10070.47 | 10070.4694 |" in told
    assert "| Table 1 | largest epsilon, alpha = 0.2 | 0.01 | 0.012091 |" in told
    assert "`holdfast.holdout.Thresholdout`" in told
    assert told.count("\n# ") == 0
    assert told.startswith("# Gallery")


def test_every_number_that_is_put_beside_ours_is_there() -> None:
    """The tables that are read have the columns that are named; the cheap ones are run."""
    for beside in BESIDE:
        assert beside.experiment in experiments()
    table_1 = experiments()["coherence-table-1"].run(Settings(quick=True)).to_dict()
    pairs = next(beside for beside in BESIDE if beside.experiment == "coherence-table-1").pairs(table_1)
    assert [printed for _, printed, _ in pairs] == [0.003, 0.01, 0.02, 0.025, 0.056, 0.065, 0.09, 0.1]
    assert all(ours >= printed for _, printed, ours in pairs)


def test_figure_7_and_its_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast_papers.private_tests import figure_7 as figure

    outcome = figure.figure_7(Settings(quick=True))
    assert outcome.passed
    assert outcome.tables[0].rows[1]["AsymptGOF"] == 37.6131
    real = figure.null_counts
    monkeypatch.setattr(figure, "null_counts", lambda rng, n, p0, noise, size: real(rng, n, p0, noise, size) * 1.001)
    wrong = figure.figure_7(Settings(quick=True))
    assert [check.passed for check in wrong.checks].count(False) == 1, "counts a thousandth too large are noticed"
    assert kept.find(experiments()["rogers-figure-7"], Settings(quick=True), tmp_path) is None
