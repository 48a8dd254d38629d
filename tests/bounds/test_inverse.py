"""`solve` against the theorems it inverts and against inverses that were derived by hand."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

from holdfast.bounds import lookup, solve
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

CASES: list[tuple[str, str, float, str, dict[str, Any]]] = [
    ("composition.zcdp-to-dp", "rho", 1.0, "at most", {"delta": 1e-6}),
    ("composition.zcdp-delta", "rho", 1e-6, "at most", {"epsilon": 1.0}),
    ("composition.gdp-to-dp", "mu", 2.0, "at most", {"delta": 1e-6}),
    ("interval.posterior-shift", "n", 0.05, "at most", {"questions": 1000, "beta": 0.05}),
    ("interval.posterior-shift", "questions", 0.05, "at most", {"n": 100_000, "beta": 0.05}),
    ("interval.splitting", "questions", 0.1, "at most", {"n": 100_000, "beta": 0.05}),
    ("max-information.pure-dp", "epsilon", 10.0, "at most", {"n": 1000, "beta": 0.05}),
    ("p-value.corrected-level", "k_bits", 0.001, "at least", {"alpha": 0.05, "beta": 0.01}),
    ("holdout.thresholdout-size", "tau", 10**9, "at most", {"beta": 0.05, "questions": 50, "budget": 5}),
]


@pytest.mark.parametrize(("id", "name", "target", "goal", "others"), CASES, ids=[f"{row[0]}-{row[1]}" for row in CASES])
def test_the_next_value_no_longer_reaches_the_target(
    id: str, name: str, target: float, goal: Any, others: dict[str, Any]
) -> None:
    entry = lookup(id)
    sign = 1 if goal == "at most" else -1
    solution = solve(id, for_=name, target=target, goal=goal, **others)

    def reached(x: float) -> bool:
        return bool(sign * entry.evaluate(**others | {name: x}).value <= sign * target)

    assert reached(solution)
    whole = next(p.kind for p in entry.parameters if p.name == name) == "whole"
    neighbours = [solution - 1, solution + 1] if whole else [math.nextafter(solution, end) for end in (-1e308, 1e308)]
    assert [reached(x) for x in neighbours].count(False) == 1
    assert isinstance(solution, int) == whole


@pytest.mark.parametrize(("id", "name", "target", "goal", "others"), CASES, ids=[f"{row[0]}-{row[1]}" for row in CASES])
@pytest.mark.parametrize("near", [1e-30, 0.7, 1.0, 3.0, 1e4, 1e30])
def test_a_guess_changes_no_result(
    id: str, name: str, target: float, goal: Any, others: dict[str, Any], near: float
) -> None:
    plain = solve(id, for_=name, target=target, goal=goal, **others)
    guessed = solve(id, for_=name, target=target, goal=goal, near=near, **others)
    assert guessed == plain if isinstance(plain, int) else guessed == pytest.approx(plain, rel=1e-14)


def test_a_result_may_stay_within_a_share_of_the_turn_on_the_right_side() -> None:
    exact = solve("composition.zcdp-to-dp", for_="rho", target=1.0, delta=1e-6)
    for within in (1e-12, 1e-6, 1e-2):
        rough = solve("composition.zcdp-to-dp", for_="rho", target=1.0, delta=1e-6, within=within)
        assert exact * (1 - within) <= rough <= exact
    with pytest.raises(InvalidParameter, match="within"):
        solve("composition.zcdp-to-dp", for_="rho", target=1.0, delta=1e-6, within=1.0)


@pytest.mark.parametrize(("id", "name", "target", "goal", "others"), CASES[:7], ids=[row[0] for row in CASES[:7]])
def test_smooth_theorems_are_evaluated_some_dozen_times(
    id: str, name: str, target: float, goal: Any, others: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = lookup(id)
    plain, calls = inspect.unwrap(entry.function), []

    def counted(**arguments: Any) -> Any:
        calls.append(arguments)
        return plain(**arguments)

    monkeypatch.setattr(entry.function, "__wrapped__", counted)
    solve(id, for_=name, target=target, goal=goal, **others)
    assert len(calls) < 35


@pytest.mark.parametrize(
    ("solved", "by_hand"),
    [
        (
            {"theorem": "interval.posterior-shift", "for_": "n", "target": 0.05, "questions": 100, "beta": 0.01},
            lookup("interval.required-n").evaluate(questions=100, half_width=0.05, beta=0.01, method="posterior-shift"),
        ),
        (
            {"theorem": "correlated.holdout-size", "for_": "budget", "target": 10**7}
            | {"tau": 0.1, "beta": 0.05, "questions": 1000},
            lookup("correlated.holdout-budget").evaluate(n=10**7, tau=0.1, beta=0.05, questions=1000),
        ),
        (
            {"theorem": "holdout.sparse-validate-size", "for_": "tau", "target": 10_000}
            | {"beta": 0.05, "questions": 1000, "budget": 10},
            lookup("holdout.sparse-validate-width").evaluate(n=10_000, beta=0.05, questions=1000, budget=10),
        ),
    ],
)
def test_agrees_with_inverses_derived_by_hand(solved: dict[str, Any], by_hand: Any) -> None:
    assert solve(**solved) == pytest.approx(by_hand.value, rel=1e-12)


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="for_ must be"):
        solve("composition.zcdp-to-dp", for_="method", target=1.0, rho=0.1, delta=1e-6)
    with pytest.raises(InvalidParameter, match="rho was given"):
        solve("composition.zcdp-to-dp", for_="rho", target=1.0, rho=0.1, delta=1e-6)
    with pytest.raises(InvalidParameter, match="theorem must be"):
        solve(math.sqrt, for_="x", target=1.0)
    with pytest.raises(GuaranteeUnavailable):
        solve("interval.splitting", for_="questions", target=1e-6, n=1000, beta=0.05)


def test_an_end_of_the_domain_that_reaches_the_target_is_the_answer() -> None:
    assert solve("p-value.adjusted", for_="p", target=1.0, k_bits=3.0, beta=0.01) == 1.0
