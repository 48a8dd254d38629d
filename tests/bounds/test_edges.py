"""Where the range of every theorem's every parameter ends: the last value it takes, the first it refuses.

The values come from the parameter types (`Parameter.accepted`, `Parameter.refused`) and the other arguments are the
types' typical ones. `EXCLUDED` lists the ends of a type that a theorem refuses because of its other arguments, and
`TOGETHER` where such a condition between parameters ends.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import catalogue, lookup
from holdfast.bounds.tightest import typical
from holdfast.errors import HoldfastError, InvalidParameter

EXCLUDED: dict[str, list[tuple[str, Any]]] = {
    "coherence.approx-dp-epsilon": [("n", 4)],
    "coherence.hypergeometric-tail": [("rows", 1)],
    "coherence.max-information-size": [("mode", "sharp")],
    "coherence.pure-dp-alpha": [("n", 4)],
    "coherence.pure-dp-epsilon": [("n", 4)],
    "coherence.pure-dp-groups": [("n", 4)],
    "coherence.swap-tail": [("n", 2)],
    "composition.advanced-heterogeneous": [("deltas", [0])],
    "composition.basic": [("deltas", [0])],
    "composition.heterogeneous": [("deltas", [0])],
    "composition.heterogeneous-delta": [("deltas", [0])],
    "composition.rdp-to-dp": [("epsilons", [0])],
    "correlated.effective-n-chain": [("run", 10**18)],
    "correlated.effective-n-chain-summary": [("run", 10**18)],
    "correlated.holdout-accuracy": [("questions", 1), ("budget", 10**18)],
    "correlated.holdout-size": [("questions", 1), ("budget", 10**18)],
    "correlated.noise-failure": [("questions", 1), ("budget", 10**18)],
    "filter.renyi-curve": [("epsilons", [0])],
    "generalisation.approx-dp": [("n", 1)],
    "generalisation.pure-dp-tail-by-max-information": [("method", "paper")],
    "holdout.error-allocation": [("failures", 10**18)],
    "holdout.guess-and-check-share": [("failures", 10**18), ("counts", [1]), ("questions", 1)],
    "holdout.guess-and-check-width": [("failures", 10**18), ("questions", 1)],
    "holdout.median-size": [("questions", 10**18)],
    "holdout.single-threshold-size": [("tau", 1e-50), ("questions", 1), ("budget", 10**18)],
    "holdout.split-size": [("questions", 1), ("budget", 10**18)],
    "holdout.thresholdout-accuracy": [("questions", 1), ("budget", 10**18)],
    "holdout.thresholdout-epsilon": [("method", "tight"), ("method", "paper")],
    "holdout.thresholdout-information-width": [("questions", 1), ("budget", 10**18)],
    "holdout.thresholdout-size": [("tau", 1e-50), ("questions", 1), ("budget", 10**18)],
    "indistinguishability.pointwise": [("epsilon", 0)],
    "interval.posterior-shift": [("noise", "laplace")],
    "interval.private-means": [("noise", "laplace")],
    "interval.required-n": [("half_width", 1e-09)],
    "interval.russo-zou": [("noise", "laplace")],
    "interval.russo-zou-kl": [("noise", "laplace")],
    "interval.scheduled": [("noise", "laplace")],
    "interval.sign-comparison": [("noise", "laplace"), ("parameters", [0])],
    "interval.sign-comparison-independent": [("noise", "laplace"), ("parameters", [0])],
    "interval.sign-comparison-open": [("noise", "laplace")],
    "interval.sign-comparison-rates": [("noise", "laplace")],
    "interval.sign-comparison-rounds": [("noise", "laplace"), ("questions", 1), ("rounds", 10**18)],
    "interval.small-variance": [("noise", "laplace")],
    "interval.splitting": [("n", 1), ("questions", 10**18)],
    "interval.splitting-rounds": [("n", 1), ("questions", 1), ("rounds", 10**18)],
    "interval.winner-only": [("questions", 1), ("rounds", 10**18)],
    "interval.xu-raginsky": [("noise", "laplace")],
    "low-sensitivity.approx-dp": [("method", "paper")],
    "low-sensitivity.bns-radius": [("n", 1)],
    "max-information.approx-dp-closed-form": [("epsilon", 1e-300)],
    "max-information.approx-dp-two-parameter": [("epsilon", 1e-300)],
    "max-information.composition": [("betas", [0]), ("later_scope", "product")],
    "max-information.finite-law": [("table", [0])],
    "max-information.lower-bound-composition": [("n", 1)],
    "max-information.lower-bound-general": [("n", 1)],
    "max-information.theorem-s": [("eta", 0)],
    "mutual-information.approx-dp": [("method", "paper")],
    "odometer.lecuyer": [("epsilons", [0])],
    "odometer.renyi": [("epsilons", [0])],
    "one-question.blaker": [("ones", 10**15), ("n", 1)],
    "one-question.clopper-pearson": [("ones", 10**15), ("n", 1)],
    "one-question.empirical-bernstein": [("mean", -1e100), ("mean", 1e100), ("low", 1e100), ("high", -1e100)],
    "one-question.f1-known-predictions": [
        ("hits", 10**15),
        ("missed", 10**15),
        ("predicted", 0),
        ("predicted", 10**15),
        ("n", 1),
        ("log_share", -(10**15.0)),
    ],
    "one-question.hoeffding": [("mean", -1e100), ("mean", 1e100), ("low", 1e100), ("high", -1e100)],
    "one-question.kl": [("mean", -1e100), ("mean", 1e100), ("low", 1e100), ("high", -1e100)],
    "transfer.finite-law": [("table", [0])],
}
"""Ends of a parameter's type that are refused at the typical values of the other parameters."""

