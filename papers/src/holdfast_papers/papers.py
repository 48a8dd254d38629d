"""Every figure and table of the five papers, and what stands for it here: an experiment, or the code it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Item:
    """One figure or table. `experiment` re-creates it; `code` is where a picture of a definition or algorithm lives."""

    label: str
    shows: str
    experiment: str = ""
    code: str = ""

    def __post_init__(self) -> None:
        if bool(self.experiment) == bool(self.code):
            raise ValueError(f"{self.label} needs an experiment or code, and not both")


@dataclass(frozen=True)
class Paper:
    """A paper with its figures and tables, and further experiments about its theorems."""

    key: str
    short: str
    name: str
    items: tuple[Item, ...]
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Beside:
    """Numbers that a paper prints, in the column `printed` of a table of an experiment, and ours in `ours`."""

    paper: str
    place: str
    experiment: str
    table: str
    rows: tuple[str, ...]
    printed: str
    ours: str
    what: str = ""

    def pairs(self, result: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
        """What, printed and ours, for each row of a result in which the paper prints something."""
        table = next(table for table in result["tables"] if table["name"] == self.table)
        triples = []
        for row in table["rows"]:
            if row[self.printed] not in (None, ""):
                named = ", ".join(_named(column, row[column]) for column in self.rows)
                triples.append((f"{self.what}, {named}" if self.what else named, row[self.printed], row[self.ours]))
        return triples


def _named(column: str, value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{column} = {value:,}"


_FIGURES = {
    3: "widths of k adaptive means by every method",
    4: "the noise behind those widths",
    5: "type I error of the classical test on noisy counts",
    6: "type I error of AsymptGOF",
    7: "critical values of AsymptGOF and MCGOF",
    8: "type I error of AsymptIndep",
    9: "type I error of MCIndep, Gaussian noise",
    10: "type I error of MCIndep, Laplace noise",
    11: "power of goodness of fit, Gaussian noise",
    12: "power of MCGOF, Laplace noise",
    13: "power of independence tests, Gaussian noise",
    14: "power of MCIndep, Laplace noise",
    15: "type I error of the nonprojected statistic",
    16: "type I error of the projected statistic",
    17: "power of both statistics",
    18: "power of all zCDP goodness-of-fit tests, compared",
    19: "type I error of the nonprojected test of independence",
    20: "type I error of the projected test of independence",
    21: "power of the tests of independence",
    22: "power of all zCDP tests of independence, compared",
    23: "GWAS tables: counts against output perturbation",
    24: "local goodness of fit",
    25: "local independence",
}

PAPERS = (
    Paper(
        "dwork",
        "Dwork et al. (2015)",
        "Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (2015), Generalization in Adaptive Data Analysis and Holdout "
        "Reuse",
        (
            Item("Figure 1", "Thresholdout, as an algorithm", code="holdfast.holdout.Thresholdout"),
            Item("Figure 2", "no signal: training, holdout and fresh accuracy", "dwork-figure-2"),
            Item("Figure 3", "the same with 20 correlated attributes", "dwork-figure-3"),
            Item("Figure 4", "the true holdout accuracy behind Thresholdout's reports", "dwork-figure-4"),
            Item("Figure 5", "the noise-free median mechanism, as an algorithm", code="holdfast.holdout.median"),
        ),
        (
            "adaptive-attack",
            "agent-loop",
            "contest-rules",
            "nightly-epochs",
            "real-reuse-adult",
            "real-reuse-cifar10",
            "real-reuse-mmlu-pro",
            "workflow-adversaries",
            "workflows",
            "workflows-validation",
        ),
    ),
    Paper(
        "rogers-2016",
        "Rogers et al. (2016)",
        "Rogers, Roth, Smith, Thakkar (2016), Max-Information, Differential Privacy, and Post-Selection Hypothesis "
        "Testing",
        (),
        ("max-information-lower-bound", "p-value-sensitivity", "post-selection-type-one"),
    ),
    Paper(
        "rogers-2017",
        "Rogers (2017)",
        "Rogers (2017), Leveraging Privacy in Data Analysis",
        (
            Item("Figure 1", "two models of adaptive analysis, a diagram", code="holdfast.simulation.analysts"),
            Item(
                "Figure 2", "analyst and mechanisms in turn, a diagram", code="holdfast.simulation.analysts.interview"
            ),
            *(Item(f"Figure {i}", shows, f"rogers-figure-{i}") for i, shows in _FIGURES.items()),
            Item("Table 1", "names of the errors of a test", code="holdfast.inference.private_tests.result"),
            Item("Table 2", "notation of a contingency table", code="holdfast.inference.private_tests.counts"),
            Item("Table 3", "critical values and levels at d = 100", "rogers-table-3"),
        ),
        (
            "filter-comparison",
            "odometer-attack",
            "posterior-shift-gap",
            "private-test-levels",
            "sign-comparison-attack",
        ),
    ),
    Paper(
        "zhao",
        "Zhao (2017)",
        "Zhao (2017), Adaptive Statistical Learning with Bayesian Differential Privacy",
        (
            Item("Figure 1", "quilts of a Markov chain, a diagram", code="holdfast.correlated.model"),
            Item("Figure 2", "reusing a holdout of correlated records overfits", "zhao-figures"),
            Item("Figure 3", "Algorithm 1 on the same records", "zhao-figures"),
        ),
        ("correlated-coverage", "correlated-panel", "zhao-counterexamples"),
    ),
    Paper(
        "coherence",
        "Demographic Coherence",
        "Enforcing Demographic Coherence: A Harms Aware Framework for Reasoning about Private Data Release",
        (
            Item("Figure 1", "the coherence experiment, as an algorithm", code="holdfast.coherence.experiment"),
            Item("Figure 2", "distances between the halves, people with a cognitive disability", "coherence-section-5"),
            Item("Figure 3", "predictions of one run, sorted, released and not", "coherence-section-5"),
            Item(
                "Figure 4",
                "perfect generalisation next to coherence, two definitions",
                code="holdfast.bounds.coherence",
            ),
            Item("Table 1", "epsilon for a tolerance", "coherence-table-1"),
        ),
        ("coherence-predictors", "coherence-section-7", "coherence-significance"),
    ),
)

BESIDE = (
    Beside("dwork", "Figure 2 and section 5", "dwork-figure-2", "claims", ("what",), "paper", "exact distribution"),
    Beside("dwork", "Figure 3 and section 5", "dwork-figure-3", "claims", ("what",), "paper", "exact distribution"),
    Beside("rogers-2017", "Table 3", "rogers-table-3", "table-3", ("n",), "tau (printed)", "tau", "critical value"),
    Beside(
        "rogers-2017",
        "Table 3",
        "rogers-table-3",
        "table-3",
        ("n",),
        "classical GOF on noisy counts (printed)",
        "classical GOF on noisy counts",
        "level of GOF",
    ),
    Beside(
        "rogers-2017",
        "Table 3",
        "rogers-table-3",
        "table-3",
        ("n",),
        "AsymptGOF (printed)",
        "AsymptGOF",
        "level of AsymptGOF",
    ),
    Beside(
        "coherence",
        "Figure 2 and section 5",
        "coherence-section-5",
        "distances",
        ("group",),
        "paper",
        "mean W1",
        "distance",
    ),
    Beside("coherence", "Table 1", "coherence-table-1", "table-1", ("alpha",), "printed", "paper", "largest epsilon"),
)

__all__ = ["BESIDE", "PAPERS", "Beside", "Item", "Paper"]
