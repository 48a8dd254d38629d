"""Whom the separation table compares: pairs of a curator and a learner on the ACS excerpt, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.coherence import GroupPlan, Lens, curators, learners
from holdfast.coherence.table import Table as Rows
from holdfast_papers.coherence.acs_data import DISABILITY, LENS, TARGET

MEMORISING, PARTIAL, REGULARISED, PRIVATE, CONTROL = "memorising", "partly", "regularised", "private", "control"
KINDS = (MEMORISING, PARTIAL, REGULARISED, PRIVATE, CONTROL)
"""What a pair is, by how it is built and by the specification's table, not by what is measured here."""

AGES = (18, 30, 45, 65)
GROUPS = GroupPlan(columns=(DISABILITY, "SEX", "RAC1P", "AGEP"), depth=2, bins={"AGEP": AGES})
"""Every value of disability, sex, race and age band, and every pair of these, of 80 people or more."""
GROUP = f"{DISABILITY}=1"

EIGHT = Lens("eight columns", LENS)
CELLS = Lens("cells", ("DECADE", "SEX", "EDU", "RACE"))
COUNTED = Lens("counted", ("DECADE", "DENSITY", "INDP_CAT", "SEX", "EDU", "HISP", "RAC1P"))


@dataclass(frozen=True)
class Pair:
    """A learner on the report of a curator; `specified` is its distance in the group in our specification's table."""

    name: str
    kind: str
    curator: Any
    learner: Any
    lens: Lens
    specified: float


def with_cells(people: Rows) -> Rows:
    """The table with two coarser columns for counting: decade of age, and race with rare values joined."""
    race = people["RAC1P"]
    joined = np.where(np.isin(race, [1, 2, 6]), race, 9)
    return people.with_column("DECADE", people["AGEP"] // 10).with_column("RACE", joined)


def pairs(people: Rows) -> tuple[Pair, ...]:
    """All pairs, in the order of the specification's table, worst first. `people` comes from `with_cells`.

    Values of the columns are taken as public: they are those of the survey's code book. The noise of private curators
    is simulated, so that the seed repeats it.
    """
    clear, sim = curators.Clear(), curators.simulated
    cells, counted = _domains(people, CELLS.columns), _domains(people, COUNTED.columns)

    def histogram(epsilon: float | None) -> Any:
        return curators.NoisyHistogram(cells, epsilon, sim, missing=False)

    def bayes(epsilon: float | None, release: str = "counts") -> Any:
        return curators.PrivateNaiveBayes(DISABILITY, counted, epsilon, release, sim)

    def cart(leaf: int) -> Any:
        return curators.Cart(leaf, (*LENS, DISABILITY))

    boosting = learners.named("sklearn.ensemble.HistGradientBoostingClassifier")
    return (
        Pair("linkage", MEMORISING, clear, "linkage", EIGHT, 1.646),
        Pair("membership look-up", MEMORISING, clear, "membership", EIGHT, 1.640),
        Pair("1-NN", MEMORISING, clear, "nearest-neighbour", EIGHT, 1.478),
        Pair("full tree", MEMORISING, clear, "tree", EIGHT, 1.443),
        Pair("forest", MEMORISING, clear, "forest", EIGHT, 0.980),
        Pair("forest on a bootstrap", MEMORISING, curators.Bootstrap(), "forest", EIGHT, 0.748),
        Pair("forest on CART rows, leaf 1", MEMORISING, cart(1), "forest", EIGHT, 0.743),
        Pair("histogram, no noise", PARTIAL, histogram(None), "linkage", CELLS, 0.144),
        Pair("boosting", PARTIAL, clear, boosting, EIGHT, 0.122),
        Pair("histogram, epsilon 10", PARTIAL, histogram(10), "linkage", CELLS, 0.118),
        Pair("forest on CART rows, leaf 20", PARTIAL, cart(20), "forest", EIGHT, 0.075),
        Pair("histogram, epsilon 1", PARTIAL, histogram(1), "linkage", CELLS, 0.063),
        Pair("forest, leaves of 50", REGULARISED, clear, "regularised-forest", EIGHT, 0.029),
        Pair("naive Bayes, no noise", REGULARISED, bayes(None), "naive-bayes", COUNTED, 0.027),
        Pair("tree of depth 4", REGULARISED, clear, "small-tree", EIGHT, 0.019),
        Pair("logistic regression", REGULARISED, clear, "logistic", EIGHT, 0.009),
        Pair("histogram, epsilon 0.1", PRIVATE, histogram(0.1), "linkage", CELLS, 0.030),
        Pair("naive Bayes, epsilon 1", PRIVATE, bayes(1), "naive-bayes", COUNTED, 0.024),
        Pair("forest on naive Bayes rows, epsilon 1", PRIVATE, bayes(1, "table"), "forest", COUNTED, 0.024),
        Pair("coin flips", CONTROL, clear, "coin-flip", EIGHT, 0.036),
        Pair("constant", CONTROL, clear, "constant", EIGHT, 0.0),
    )


def _domains(people: Rows, columns: Sequence[str]) -> dict[str, list[float]]:
    asked = TARGET.applies(people)
    return {name: np.unique(people[name][asked]).tolist() for name in (*columns, DISABILITY)}


__all__ = [
    "CONTROL",
    "EIGHT",
    "GROUP",
    "GROUPS",
    "KINDS",
    "MEMORISING",
    "PARTIAL",
    "PRIVATE",
    "REGULARISED",
    "Pair",
    "pairs",
    "with_cells",
]
