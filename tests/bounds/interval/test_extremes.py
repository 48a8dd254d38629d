"""At the ends of every range an interval or holdout bound gives a number or names the parameter, soon and quietly.

Warnings are errors here as everywhere in the tests.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from holdfast.bounds import interval
from holdfast.bounds.interval.posterior_shift import Boundary, excess
from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import Theorem, catalogue
from holdfast.errors import InvalidParameter

OURS = [entry for entry in catalogue().values() if entry.id.split(".")[0] in ("interval", "holdout")]
USUAL: dict[str, Any] = {
    "n": 1000, "questions": 10, "beta": 0.05, "half_width": 0.1, "tau": 0.1, "budget": 2, "sigma": 0.01, "p": 0.3,
    "grid": 0.01, "question": 5, "failures": 1, "universe": 1024.0, "error": 0.1, "step": 0.1, "submissions": 10,
    "threshold": 0.05, "sensitivity": 0.001, "candidates": 5, "deviation": 0.3, "rounds": 4, "spending": 0.01,
    "threshold_scale": 0.001, "comparison_scale": 0.002, "release_scale": 0.0005, "mu": 0.05, "rate": 0.05,
    "noise": 0.0125,
}  # fmt: skip
WHOLES = [0, 1, 10**18, 10**300]
REALS = [0.0, 5e-324, 1e-300, 1e-100, 1e-9, 1 - 2**-53, 1.0, 1.7e308, math.inf, math.nan]
LISTS = [[1e-300] * 4, [1e300, 1.0, 0.5, 1.0], [0.1, 4.0, 0.3, 100.0]]
MOST_SECONDS = 40.0  # of processor time; the slowest planner takes three, a hang takes forever


def _values(parameter: Parameter) -> list[Any]:
    return {"whole": WHOLES, "real": REALS, "reals": LISTS, "choice": list(parameter.choices)}[parameter.kind]


def _refused(entry: Theorem, arguments: dict[str, Any]) -> bool:
    began = time.process_time()
    try:
        value = entry.evaluate(**arguments).value
        refusal = ""
    except InvalidParameter as error:
        value, refusal = 0.0, str(error)
    assert time.process_time() - began < MOST_SECONDS, arguments
    assert value >= 0, arguments
    assert not refusal or any(p.name in refusal for p in entry.parameters), (arguments, refusal)
    return bool(refusal)


@pytest.mark.parametrize("entry", OURS, ids=lambda entry: entry.id)
def test_extreme_arguments(entry: Theorem) -> None:
    usual = {p.name: USUAL[p.name] for p in entry.parameters if p.required}
    usual |= {"grid": 0.01} if entry.id == "holdout.guess-and-check-width" else {}
    assert not _refused(entry, usual)
    for parameter in entry.parameters:
        for value in _values(parameter):
            _refused(entry, usual | {parameter.name: value})
    numbers = [p for p in entry.parameters if p.required]
    for wholes in (1, 10**18):
        for reals in (5e-324, 1e-100, 1 - 2**-53):
            _refused(entry, {p.name: wholes if p.kind == "whole" else reals for p in numbers})


@pytest.mark.parametrize("id", ["interval.posterior-shift", "interval.best", "interval.jung", "interval.bns"])
def test_beta_beyond_the_floating_range_is_named(id: str) -> None:
    with pytest.raises(InvalidParameter, match=r"beta must be a number in \[1e-100, 1\), got 5e-324"):
        catalogue()[id].evaluate(n=100, questions=100, beta=5e-324)


@pytest.mark.parametrize("beta", [1e-10, 1e-50, 1e-100])
def test_scheduled_noise_is_constant_noise_for_tiny_beta(beta: float) -> None:
    """The search inside the boundary once lost its digits there and gave widths near 0."""
    assert interval.scheduled(1000, 10, beta).half_width == interval.posterior_shift(1000, 10, beta).half_width
    with pytest.raises(InvalidParameter, match="beta"):
        interval.scheduled(1000, 10, beta, parameters=(0.1, 4.0, 0.3, 5.0))


@pytest.mark.parametrize(("questions", "beta"), [(10, 0.9), (10, 1e-6), (10_000, 0.05), (10_000, 1e-9)])
def test_scales_are_below_the_minimand_on_a_fine_grid(questions: int, beta: float) -> None:
    """Wherever scheduled noise is offered, its scale is at most the minimand at every point of a fine grid."""
    schedule = interval.scheduled(1000, questions, beta).schedule
    assert schedule is not None
    boundary = schedule.boundary
    if boundary is None:
        return
    for v in boundary.horizon * np.linspace(0.0, 0.999, 40):
        at = np.array([v])
        end = float(boundary.crossing(at)[0])
        x = np.linspace(0.0, min(end, 1.0), 4001)
        value, _, _ = excess(x, np.full_like(x, boundary.horizon - v), boundary.threshold)
        room = boundary.noise_level + (1 - np.minimum(boundary.shift_weight * value, 1.0)) / boundary.noise_weight
        assert float(boundary.scale(at)[0]) <= float(np.min((1 - x) / room))


def test_levels_that_lose_their_digits_are_not_usable() -> None:
    assert Boundary(10, 0.05, 0.1, 3.0, 0.3, 5.0).usable
    assert not Boundary(10, 0.05, 0.1, 3.0, 0.3, 31.0).usable
    assert not Boundary(10, 0.05, 0.1, 37.0, 0.3, 5.0).usable