TOGETHER: list[tuple[str, dict[str, Any], dict[str, list[Any]], dict[str, list[Any]]]] = [
    (
        "coherence.approx-dp-epsilon",
        {"alpha": 0.05, "beta": 0.05, "groups": 20, "n": 1000, "size": 500},
        {"size": [1001]},
        {"size": [1000]},
    ),
    (
        "coherence.hypergeometric-tail",
        {"rows": 100, "marked": 40, "sample": 50, "deviation": 8},
        {"marked": [101], "sample": [101]},
        {"marked": [100], "sample": [100]},
    ),
    (
        "coherence.max-information-approx-general",
        {"epsilon": 0.001, "delta": 1e-30, "rows": 2500000, "eta": 1e-06},
        {"delta": [0.001]},
        {},
    ),
    (
        "coherence.pure-dp-alpha",
        {"beta": 0.05, "groups": 20, "n": 1000, "size": 500, "epsilon": 0.01, "mode": "paper"},
        {"size": [1001], "epsilon": [1.0000000000000002]},
        {"size": [1000], "epsilon": [1]},
    ),
    (
        "coherence.pure-dp-epsilon",
        {"alpha": 0.05, "beta": 0.05, "groups": 20, "n": 1000, "size": 500},
        {"size": [1001]},
        {"size": [1000]},
    ),
    (
        "coherence.pure-dp-groups",
        {"alpha": 0.05, "n": 1000, "size": 500, "epsilon": 0.01, "mode": "paper"},
        {"size": [1001], "epsilon": [1.0000000000000002]},
        {"size": [1000], "epsilon": [1]},
    ),
    (
        "coherence.pure-dp-rows",
        {"alpha": 0.2, "beta": 9.357622968840175e-14, "groups": 100, "epsilon": 0.01, "share": 0.05, "mode": "paper"},
        {"epsilon": [1.0000000000000002]},
        {"epsilon": [1]},
    ),
    (
        "coherence.pure-dp-size",
        {"alpha": 0.05, "beta": 0.05, "groups": 20, "n": 1000, "epsilon": 0.01, "mode": "paper"},
        {"epsilon": [1.0000000000000002]},
        {"epsilon": [1]},
    ),
    (
        "coherence.swap-tail",
        {"deviation": 5, "sensitivity": 1, "sample": 50, "n": 100},
        {"sample": [100]},
        {"sample": [99]},
    ),
    (
        "composition.renyi-lower-order",
        {"order": 2, "known_order": 100, "divergence": 0.1},
        {"known_order": [1.9999999999999998]},
        {"known_order": [2.0]},
    ),
    ("correlated.effective-n-chain", {"n": 4000, "deltas": [0.9]}, {"run": [4001]}, {"run": [4000]}),
    ("correlated.effective-n-chain-summary", {"n": 4000, "mixing": 9.0}, {"run": [4001]}, {"run": [4000]}),
    (
        "correlated.holdout-accuracy",
        {"n": 1000, "beta": 0.05, "questions": 50, "budget": 5},
        {"budget": [51]},
        {"budget": [50]},
    ),
    (
        "correlated.holdout-size",
        {"tau": 0.1, "beta": 0.05, "questions": 50, "budget": 5},
        {"budget": [51]},
        {"budget": [50]},
    ),
    ("correlated.noise-failure", {"beta": 0.05, "questions": 50, "budget": 5}, {"budget": [51]}, {"budget": [50]}),
    (
        "filter.rounds",
        {"name": "rogers", "epsilon": 0.01, "budget_epsilon": 1, "budget_delta": 1e-06},
        {"budget_delta": [0, 0.36787944117144233]},
        {},
    ),
    ("holdout.error-allocation", {"beta": 0.05, "spending": 0.5, "checks": 3}, {"failures": [4]}, {"failures": [3]}),
    ("holdout.guess-and-check-share", {"beta": 0.05, "question": 3}, {"failures": [3]}, {}),
    ("holdout.guess-and-check-width", {"n": 1000, "beta": 0.05, "question": 3}, {"failures": [3]}, {}),
    (
        "holdout.median-size",
        {"universe": 1024, "questions": 100, "tau": 0.1, "beta": 0.05, "method": "paper"},
        {},
        {"questions": [10**18]},
    ),
    (
        "holdout.single-threshold-size",
        {"tau": 0.1, "beta": 0.05, "questions": 50, "budget": 5},
        {"budget": [51]},
        {"budget": [50]},
    ),
    ("holdout.sparse-validate-width", {"n": 1000, "beta": 0.05, "questions": 50, "budget": 5}, {}, {"budget": [1]}),
    (
        "holdout.split-size",
        {"tau": 0.1, "beta": 0.05, "questions": 50, "budget": 5},
        {"budget": [51]},
        {"budget": [50]},
    ),
    (
        "holdout.thresholdout-accuracy",
        {"n": 1000, "beta": 0.05, "questions": 50, "budget": 5},
        {"budget": [51]},
        {"budget": [50]},
    ),
    (
        "holdout.thresholdout-information-width",
        {"n": 100000, "questions": 100, "budget": 5, "threshold": 0.02, "sigma": 0.002, "beta": 0.05},
        {"budget": [101]},
        {"budget": [100]},
    ),
    (
        "holdout.thresholdout-size",
        {"tau": 0.1, "beta": 0.05, "questions": 50, "budget": 5},
        {"budget": [51]},
        {"budget": [50]},
    ),
    ("indistinguishability.pointwise", {"epsilon": 0.01, "delta": 1e-09}, {"epsilon": [0]}, {}),
    (
        "low-sensitivity.bns-radius",
        {"epsilon": 0.1, "delta": 1e-06, "n": 2000, "sensitivity": 0.0005},
        {"delta": [0.025]},
        {},
    ),
    (
        "max-information.lower-bound-composition",
        {"epsilon": 0.5, "delta": 0.25, "n": 2048, "beta": 0.1},
        {"beta": [0.25000000000000006]},
        {"beta": [0.25]},
    ),
    ("max-information.lower-bound-compression", {"row_bits": 10, "beta": 0.05, "method": "paper"}, {"beta": [0]}, {}),
    (
        "max-information.lower-bound-general",
        {"epsilon": 0.5, "delta": 0.25, "n": 2048, "beta": 0.1},
        {"beta": [0.25]},
        {},
    ),
    (
        "max-information.theorem-s",
        {"epsilon": 0.001, "delta": 1e-20, "n": 10000, "t": 3, "eta": 1e-06, "s": 0.0001, "method": "plain"},
        {"eta": [0]},
        {},
    ),
    (
        "max-information.theorem-s",
        {"epsilon": 0.001, "delta": 1e-20, "n": 10000, "t": 3, "eta": 1e-06, "s": 0.0001},
        {"eta": [0]},
        {},
    ),
    ("mechanism.randomized-response", {"truth": 0.75}, {"truth": [0.49999999999999994]}, {"truth": [0.5]}),
    (
        "mutual-information.approx-dp",
        {"epsilon": 0.1, "delta": 1e-15, "n": 1000, "row_bits": 1, "method": "paper"},
        {"epsilon": [9.999999999999999e-301, 0.5000000000000001], "delta": [0]},
        {"epsilon": [0.5]},
    ),
    (
        "mutual-information.from-max-information",
        {"k_bits": 5, "beta": 0.01, "size_bits": 20, "method": "paper"},
        {"beta": [0.14531250000000004], "k_bits": [0]},
        {"beta": [0.1453125]},
    ),
    (
        "one-question.blaker",
        {"ones": 950, "n": 1000, "log_share": -2.995732273553991},
        {"ones": [1001]},
        {"ones": [1000]},
    ),
    (
        "one-question.clopper-pearson",
        {"ones": 9500, "n": 10000, "log_share": -2.995732273553991},
        {"ones": [10001]},
        {"ones": [10000]},
    ),
    (
        "one-question.empirical-bernstein",
        {"mean": 0.5, "variance": 0.01, "n": 10000, "log_share": -2.995732273553991},
        {"mean": [-5e-324, 1.0000000000000002]},
        {"mean": [0.0, 1.0]},
    ),
    (
        "one-question.f1-known-predictions",
        {"hits": 1000, "missed": 500, "predicted": 1500, "n": 10000, "log_share": -2.995732273553991},
        {"predicted": [10001], "hits": [1501], "missed": [8501]},
        {"hits": [1500], "missed": [8500]},
    ),
    (
        "one-question.hoeffding",
        {"mean": 0.5, "n": 10000, "log_share": -2.995732273553991},
        {"mean": [-5e-324, 1.0000000000000002]},
        {"mean": [0.0, 1.0]},
    ),
    (
        "one-question.kl",
        {"mean": 0.95, "n": 10000, "log_share": -2.995732273553991},
        {"mean": [-5e-324, 1.0000000000000002]},
        {"mean": [0.0, 1.0]},
    ),
]
"""A theorem, arguments inside its conditions, and for its parameters what is refused and what is taken then."""


