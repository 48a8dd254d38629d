from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pytest

from holdfast.bounds import registry as module
from holdfast.bounds.parameters import Domain, Epsilon, Rows, parse, validated
from holdfast.bounds.registry import catalogue, lookup, theorem
from holdfast.errors import InvalidParameter

CONTRACT = {
    "max-information.pure-dp": {"epsilon", "n", "beta", "scope"},
    "max-information.approx-dp": {"epsilon", "delta", "n", "beta"},
    "max-information.description-length": {"bits", "beta"},
    "transfer.interleaved": {"bits", "epsilon", "n", "beta"},
    "max-information.from-mutual-information": {"bits", "k_bits"},
    "p-value.corrected-level": {"alpha", "k_bits", "beta"},
    "p-value.adjusted": {"p", "k_bits", "beta"},
    "p-value.level-after-pure-dp": {"alpha", "epsilon", "n"},
    "p-value.level-after-approx-dp": {"alpha", "epsilon", "delta", "n"},
    "composition.advanced": {"epsilon", "rounds", "delta_slack"},
    "composition.optimal": {"epsilon", "delta", "rounds", "delta_total"},
    "composition.zcdp-to-dp": {"rho", "delta"},
    "composition.gdp-to-dp": {"mu", "delta"},
    "filter.rounds": {"name", "epsilon", "budget_epsilon", "budget_delta"},
    "odometer.reading": {"name", "epsilon", "rounds", "n", "delta"},
    "holdout.thresholdout-budget": {"n", "tau", "beta", "questions"},
    "holdout.thresholdout-size": {"tau", "beta", "questions", "budget"},
    "holdout.sparse-validate-transcripts": {"questions", "budget", "values"},
    "holdout.guess-and-check-width": {"n", "beta", "question", "failures", "grid"},
    "correlated.holdout-size": {"tau", "beta", "questions", "budget", "blanket", "influence"},
    "coherence.pure-dp-size": {"alpha", "beta", "groups", "n", "epsilon"},
    "coherence.approx-dp-size": {"alpha", "beta", "groups", "n", "epsilon", "delta"},
    "coherence.pure-dp-epsilon": {"alpha", "beta", "groups", "n", "size"},
    "coherence.count-release-size": {"alpha", "beta", "groups", "n"},
} | {
    f"interval.{name}": {"n", "questions", "beta", "noise"}
    for name in (
        "splitting",
        "dfh",
        "bns",
        "russo-zou",
        "russo-zou-kl",
        "jung",
        "posterior-shift",
        "scheduled",
        "best",
    )
}


@pytest.mark.parametrize("id", CONTRACT)
def test_contract_id_is_there_with_its_parameters(id: str) -> None:
    entry = lookup(id)
    assert CONTRACT[id] <= {p.name for p in entry.parameters}
    needed = {p.name for p in entry.parameters if p.required}
    assert needed <= CONTRACT[id], "a parameter beyond the contract needs a default"


@pytest.mark.parametrize("id", sorted(catalogue()))
def test_entry_is_complete(id: str) -> None:
    entry = lookup(id)
    assert entry.id.count(".") == 1
    for text in (entry.statement, entry.source, entry.conditions, entry.unit):
        assert text.strip()
    assert "\n" not in entry.statement
    for p in entry.parameters:
        assert p.help, f"{id} does not document {p.name}"
    doc = entry.function.__doc__ or ""
    assert "Examples" in doc, f"{id} has no example"


BAD: dict[str, list[Any]] = {
    "real": [-1e9, math.nan, math.inf, -math.inf, [0.1], "x", None, True],
    "whole": [-5, 0.5, math.nan, [1], "x", True],
    "choice": ["no-such-choice", 3, None],
    "reals": [[], [math.nan], "x", 0.1],
}


def _sample(id: str) -> dict[str, Any]:
    """Arguments inside every theorem's conditions."""
    usual: dict[str, Any] = {
        "epsilon": 0.01, "delta": 1e-9, "n": 1000, "beta": 0.05, "bits": 1.0, "k_bits": 3.0, "alpha": 0.05, "p": 0.01,
        "rounds": 10, "delta_slack": 1e-6, "delta_total": 1e-6, "rho": 0.1, "mu": 0.5, "budget_epsilon": 1.0,
        "budget_delta": 1e-6, "questions": 50, "tau": 0.1, "budget": 5, "values": 1, "question": 3, "failures": 1,
        "grid": 0.05, "groups": 20, "size": 500,
    }  # fmt: skip
    return {p.name: usual[p.name] for p in lookup(id).parameters if p.required and p.name in usual}


