"""Widths fall with rows and with beta and rise with questions; planners invert them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import interval
from holdfast.bounds.interval.planning import METHODS
from holdfast.errors import InvalidParameter

SIGNS = ("sign-comparison", "sign-comparison-independent")
QUICK = [m for m in METHODS if m not in ("best", "scheduled", "bns", *SIGNS)]
sizes = st.integers(200, 10**8)
counts = st.integers(1, 10**5)
betas = st.floats(1e-6, 0.5)


def width(method: str, n: int, k: int, beta: float) -> float:
    return METHODS[method](n, k, beta).half_width


@pytest.mark.parametrize("method", QUICK)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(n=sizes, k=counts, beta=betas, factor=st.floats(1.05, 10))
def test_directions(method: str, n: int, k: int, beta: float, factor: float) -> None:
    if method == "splitting":
        k = min(k, n // 12 or 1)

    def capped(n: int, k: int, beta: float) -> float:
        return min(0.5, width(method, n, k, beta))  # from 0.5 on a width says nothing, and the searches may stop early

    here = capped(n, k, beta)
    slack = 1 + 1e-7
    assert capped(int(n * factor) + 1, k, beta) <= here * slack
    assert capped(n, int(k * factor) + 1, beta) >= here / slack
    assert capped(n, k, min(0.9, beta * factor)) <= here * slack


@pytest.mark.parametrize(
    ("method", "n", "k", "beta"),
    [("best", 300, 7, 0.1), ("scheduled", 50_000, 900, 0.01), ("bns", 300, 7, 0.1), ("bns", 50_000, 900, 0.01)],
)
def test_directions_of_the_slower_ones(method: str, n: int, k: int, beta: float) -> None:
    here = width(method, n, k, beta)
    assert width(method, 2 * n, k, beta) < here < width(method, n, 2 * k, beta)
    assert width(method, n, k, 2 * beta) < here


@pytest.mark.parametrize(
    ("method", "n", "tau"),
    [(method, 3000, 0.3) for method in METHODS if method not in ("best", *SIGNS)]
    + [(method, 200_000, 0.06) for method in (*QUICK, "scheduled")],
)
def test_planners_invert_the_widths(method: str, n: int, tau: float) -> None:
    plan = interval.max_questions(n, tau, 0.05, method)  # type: ignore[arg-type]
    k = plan.value
    assert not plan.capped
    assert plan.width is None if k == 0 else plan.width == METHODS[method](n, k, 0.05)
    if k > 0:
        assert width(method, n, k, 0.05) <= tau
    if method != "splitting" or k < n:
        assert width(method, n, k + 1, 0.05) > tau
    k = max(k, 1)
    rows = interval.required_n(k, tau, 0.05, method).value  # type: ignore[arg-type]
    assert width(method, rows, k, 0.05) <= tau
    if rows > 1 and (method != "splitting" or rows > k):
        assert width(method, rows - 1, k, 0.05) > tau


def test_planners_invert_the_sign_comparison_to_its_smoothness() -> None:
    """A searched schedule is not smoother than a relative 2e-3 of its width, which is four times as much in k."""
    k = interval.max_questions(3000, 0.1, 0.05).value
    assert width("best", 3000, k, 0.05) <= 0.1 < width("best", 3000, int(1.02 * k) + 1, 0.05)
    n = interval.required_n(k, 0.1, 0.05).value
    assert width("best", n, k, 0.05) <= 0.1 < width("best", int(0.99 * n), k, 0.05)


def test_planners_with_laplace_noise() -> None:
    for method in ("dfh", "jung", "best"):
        k = interval.max_questions(200_000, 0.25, 0.05, method, "laplace").value  # type: ignore[arg-type]
        assert METHODS[method](200_000, k, 0.05, "laplace").half_width <= 0.25
        assert METHODS[method](200_000, k + 1, 0.05, "laplace").half_width > 0.25


def test_planners_say_no() -> None:
    assert interval.max_questions(10, 0.01, 0.05).value == 0
    with pytest.raises(InvalidParameter, match="half_width"):
        interval.required_n(10, 1e-9, 0.05, "dfh")
    with pytest.raises(InvalidParameter, match="noise must be gaussian"):
        interval.required_n(10, 0.1, 0.05, "scheduled", "laplace")
    with pytest.raises(InvalidParameter, match="half_width"):
        interval.max_questions(10, 0.0, 0.05)


@pytest.mark.parametrize("planner", [interval.max_questions, interval.required_n])
def test_planners_refuse_the_reference_that_does_not_hold(planner: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"^method must be one of .*, got 'non-adaptive'"):
        planner(1000, 0.1, 0.05, "non-adaptive")


def test_plans_name_the_winner_and_say_when_they_are_capped() -> None:
    plan = interval.required_n(1000, 0.05, 0.05)
    assert plan.to_dict()["winner"] == plan.method == "interval.sign-comparison"
    assert plan.to_dict()["sigma"] == plan.sigma == interval.best(plan.value, 1000, 0.05).sigma
    assert interval.max_questions(100_000, 0.4, 0.05, "splitting").sigma == 0
    capped = interval.max_questions(10**17, 0.2, 0.05, "posterior-shift")
    assert capped.capped
    assert capped.value == 10**15
    assert "or more" in str(capped)
    none = interval.max_questions(10, 0.01, 0.05)
    assert none.to_dict() == {"value": 0, "winner": None, "capped": False, "sigma": None, "certified": True}
    assert "not even one" in str(none)


def test_crossings_with_splitting() -> None:
    """At n = 1e5 noise wins from a handful of questions on; splitting wins for one or two."""
    assert interval.best(100_000, 2, 0.05).method == "interval.splitting"
    assert interval.best(100_000, 10, 0.05).method == "interval.sign-comparison"
    assert interval.best(100_000, 10, 0.05, "laplace").method == "interval.splitting"
    assert interval.best(100_000, 5000, 0.05, "laplace").method == "interval.jung"


@pytest.mark.parametrize("beta", [1e-100, 1e-12, 0.05])
def test_the_width_of_a_plan_keeps_what_was_asked_for(beta: float) -> None:
    plan = interval.required_n(50, 0.1, beta)
    assert plan.width is not None
    assert plan.width.half_width <= 0.1


def test_no_schedule_is_searched_where_none_can_win(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: Any) -> Any:
        raise AssertionError("a schedule was searched")

    monkeypatch.setitem(METHODS, "sign-comparison", searched)
    assert interval.required_n(10**18, 0.1, 0.05).method == "interval.scheduled"
    assert interval.required_n(1, 0.1, 0.05).method == "interval.splitting"
    assert interval.max_questions(10**18, 0.1, 0.05).capped
