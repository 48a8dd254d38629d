"""Questions that come in rounds: an analyst who sees answers only at the end of each of `r` rounds is easier to serve.

All questions of a round are chosen before any of its answers is seen. So a part of the rows can serve a whole round,
and a clock counts earlier rounds only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

from holdfast.bounds.interval.planning import best
from holdfast.bounds.interval.signs import RowLaw, sign_plan, sign_width
from holdfast.bounds.interval.width import GaussianNoise, UnusedNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import MOST, Domain, FailureProbability, Questions, Rows
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

Rounds = Annotated[
    int, Domain("In how many rounds the answers are seen, at most `questions`.", at_least=1, at_most=MOST, typical=5)
]
#: Beyond this many rounds the one-by-one plan is used, which is hardly wider and holds for every number of rounds.
_MOST_ROUNDS = 2000


def _checked(questions: int, rounds: int) -> int:
    """The size of a round; the last one may be smaller."""
    if rounds > questions:
        raise InvalidParameter(
            f"rounds is {rounds}, but it must be a whole number that is at most the number of questions, {questions}"
        )
    return -(-questions // rounds)


@theorem(
    "interval.splitting-rounds",
    statement="Half-width of k answers in r rounds, each round on its own rows: sqrt(ln(2k/beta) / (2 floor(n/r))).",
    source="Hoeffding 1963, union bound",
    conditions="rows independent, and identically distributed where there are several rounds; questions of a round "
    "chosen before any of its answers; rounds <= n; each round is asked of its own part only",
    unit="half-width",
    provenance="derived",
)
def splitting_rounds(
    n: Rows, questions: Questions, beta: FailureProbability, rounds: Rounds, noise: UnusedNoise = "gaussian"
) -> Width:
    """Half-width of exact means when each round of questions is answered from its own part of the rows.

    Given the earlier parts, the questions of a round are fixed. So Hoeffding's inequality holds for each question with
    failure probability `beta/k`, for `k` questions in all.

    Examples
    --------
    >>> [round(splitting_rounds(100_000, 1000, 0.05, r).value, 6) for r in (2, 5, 10)]
    [0.010294, 0.016276, 0.023018]
    """
    _checked(questions, rounds)
    part = n // rounds
    if part < 1:
        raise InvalidParameter(
            f"rounds is {rounds}, but for splitting it must be a whole number that is at most the number of rows, n = "
            f"{n}"
        )
    return Width(
        up(math.sqrt((math.log(2 * questions) - math.log(beta)) / (2 * part)), 16),
        0.0,
        "none",
        "interval.splitting-rounds",
        "best",
        n,
        questions,
        beta,
        assumption=f"rows independent{' and identically distributed' if rounds > 1 else ''}; questions of a round "
        "chosen before any of its answers; each part of the rows answers one round",
        tuning={"rounds": rounds, "rows_per_round": part},
    )


@theorem(
    "interval.winner-only",
    statement="Half-width of k plain means in r rounds when a round shows only its winner, in one of c cells.",
    source="Hoeffding 1963; union bound over transcripts (description length)",
    conditions="rows independent; rounds of equal size; between rounds nothing is shown but the index of one question "
    "and its value as one of c cells; after the last round everything may be shown",
    unit="half-width",
    provenance="derived",
)
def winner_only(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    rounds: Rounds,
    cells: Annotated[
        int, Domain("In how many cells the winner's value is shown.", at_least=1, at_most=10**6, typical=20)
    ] = 20,
    noise: UnusedNoise = "gaussian",
) -> Width:
    """Half-width of exact means of all `n` rows when the analyst sees little between the rounds, such as the winner.

    After a round the analyst sees only the index of one question and its value as one of `c` cells. With `k` questions
    in `r` rounds there are at most `(c k/r)^(t-1)` transcripts before round `t`, and so at most `k (c k/r)^(r-1)` pairs
    of a transcript and a question. The width is a union bound over these pairs. An analyst who sees more is not
    covered.

    Examples
    --------
    >>> round(winner_only(100_000, 1000, 0.05, 5).value, 6)
    0.014794
    """
    size = _checked(questions, rounds)
    nats = math.log(2 * questions) - math.log(beta) + (rounds - 1) * math.log(cells * size)
    return Width(
        up(math.sqrt(nats / (2 * n)), 16),
        0.0,
        "none",
        "interval.winner-only",
        "best",
        n,
        questions,
        beta,
        assumption=f"rows independent; between rounds only one question's index and one of {cells} cells are shown",
        tuning={"rounds": rounds, "cells": cells},
    )


@theorem(
    "interval.sign-comparison-rounds",
    statement="Theorem D for k adaptive means in r rounds: the clock counts earlier rounds only.",
    source="Holdfast: Theorem D with rounds (docs/papers/adaptive-widths.md), derived twice, not refereed",
    conditions="those of interval.sign-comparison; questions of a round chosen before any of its answers",
    unit="half-width",
    provenance="derived",
)
def sign_comparison_rounds(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    rounds: Rounds,
    noise: GaussianNoise = "gaussian",
    rows: RowLaw = "identical",
) -> Width:
    """Half-width of noisy means of all rows when the answers are seen in `r` rounds.

    A question of a round depends on the answers of earlier rounds only. So Theorem D is applied to those answers and to
    the question's own answer.

    Notes
    -----
    `T_j`, `v_j` and the number of questions before question `j` count earlier rounds.

    Examples
    --------
    >>> round(sign_comparison_rounds(10_000, 100, 0.05, 5).value, 3)
    0.054
    """
    gaussian_only("interval.sign-comparison-rounds", noise)
    size = _checked(questions, rounds)
    plan = sign_plan(n, questions, beta, rows, batch=size if rounds <= _MOST_ROUNDS else 1)
    width = sign_width(plan, "interval.sign-comparison-rounds", "best", {"rounds": rounds})
    return replace(width, assumption=f"{width.assumption}; questions of a round chosen before any of its answers")


def best_rounds(n: int, questions: int, beta: float, rounds: int, rows: RowLaw = "identical") -> Width:
    """Return the smallest half-width of three plans for questions in rounds. The choice depends on no data.

    The plans are splitting the rows by rounds, noise with rounds, and noise for questions asked one by one.

    Examples
    --------
    >>> best_rounds(100_000, 1000, 0.05, 5).method, best_rounds(10_000, 10, 0.05, 10).method
    ('interval.splitting-rounds', 'interval.sign-comparison')
    """
    widths = [best(n, questions, beta, rows=rows)]
    if rounds <= n and (rows == "identical" or rounds == 1):  # a part must stand for all rows
        widths.append(splitting_rounds(n, questions, beta, rounds))
    smallest = min(widths, key=lambda width: width.half_width)
    # the noise of rounds is at least that of one question a round
    if smallest.method == "interval.splitting-rounds" and smallest.half_width < 0.5 * widths[0].half_width:
        return smallest
    return min(smallest, sign_comparison_rounds(n, questions, beta, rounds, rows=rows), key=lambda w: w.half_width)
