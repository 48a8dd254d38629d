"""At the ends of the floating range every function gives a number or names the parameter; nothing else escapes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import Theorem, catalogue
from holdfast.errors import InvalidParameter

MODULES = (
    "composition", "composition_optimal", "conversions", "filters", "filters_left_side", "gdp", "odometers",
    "odometers_boundary", "odometers_range", "odometers_renyi", "zcdp",
)  # fmt: skip
OURS = [entry for entry in catalogue().values() if entry.function.__module__.rpartition(".")[2] in MODULES]
REALS = [
    0, 5e-324, 1e-310, 1e-300, 1e-160, 1e-20, 1e-9, 1e-3, 0.1, 0.3, 0.367, 0.5, 0.9, 0.99, 1 - 2**-53, 1, 1.5, 2, 10,
    100, 700, 800, 1e5, 1e16, 1e100, 1e160, 1e300, 1.7e308,
]  # fmt: skip
WHOLES = [0, 1, 2, 6, 10, 1000, 10**6, 10**18, 10**30, 10**400]


def _draw(rng: random.Random, parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        return rng.choice(parameter.choices)
    if parameter.kind == "whole":
        return rng.choice(WHOLES)
    return rng.choice(REALS) if parameter.kind == "real" else [rng.choice(REALS) for _ in range(rng.choice((1, 2, 3)))]


@pytest.mark.parametrize("entry", OURS, ids=lambda entry: entry.id)
def test_extreme_arguments(entry: Theorem) -> None:
    rng = random.Random(entry.id)
    for _ in range(150):
        arguments = {p.name: _draw(rng, p) for p in entry.parameters if p.required or rng.random() < 0.5}
        refusal = ""
        value = 0.0
        try:
            value = entry.evaluate(**arguments).value
        except InvalidParameter as error:
            refusal = str(error)
        assert value >= 0, arguments
        assert not refusal or any(p.name in refusal for p in entry.parameters), (arguments, refusal)