@pytest.mark.parametrize("id", CONTRACT)
def test_wrong_input_is_one_clear_error_that_names_the_parameter(id: str) -> None:
    good = _sample(id)
    for p in lookup(id).parameters:
        if p.required and p.name not in good:
            good[p.name] = p.choices[0]
    lookup(id).evaluate(**good)
    for p in lookup(id).parameters:
        for bad in BAD[p.kind]:
            if (bad is None and not p.required) or (p.name == "k_bits" and bad == math.inf):
                continue
            with pytest.raises(InvalidParameter) as caught:
                lookup(id).evaluate(**good | {p.name: bad})
            message = str(caught.value)
            assert p.name in message or p.name.replace("_", "-") in message, message
            assert "\n" not in message


def test_unknown_id_names_the_nearest() -> None:
    with pytest.raises(InvalidParameter, match=r"max-information\.pure-dp"):
        lookup("max-information.puredp")


def test_missing_and_unknown_parameters() -> None:
    entry = lookup("composition.zcdp-to-dp")
    with pytest.raises(InvalidParameter, match="needs delta"):
        entry.evaluate(rho=0.1)
    with pytest.raises(InvalidParameter, match="no parameter 'sigma'"):
        entry.evaluate(rho=0.1, delta=1e-6, sigma=2)


@pytest.fixture
def scratch_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REGISTRY", {})
    return


@pytest.mark.usefixtures("scratch_registry")
def test_the_signature_makes_the_parameters() -> None:
    @theorem("a.b", statement="s", source="p", conditions="c", unit="u")
    def sample(
        n: Rows,
        level: Annotated[Epsilon, Domain("The level.", at_most=1)] | None = None,
        kind: Literal["x", "y"] = "x",
        many: Annotated[Sequence[float], "Several numbers."] = (1.0,),
    ) -> float:
        """Do.

        Returns
        -------
        float
        """
        return float(n) if level is None else level

    known = {p.name: p for p in module._REGISTRY["a.b"].parameters}
    assert known["n"].help == "The number of rows."
    assert (known["level"].help, known["level"].allowed) == ("The level.", "a number in [0, 1]")
    assert (known["kind"].kind, known["kind"].choices) == ("choice", ("x", "y"))
    assert known["level"].optional
    assert not known["level"].required
    assert parse(known["many"], "1,2.5") == (1, 2.5)
    assert (sample(1e3), sample(5, 1), type(sample(5, 1))) == (1000.0, 1.0, float)
    with pytest.raises(InvalidParameter, match=r"^level must be a number in \[0, 1\], got 2"):
        sample(5, level=2)
    with pytest.raises(InvalidParameter, match=r"^kind must be one of x, y"):
        sample(5, kind="z")  # type: ignore[arg-type]
    lines = (sample.__doc__ or "").splitlines()
    assert lines[:4] == ["Do.", "", "Parameters", "----------"]
    assert lines.index("n : int") < lines.index("level : float, optional") < lines.index("Returns")
    with pytest.raises(ValueError, match="two theorems"):
        theorem("a.b", statement="s", source="p", conditions="c", unit="u")(sample)


def test_a_refinement_replaces_what_it_states_and_nothing_else() -> None:
    base = Domain("Level.", at_least=0, below=1, typical=0.5)
    assert base.refined("Other.") == Domain("Other.", at_least=0, below=1, typical=0.5)
    assert base.refined(Domain(above=0.1, at_most=2)) == Domain("Level.", above=0.1, at_most=2, typical=0.5)


def test_keyword_only_parameters_and_defaults_stay() -> None:
    @validated
    def sample(n: Rows, *, level: Epsilon = 0.25) -> tuple[int, float]:
        return n, level

    assert sample(3) == (3, 0.25)
    assert sample(3, level=1) == (3, 1.0)
    with pytest.raises(TypeError):
        sample(3, 0.5)  # type: ignore[misc]


def test_a_parameter_needs_a_type_that_theorems_know() -> None:
    with pytest.raises(TypeError, match="cannot take a parameter of type"):
        validated(_unknown)


def _unknown(n: bytes) -> float:
    return 0.0
