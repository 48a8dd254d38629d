"""How wide grouped answers are, next to Bonferroni without noise and next to OpenDP's noise alone.

    python -m benchmarks.grouped_widths

Without noise: tables whose groups are guessed well, revealed by `close`, next to exact intervals at an equal part of
the failure probability for each cell. With noise: the interval about the rows, next to what OpenDP says of its own
noise at the same epsilon, for neighbours that replace one row, and for as many cells at once. Means of groups are next
to the quotients that OpenDP's accuracies of two noisy sums for each group leave possible. OpenDP states no accuracy of
a median that it releases, so medians are next to the steps of their grid. Prints each ratio, and each half-width.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.bounds.one_question.means import clopper_pearson
from holdfast.core.extras import named_extras
from holdfast.guard import Guard, Policy
from holdfast.guard.questions.noisy import ratio_ends

ROWS, BETA = 60_000, 0.05


def sample(groups: int) -> tuple[hf.data.Sample, np.ndarray, list[np.ndarray], list[str]]:
    """Rows in groups of equal size, with ten conditions that hold for different parts of them."""
    rng = np.random.default_rng(0)
    group = np.arange(ROWS) % groups
    names = [f"g{at}" for at in range(groups)]
    holds = [rng.random(ROWS) < 0.1 + 0.08 * at for at in range(10)]
    columns: dict[str, Any] = {"g": [names[at] for at in group]}
    columns |= {f"x{at}": one.tolist() for at, one in enumerate(holds)}
    return hf.data.table(columns), group, holds, names


def against_bonferroni(groups: int, tables: int, *, final: bool = False) -> float:
    """The mean width of all cells after `close`, divided by that of Bonferroni on the same number of cells.

    `final` keeps half of the failure probability for a final that is never asked, as a policy does by default.
    """
    rows, group, holds, names = sample(groups)
    kinds = None if final else ("table", "close")
    policy = Policy(questions=tables, kinds=kinds, columns={"g": {"categories": names}})
    guard = Guard.open(None, rows, policy)
    for at in range(tables):
        guesses = dict.fromkeys(names, 0.1 + 0.08 * at)
        answer = guard.ask(hf.guard.table(["g"], f"x{at}", guesses=guesses))
        assert answer.passed, "a good guess stands"
    revealed = guard.ask(hf.guard.close()).details["revealed"]
    ours = [high - low for one in revealed for low, high in one["interval"].values()]
    log_share = math.log(BETA / (groups * tables))
    theirs = []
    for at in range(tables):
        for name in range(groups):
            inside = holds[at][group == name]
            low, high = clopper_pearson(int(inside.sum()), inside.size, log_share)
            theirs.append(high - low)
    assert len(ours) == len(theirs)
    return float(np.mean(ours) / np.mean(theirs))


def against_opendp(groups: int, epsilon: float) -> float:
    """Half of the interval about the rows of a share in a table, divided by OpenDP's accuracy for as many counts."""
    with named_extras():
        from opendp.accuracy import laplacian_scale_to_accuracy
        from opendp.mod import enable_features

    enable_features("contrib")
    rows, _, _, names = sample(groups)
    cost = PureDP(epsilon)
    policy = Policy(questions=4, privacy=cost, spend=cost, columns={"g": {"categories": names}})
    guard = Guard.open(None, rows, policy)
    if groups == 1:
        low, high = (ROWS * end for end in guard.ask(hf.mean("x4")).details["about_rows"]["interval"])
        sensitivity = 1.0
    else:
        ends = guard.ask(hf.guard.table(["g"])).details["about_rows"]["interval"]
        low, high = max(ends.values(), key=lambda pair: pair[1] - pair[0])
        sensitivity = 2.0  # replacing a row takes one from a cell and adds one to another
    accuracy = laplacian_scale_to_accuracy(sensitivity / epsilon, BETA / groups)
    return float((high - low) / 2 / accuracy)


def means_against_opendp(groups: int, epsilon: float) -> float:
    """The widest interval about the rows of a table of means, divided by that of OpenDP's noise on the same sums."""
    with named_extras():
        from opendp.accuracy import laplacian_scale_to_accuracy
        from opendp.mod import enable_features

    enable_features("contrib")
    rows, group, _, names = sample(groups)
    values = np.random.default_rng(1).beta(2, 5, ROWS)
    rows = hf.data.table({"g": [names[at] for at in group], "y": values.tolist()})
    cost = PureDP(epsilon)
    columns = {"g": {"categories": names}, "y": {"low": 0, "high": 1}}
    guard = Guard.open(None, rows, Policy(questions=4, privacy=cost, spend=cost, columns=columns))
    ends = guard.ask(hf.guard.table(["g"], "y")).details["about_rows"]["interval"]
    accuracy = laplacian_scale_to_accuracy(2.0 / epsilon, BETA / (2 * groups))  # a row counts in both sums of its cell
    theirs = []
    for name in range(groups):
        inside = values[group == name]
        low, high = ratio_ends(float(inside.sum()), float((1 - inside).sum()), accuracy)
        theirs.append(high - low)
    return float(np.mean([high - low for low, high in ends.values()]) / np.mean(theirs))


def median_widths(groups: int, epsilon: float) -> tuple[float, float]:
    """Half of the widest interval about the rows of a median, and of that about the population; the range is 1."""
    _, group, _, names = sample(groups)
    values = np.random.default_rng(1).beta(2, 5, ROWS)
    rows = hf.data.table({"g": [names[at] for at in group], "y": values.tolist()})
    cost = PureDP(epsilon)
    columns = {"g": {"categories": names}, "y": {"low": 0, "high": 1}}
    guard = Guard.open(None, rows, Policy(questions=4, privacy=cost, spend=cost, columns=columns))
    if groups == 1:
        answer = guard.ask(hf.guard.quantile("y", 0.5))
        both = [[answer.details["about_rows"]["interval"]], [answer.interval]]
    else:
        answer = guard.ask(hf.guard.table(["g"], "y", q=0.5))
        both = [list(answer.details["about_rows"]["interval"].values()), list(answer.interval.values())]
    about, population = (max(high - low for low, high in ends) / 2 for ends in both)
    return about, population


def main() -> None:
    """Print every ratio."""
    for groups, tables in ((2, 1), (12, 1), (12, 10)):
        plain, kept = (against_bonferroni(groups, tables, final=final) for final in (False, True))
        print(
            f"{tables} tables of {groups} groups, good guesses, after close: {plain:.3f} times Bonferroni; "
            f"{kept:.3f} where half of the failure probability is kept for a final"
        )
    for groups in (1, 2, 12):
        for epsilon in (0.1, 1.0):
            ratio = against_opendp(groups, epsilon)
            print(f"{groups} counts, epsilon {epsilon:g}, about the rows: {ratio:.3f} times OpenDP")
    for groups in (2, 12):
        for epsilon in (0.1, 1.0):
            ratio = means_against_opendp(groups, epsilon)
            print(f"means of {groups} groups, epsilon {epsilon:g}, about the rows: {ratio:.3f} times OpenDP")
    for groups in (1, 2, 12):
        for epsilon in (0.2, 1.0, 5.0):
            about, population = median_widths(groups, epsilon)
            print(
                f"medians of {groups} groups, epsilon {epsilon:g}: within {about:.4f} about the rows, {population:.4f} "
                "about the population, of a range of 1 whose steps are 0.0039"
            )


if __name__ == "__main__":
    main()
