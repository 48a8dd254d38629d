"""No theorem has a default that another of its proved forms is tighter than."""

from __future__ import annotations

from functools import cache
from typing import Literal

import pytest

from holdfast.bounds.parameters import Rows, parameters_of
from holdfast.bounds.registry import Theorem, catalogue
from holdfast.bounds.tightest import (
    BUDGETS,
    CONDITIONS,
    POINTS,
    UNPROVED,
    Forms,
    comparisons,
    forms_of,
    is_form,
    typical,
)

COMPARED = list(comparisons())


@cache
def compared(place: int) -> Forms | None:
    return forms_of(*COMPARED[place])


@pytest.mark.parametrize(
    "place", range(len(COMPARED)), ids=[f"{entry.id}-{parameter.name}" for entry, parameter, _ in COMPARED]
)
def test_the_default_is_the_tightest_proved_form(place: int) -> None:
    each = compared(place)
    if each is not None:  # None: no form has a value there
        assert each.excess == 0.0, f"{each.theorem}: {each.tightest} is tighter than {each.default} at {each.at}"


def test_forms_differ_where_they_are_compared() -> None:
    found = [each for each in map(compared, range(len(COMPARED))) if each is not None]
    assert len(found) > 80
    apart = {
        each.theorem for each in found if len({v for v in each.values.values() if v is not None} | {each.value}) > 1
    }
    assert {"max-information.pure-dp", "coherence.pure-dp-epsilon", "interval.sign-comparison"} <= apart
    assert len(apart) >= 50


def _entry(default: str, unit: str = "rows") -> Theorem:
    def width(n: Rows, method: Literal["wide", "narrow"] = "wide") -> float:
        return n * (2.0 if method == "wide" else 1.0)

    width.__defaults__ = (default,)
    return Theorem("test.width", "", "", "", unit, "derived", width, parameters_of(width))


@pytest.mark.parametrize(
    ("default", "unit", "tightest"),
    [("wide", "rows", "narrow"), ("narrow", "rows", "narrow"), ("narrow", "level", "wide"), ("wide", "level", "wide")],
)
def test_a_theorem_whose_default_is_wider_is_caught(default: str, unit: str, tightest: str) -> None:
    entry = _entry(default, unit)
    (parameter,) = (p for p in entry.parameters if is_form(entry, p))
    found = forms_of(entry, parameter, typical(entry))
    assert found is not None
    assert found.tightest == tightest
    assert (found.excess > 0) is (default != tightest)


def test_exceptions_name_theorems_and_choices_that_exist() -> None:
    entries = catalogue()
    assert set(POINTS) | BUDGETS <= set(entries)
    for name in [*CONDITIONS, *UNPROVED]:
        if " " in name:
            id, choice = name.split(" ")
            assert any(choice == p.name or choice in p.choices for p in entries[id].parameters), name
        else:
            assert any(name == p.name for entry in entries.values() for p in entry.parameters), name
