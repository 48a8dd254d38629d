"""Repeated measures of real families: questions on the RAND Health Insurance Experiment, with families as blocks.

The table comes with statsmodels: 20,190 person-years, without names of persons or families. An insurance contract was
the family's, for the whole of its time in the experiment, and the table lists a family's rows one after the other. So
a run of rows with one contract holds whole families, and runs are declared to be the independent blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.correlated.holdout.dependent_rows import DependentRows
from holdfast.correlated.holdout.model_check import ModelReport
from holdfast.correlated.holdout.panel import Panel
from holdfast.correlated.holdout.reusable import DependentHoldout
from holdfast.holdout.reusable import ReusableHoldout
from holdfast.noise.entropy import Seeded
from holdfast_papers.binomial import ERROR, exceeds
from holdfast_papers.real_data import DataAbsent
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

CONTRACT = ("lncoins", "idp", "lpi", "fmde")
#: Questions about a row: the first five are about the contract and equal for a family, the others about a person.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "individual deductible": lambda rows: rows["idp"] == 1,
    "free care": lambda rows: rows["lncoins"] == 0,
    "pays 95 per cent": lambda rows: rows["lncoins"] > 4.5,
    "incentive above 400": lambda rows: rows["lpi"] > 6,
    "has a deductible": lambda rows: rows["fmde"] > 0,
    "no visit in the year": lambda rows: rows["mdvis"] == 0,
    "five visits or more": lambda rows: rows["mdvis"] >= 5,
    "ten visits or more": lambda rows: rows["mdvis"] >= 10,
    "health fair or poor": lambda rows: (rows["hlthf"] == 1) | (rows["hlthp"] == 1),
    "health good": lambda rows: rows["hlthg"] == 1,
    "physical limitation": lambda rows: rows["physlm"] > 0,
    "chronic diseases above 15": lambda rows: rows["disea"] > 15,
}
DRAWN = 150
CONFIDENCE = 0.95


def load(name: str) -> Any:
    """A data set of statsmodels as a pandas frame."""
    try:
        import statsmodels.datasets as sets
    except ImportError:
        raise DataAbsent("this experiment needs statsmodels, which brings the data; install it") from None
    return getattr(sets, name).load_pandas().data


def families() -> Any:
    """The person-years with the number of their run of one contract."""
    table = load("randhie")
    contract = table[list(CONTRACT)]
    table["contract"] = (contract != contract.shift()).any(axis=1).cumsum().to_numpy()
    return table


@dataclass(frozen=True)
class Population:
    """Every family's answers: `values[row, question]`, rows by family, and the mean sum of families of each size."""

    values: NDArray[np.bool_]
    start: NDArray[np.intp]
    size: NDArray[np.intp]
    expected: Mapping[int, NDArray[np.float64]]

    @classmethod
    def of(cls, table: Any) -> Population:
        """From the table."""
        values = np.column_stack([np.asarray(ask(table)) for ask in QUESTIONS.values()]).astype(np.bool_)
        _, start, size = np.unique(table["contract"].to_numpy(), return_index=True, return_counts=True)
        sums = np.add.reduceat(values.astype(np.float64), start, axis=0)
        expected = {int(k): sums[size == k].mean(axis=0) for k in np.unique(size)}
        return cls(values, start.astype(np.intp), size.astype(np.intp), expected)

    def draw(self, rng: np.random.Generator) -> tuple[NDArray[np.bool_], list[int], NDArray[np.float64]]:
        """Families drawn independently: their rows, their sizes, and the expected means given the sizes."""
        chosen = rng.integers(0, len(self.size), DRAWN)
        rows = np.concatenate([np.arange(self.start[g], self.start[g] + self.size[g]) for g in chosen])
        sizes = [int(k) for k in self.size[chosen]]
        truth = np.sum([self.expected[k] for k in sizes], axis=0) / len(rows)
        return self.values[rows], sizes, np.asarray(truth, dtype=np.float64)


