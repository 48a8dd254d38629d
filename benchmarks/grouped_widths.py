"""How wide grouped answers are, next to Bonferroni without noise and next to OpenDP's noise alone.

    python -m benchmarks.grouped_widths

Without noise: tables whose groups are guessed well, revealed by `close`, next to exact intervals at an equal part of
the failure probability for each cell. With noise: the interval about the rows, next to what OpenDP says of its own
noise at the same epsilon, for neighbours that replace one row, and for as many cells at once. Prints each ratio.
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


if __name__ == "__main__":
    main()
