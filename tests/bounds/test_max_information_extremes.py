"""At the ends of the floating range every theorem gives a number or refuses by name, without a warning."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import Theorem, catalogue
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, LedgerConflict

MODULES = (
    "approximate_dp", "concentration", "currency", "description_length", "finite_law", "generalisation",
    "indistinguishability", "low_sensitivity", "lower_bound", "max_information", "mutual_information", "p_value",
    "p_value_mutual_information", "p_value_planning", "p_value_sensitivity", "theorem_s", "transfer",
)  # fmt: skip
OURS = [entry for entry in catalogue().values() if entry.function.__module__.rpartition(".")[2] in MODULES]
REALS = [
    0, 5e-324, 1e-323, 1e-310, 1e-300, 1e-160, 1e-20, 1e-9, 1e-3, 0.05, 0.1, 0.3, 0.5, 0.9, 1 - 2**-53, 1, 1.5, 10,
    700, 1e5, 1e16, 1e100, 1e150, 1e160, 1e300, 1e308, -5e-324, -0.1, -1, -1e300, math.inf, -math.inf, math.nan,
]  # fmt: skip
USUAL = [1e-12, 1e-6, 0.001, 0.01, 0.05, 0.25, 0.5]
WHOLES = [0, 1, 2, 10, 1000, 10**6, 10**18, 10**100, 10**300, 10**307, 10**309, 10**400, -1, 1e300, 1e308]
SLOW = {
    "mutual-information.approx-dp", "p-value.adjusted-after-approx-dp", "p-value.largest-delta",
    "p-value.largest-epsilon",
}  # fmt: skip


def _draw(rng: random.Random, parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        return rng.choice(parameter.choices)
    if parameter.kind == "whole":
        return rng.choice(WHOLES)
    if parameter.kind == "real":
        return rng.choice(REALS if rng.random() < 0.6 else USUAL)
    return [rng.choice(REALS if rng.random() < 0.5 else USUAL) for _ in range(rng.choice((1, 2, 4)))]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, Mapping):
        return [number for inner in value.values() for number in _numbers(inner)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [number for inner in value for number in _numbers(inner)]
    return [value] if isinstance(value, (int, float)) else []


@pytest.mark.parametrize("entry", OURS, ids=lambda entry: entry.id)
def test_extreme_arguments(entry: Theorem) -> None:
    rng = random.Random(entry.id)
    for _ in range(30 if entry.id in SLOW else 150):
        arguments = {p.name: _draw(rng, p) for p in entry.parameters if p.required or rng.random() < 0.5}
        refusal, numbers = "", [0.0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = entry.evaluate(**arguments)
                numbers = _numbers([found.value, found.details])
            except InvalidParameter as error:
                refusal = str(error)
            except (GuaranteeUnavailable, LedgerConflict):  # documented refusals, one line on the command line too
                pass
        assert not any(math.isnan(number) for number in numbers), arguments
        assert not refusal or any(p.name in refusal for p in entry.parameters), (arguments, refusal)


def test_every_theorem_of_the_family_is_drawn() -> None:
    assert len(OURS) >= 45