def coverage(population: Population, runs: int, seed: int) -> list[dict[str, Any]]:
    """Draw training and holdout families, guess by the former, check on the latter; count runs with a wrong answer.

    An interval is wrong if it misses the expectation given the sizes of the families and the mean over all rows too.
    """
    rng = np.random.default_rng(seed)
    overall = population.values.mean(axis=0)
    names, count = list(QUESTIONS), len(QUESTIONS)
    wrong = {name: np.zeros(count, dtype=int) for name in ("families", "independent rows")}
    any_wrong, width = dict.fromkeys(wrong, 0), dict.fromkeys(wrong, 0.0)
    for _ in range(runs):
        guesses = population.draw(rng)[0].mean(axis=0)
        held, sizes, truth = population.draw(rng)
        holdouts: dict[str, ReusableHoldout] = {
            "families": DependentHoldout(DependentRows.blocks(sizes), questions=count, confidence=CONFIDENCE),
            "independent rows": ReusableHoldout(len(held), questions=count, confidence=CONFIDENCE),
        }
        for name, holdout in holdouts.items():
            missed = np.zeros(count, dtype=np.bool_)
            for q in range(count):
                ends = holdout.check(held[:, q], float(guesses[q])).interval
                assert ends is not None
                missed[q] = not any(ends[0] <= mean <= ends[1] for mean in (truth[q], overall[q]))
                width[name] += (ends[1] - ends[0]) / 2
            wrong[name] += missed
            any_wrong[name] += bool(missed.any())
    return [
        {
            "declared": name,
            "runs": runs,
            "runs with a wrong answer": any_wrong[name],
            "most on one question": int(wrong[name].max()),
            "which": names[int(wrong[name].argmax())] if wrong[name].any() else "",
            "mean half-width": round(width[name] / (runs * count), 4),
        }
        for name in wrong
    ]


def answers(table: Any, seed: int) -> tuple[Panel, list[dict[str, Any]]]:
    """One panel on the whole table, split by contract, asked every question."""
    panel = Panel(table, group="contract", questions=len(QUESTIONS), confidence=CONFIDENCE, source=Seeded(seed))
    rows = []
    for name, ask in QUESTIONS.items():
        answer = panel.ask(ask)
        assert answer.interval is not None
        rows.append(
            {
                "question": name,
                "answer": round(answer.value or 0.0, 4),
                "from": round(answer.interval[0], 4),
                "to": round(answer.interval[1], 4),
                "passed": answer.passed,
                "all rows": round(float(np.mean(ask(table))), 4),
            }
        )
    return panel, rows


def firms(seed: int) -> ModelReport:
    """The model check of eleven firms over twenty years as independent groups (Grunfeld's investment data)."""
    panel = Panel(
        load("grunfeld"),
        group="firm",
        time="year",
        values=["invest"],
        share=0.2,
        misfit="uncertified",
        source=Seeded(seed),
    )
    return panel.report


@experiment(
    "correlated-panel",
    title="Repeated measures of real families: intervals by family, and what independent rows would have claimed",
    source="Holdfast: docs/correlated-holdout.md; RAND Health Insurance Experiment in statsmodels",
)
def run(settings: Settings) -> Outcome:
    """Ask one panel, then draw families many times and count wrong answers."""
    settings.progress(0.0, "the panel")
    table = families()
    panel, asked = answers(table, settings.seed)
    runs = 100 if settings.quick else 1000
    settings.progress(0.05, f"{runs} draws of {DRAWN} families")
    covered = coverage(Population.of(table), runs, settings.seed)
    settings.progress(0.95, "firms")
    by_firm = firms(settings.seed)
    settings.progress(1.0, "done")
    families_wrong, rows_wrong = (row["runs with a wrong answer"] for row in covered)
    level = 1 - CONFIDENCE
    checks = (
        Check(
            "families as blocks keep the confidence",
            not exceeds(families_wrong, runs, level),
            f"{families_wrong} of {runs} runs; at most {level:.0%} promised; test error {ERROR:g}",
        ),
        Check(
            "rows taken as independent are seen to fail",
            exceeds(rows_wrong, runs, level),
            f"{rows_wrong} of {runs} runs; test error {ERROR:g}",
        ),
        Check(
            "every interval of the panel has the mean over all rows inside",
            all(row["from"] <= row["all rows"] <= row["to"] for row in asked),
            f"{len(asked)} questions, {panel.rows.n} holdout rows worth {panel.rows.effective_n:.1f}",
        ),
        Check("firms that move together in time are refused as independent groups", not by_firm.passed, str(by_firm)),
    )
    return Outcome(
        (
            Table("answers", "questions on the holdout half, families as blocks", tuple(asked[0]), tuple(asked)),
            Table("coverage", f"{DRAWN} families drawn at a time", tuple(covered[0]), tuple(covered)),
        ),
        checks,
        f"Taken as independent, the rows gave a wrong answer in {rows_wrong} of {runs} runs; with families as blocks "
        f"in {families_wrong}. {panel.rows.n} holdout rows are worth {panel.rows.effective_n:.0f} independent ones.",
        {"quick": settings.quick, "seed": settings.seed, "runs": runs, "families": DRAWN, "confidence": CONFIDENCE},
    )


__all__ = ["QUESTIONS", "Population", "answers", "coverage", "families", "firms", "load", "run"]
