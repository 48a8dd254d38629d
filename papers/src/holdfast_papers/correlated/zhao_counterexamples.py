"""`zhao-counterexamples`: what is printed for correlated records, next to what is true and what we ship. No
sampling.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.correlated import (
    bayesian_max_information,
    effective_n_chain,
    effective_n_stationary,
    holdout_size,
    printed_run_terms,
    printed_terms,
    question_failure,
    question_size,
    run_parameters,
)
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

SOURCE = "Zhao (2017), Adaptive Statistical Learning with Bayesian Differential Privacy, Theorems 1 to 3 and Lemma 1"
Law = Mapping[tuple[int, ...], float]
"""A number for every path: its probability, or that of the answer yes."""


@experiment(
    "zhao-counterexamples",
    title="A coin copied a thousand times and other cases in which printed statements for correlated records fail",
    source=SOURCE,
)
def zhao_counterexamples(settings: Settings) -> Outcome:
    """Every case is exact: closed forms, dynamic programming or enumeration."""
    tables, checks = [], []
    parts = (_theorem_1, _lemma_1, _theorem_3, _theorem_2, _composition)
    for i, part in enumerate(parts):
        settings.progress(i / len(parts), part.__name__.strip("_").replace("_", " "))
        table, judged = part()
        tables.append(table)
        checks += judged
    settings.progress(1.0, "done")
    return Outcome(tuple(tables), tuple(checks), _FINDING, {})


_FINDING = (
    "The printed quilt form of Theorem 1 promises that the mean of a thousand copies of one coin is within 0.4 of a "
    "half at 95 %, which never happens: privacy of the answers cannot make records concentrate. Colouring the records "
    "repairs it. Lemma 1 fails on a chain by a factor of hundreds of thousands, the step (45) in the proof of Theorem "
    "3 is false although the theorem is true, eq. (31) is an eighth of what the proof of Theorem 2 needs, and "
    "levels of Bayesian privacy do not add."
)


def _table(name: str, title: str, rows: list[dict[str, Any]]) -> Table:
    return Table(name, title, tuple(dict.fromkeys(key for row in rows for key in row)), tuple(rows))


def _theorem_1() -> tuple[Table, list[Check]]:
    """Copies of one coin, and blocks of equal coins: the distribution of the mean is binomial."""
    from scipy.stats import binom

    rows, checks = [], []
    for what, n, size, sigma, tau in (
        ("1,000 copies of one coin", 1000, 1000, 17.0, 0.4),
        ("675 blocks of 100 equal coins", 67_500, 100, 0.100001, 0.1),
    ):
        blocks = n // size
        first, second = printed_terms(1, sigma, tau, 0.05, size)
        true = 1.0 if blocks == 1 else float(2 * binom.cdf(math.floor((0.5 - tau) * blocks), blocks, 0.5))
        claimed = question_failure(n, 1, sigma, tau, size, method="paper")
        ours = question_failure(n, 1, sigma, tau, size)
        rows.append(
            {
                "records": what,
                "tau": tau,
                "printed requirement": f"{max(first, second):.1f} of {n}",
                "claimed probability": f"{claimed:.3g}",
                "true probability": f"{true:.3g}",
                "ours": f"{ours:.3g}",
                "our requirement": question_size(1, sigma, tau, 0.05, size),
            }
        )
        checks += [
            Check(f"{what}: the printed requirements are met", max(first, second) <= n, f"{max(first, second):.1f}"),
            Check(f"{what}: the printed claim is false", claimed < true, f"{claimed:.3g} against {true:.3g}"),
            Check(f"{what}: ours holds", ours >= true, f"{ours:.3g}"),
        ]
    return _table("theorem-1", "Theorem 1, eq. (8), with the trivial quilt and budget 1", rows), checks


def chain_tail(flip: float, n: int, tau: float) -> float:
    """Exact probability that the mean of a stationary symmetric two-state chain is off by `tau`; `O(n^2)`.

    Examples
    --------
    >>> round(chain_tail(0.5, 4, 0.5), 6)
    0.125
    """
    table = np.zeros((2, n + 1))
    table[0, 0] = table[1, 1] = 0.5
    for _ in range(n - 1):
        mixed = np.array([[1 - flip, flip], [flip, 1 - flip]]) @ table
        table[0] = mixed[0]
        table[1, 1:], table[1, 0] = mixed[1, :-1], 0.0
    law = table.sum(axis=0)
    return float(law[np.abs(np.arange(n + 1) / n - 0.5) >= tau - 1e-12].sum())


def _lemma_1() -> tuple[Table, list[Check]]:
    """A fixed question on a chain: the inequality inside Lemma 1 needs independent records."""
    n, tau, rows, checks = 4000, 0.1, [], []
    for flip in (0.05, 0.1, 0.3):
        true, claimed = chain_tail(flip, n, tau), 2 * math.exp(-n * tau * tau / 2)
        stay = 1 - 2 * flip
        chain, stationary = effective_n_chain(n, [stay]), effective_n_stationary(n, stay)
        ours = min(1.0, 2 * math.exp(-2 * max(chain, stationary) * tau * tau))
        rows.append(
            {
                "flip": flip,
                "true probability": f"{true:.4g}",
                "claimed": f"{claimed:.4g}",
                "ours": f"{ours:.4g}",
                "effective rows, any chain": round(chain, 1),
                "effective rows, stationary": round(stationary, 1),
            }
        )
        checks.append(Check(f"flip {flip}: ours holds", ours >= true, f"{ours:.3g} against {true:.3g}"))
        if flip == 0.05:
            checks.append(Check("flip 0.05: the inequality is false", claimed < true, f"{claimed:.3g}, {true:.3g}"))
    title = (
        "A mean over 4,000 rows of a symmetric chain off by 0.1; claimed: 2 exp(-n tau^2/2), used for any distribution"
    )
    return _table("lemma-1", title, rows), checks


def bayesian_level(law: Law, ones: Law) -> float:
    """Bayesian privacy of a yes-no mechanism on binary records, over every record and every set of known ones."""
    n, worst = len(next(iter(law))), 0.0
    for record in range(n):
        rest = [j for j in range(n) if j != record]
        for known in itertools.chain.from_iterable(itertools.combinations(rest, size) for size in range(n)):
            told: dict[tuple[int, ...], NDArray[np.float64]] = {}
            for path, p in law.items():
                cell = told.setdefault(tuple(path[j] for j in known), np.zeros((2, 2)))
                cell[path[record]] += p * np.array([ones[path], 1 - ones[path]])
            for cell in told.values():
                rows = cell / cell.sum(axis=1, keepdims=True)
                worst = max(worst, float(np.abs(np.log(rows[0] / rows[1])).max()))
    return worst


def _symmetric_chain(flip: float, n: int) -> dict[tuple[int, ...], float]:
    return {
        path: 0.5 * math.prod(flip if x != y else 1 - flip for x, y in itertools.pairwise(path))
        for path in itertools.product((0, 1), repeat=n)
    }


def _theorem_3() -> tuple[Table, list[Check]]:
    """Step (45): the mean of a logarithm in place of the logarithm of a mean."""
    law = _symmetric_chain(0.2, 3)
    ones = {path: 1 / (1 + math.exp(-4 * (sum(path) - 1.5))) for path in law}
    level = bayesian_level(law, ones)

    def mean_log(seen: tuple[int, ...]) -> float:
        """Expected log probability of the output 1 given the first records."""
        paths = [path for path in law if path[: len(seen)] == seen]
        return sum(law[path] * math.log(ones[path]) for path in paths) / sum(law[path] for path in paths)

    increment = max(
        abs(mean_log((*seen, 0)) - mean_log((*seen, 1)))
        for size in range(3)
        for seen in itertools.product((0, 1), repeat=size)
    )
    n, beta, epsilon = 1000, 0.05, 0.1
    rows = [
        {"what": "Bayesian privacy of the mechanism", "value": round(level, 9)},
        {"what": "increment that (45) bounds by it", "value": round(increment, 9)},
        *(
            {
                "what": f"max-information at epsilon 0.1, n 1000, beta 0.05: {method}",
                "value": round(bayesian_max_information(epsilon, n, beta, method), 6),
            }
            for method in ("paper", "repaired", "best", "any")
        ),
    ]
    check = Check("step (45) is false", increment > level, f"{increment:.9g} against {level:.9g}")
    return _table("theorem-3", "Theorem 3: a false step, a true theorem, better constants (bits)", rows), [check]


def _theorem_2() -> tuple[Table, list[Check]]:
    """Eq. (31) substitutes the noise but not the accuracy and not the failure probability."""
    tau, beta, questions, budget = 0.1, 0.05, 1000, 10
    literal = max(printed_terms(budget, run_parameters(tau, beta, questions, budget).sigma, tau, beta))
    right = max(printed_run_terms(tau, beta, questions, budget))
    rows: list[dict[str, Any]] = [
        {"what": "eq. (31) read literally", "records": math.ceil(literal), "proved": "no"},
        {"what": "the same with tau and beta put in", "records": math.ceil(right), "proved": "yes"},
        {
            "what": "repaired",
            "records": holdout_size(tau, beta, questions, budget, method="repaired").n,
            "proved": "yes",
        },
        {"what": "sharp", "records": holdout_size(tau, beta, questions, budget).n, "proved": "yes"},
    ]
    check = Check(
        "eq. (31) is an eighth of what its proof needs", literal < right / 7, f"{literal:,.0f} against {right:,.0f}"
    )
    title = "Independent records, 1,000 questions within 0.1 at 95 % with 10 overrulings: records asked for"
    return _table("theorem-2", title, rows), [check]


def _composition() -> tuple[Table, list[Check]]:
    """Two records of a chain and a yes-no mechanism: its runs together leak more than the sum."""
    p, q = 0.15, 0.43
    pi = (q / (p + q), p / (p + q))
    step = ((1 - p, p), (q, 1 - q))
    law: Law = {(x, y): pi[x] * step[x][y] for x, y in itertools.product((0, 1), repeat=2)}
    ones: Law = {(0, 0): 0.87, (0, 1): 0.77, (1, 0): 0.80, (1, 1): 0.39}
    rows, checks = [], []
    once = bayesian_level(law, ones)
    for runs in (1, 2, 6):
        level = 0.0
        for count in range(runs + 1):  # outputs matter only through the number of ones
            likelihood = {path: ones[path] ** count * (1 - ones[path]) ** (runs - count) for path in law}
            level = max(level, _pair_level(law, likelihood))
        rows.append({"runs": runs, "Bayesian privacy": round(level, 9), "sum": round(runs * once, 9)})
        if runs > 1:
            checks.append(Check(f"{runs} runs leak more than the sum", level > runs * once, f"{level:.6f}"))
    return _table("composition", "Levels of Bayesian privacy do not add; compose before converting", rows), checks


def _pair_level(law: Law, told: Law) -> float:
    """Largest log ratio of one output's probability given the two values of a record, the other known or not."""
    worst = 0.0
    for record in (0, 1):
        for fixed in (None, 0, 1):
            mass = np.zeros((2, 2))
            for path, p in law.items():
                if fixed is None or path[1 - record] == fixed:
                    mass[path[record]] += p * told[path], p
            given = mass[:, 0] / mass[:, 1]
            worst = max(worst, abs(float(np.log(given[0] / given[1]))))
    return worst


__all__ = ["bayesian_level", "chain_tail", "zhao_counterexamples"]