each_theorem = pytest.mark.parametrize("id", sorted(catalogue()))
each_condition = pytest.mark.parametrize(
    ("id", "arguments", "refused", "taken"), TOGETHER, ids=[f"{row[0]}-{row[1].get('method', '')}" for row in TOGETHER]
)


@each_theorem
def test_typical_values_are_taken(id: str) -> None:
    entry = lookup(id)
    assert all(p.choices or p.domain.typical is not None for p in entry.parameters if p.required)
    value = entry.evaluate(**typical(entry)).value
    assert value == value, "an answer, and no NaN"


@each_theorem
def test_values_just_outside_are_refused_by_name(id: str) -> None:
    entry = lookup(id)
    for p in entry.parameters:
        for value in p.refused:
            with pytest.raises(InvalidParameter, match=rf"^{p.name}\b"):
                pytest.fail(f"{p.name} = {value} was taken: {entry.function(**typical(entry) | {p.name: value})}")


@each_theorem
def test_values_at_the_end_are_taken(id: str) -> None:
    entry = lookup(id)
    for p in entry.parameters:
        for value in p.accepted:
            if (p.name, value) in EXCLUDED.get(id, []):
                with pytest.raises(HoldfastError):
                    entry.evaluate(**typical(entry) | {p.name: value})
            else:
                answer = entry.evaluate(**typical(entry) | {p.name: value}).value
                assert answer is not None
                assert answer == answer, f"NaN at {p.name} = {value}"


@each_theorem
def test_defaults_are_inside_their_domain(id: str) -> None:
    entry = lookup(id)
    for p in entry.parameters:
        assert p.required == (inspect.signature(entry.function).parameters[p.name].default is inspect.Parameter.empty)
        if p.required:
            continue
        if p.default is None:
            assert p.optional
        elif p.default != ():
            assert p.checked(p.default) == p.default


@each_condition
def test_conditions_between_parameters_end_where_they_should(
    id: str, arguments: dict[str, Any], refused: dict[str, list[Any]], taken: dict[str, list[Any]]
) -> None:
    entry = lookup(id)
    for name, values in refused.items():
        for value in values:
            with pytest.raises(InvalidParameter):
                pytest.fail(f"{name} = {value} was taken: {entry.evaluate(**arguments | {name: value})}")
    for name, values in taken.items():
        for value in values:
            answer = entry.evaluate(**arguments | {name: value}).value
            assert answer == answer, f"NaN at {name} = {value}"


def test_a_type_knows_where_it_ends() -> None:
    def sample(parameter: str, **limits: Any) -> Parameter:
        from holdfast.bounds.parameters import Domain

        return Parameter("x", parameter, True, None, (), "", Domain(**limits))  # type: ignore[arg-type]

    closed, opened = sample("real", at_least=0, at_most=1), sample("real", above=0, below=1)
    assert closed.accepted == [0, 1]
    assert {-5e-324, math.nextafter(1, 2)} <= {x for x in closed.refused if isinstance(x, float)}
    assert opened.accepted == []
    assert opened.refused[:2] == [0, 1]
    whole = sample("whole", at_least=1, at_most=9)
    assert whole.accepted == [1, 9]
    assert whole.refused[:2] == [0, 10]
