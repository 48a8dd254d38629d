"""Which form of a theorem is its default, and whether a tighter one is proved.

A theorem with several forms has a parameter for them: `method`, `mode`, `form` and the like. Every choice parameter of
the catalogue counts as one of forms, unless `CONDITIONS` names it: then it says what is promised about the rows, which
algorithm is meant, or which side is asked for. `UNPROVED` lists the printed forms that do not hold, and so are no
standard for a default. `forms` compares the default with every other form at the typical values of the theorem and at
the points of `POINTS`; a default for which some proved form is tighter fails the tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import Theorem, catalogue, shown
from holdfast.errors import HoldfastError

#: Choices that are no forms of one statement: what is promised, which algorithm, which side. By theorem or everywhere.
CONDITIONS: dict[str, str] = {
    "later_scope": "what is promised about the rows of the later step",
    "marginals": "what is known about the marginals",
    "noise": "the kind of noise",
    "order": "what is promised about the curator",
    "questions": "what is promised about the questions",
    "rows": "what is promised about the rows",
    "scope": "what is promised about the rows",
    "scores": "what is promised about the scores",
    "side": "which end of the interval is asked for",
    "start": "what is promised about the first row",
    "tail": "what is promised about lags that were not measured",
    "holdout.sparse-validate-bits answered": "fewer answers count, so another quantity",
    "holdout.sparse-validate-transcripts answered": "fewer answers count, so another quantity",
    "holdout.thresholdout-epsilon zcdp": "rho and not epsilon",
    "holdout.thresholdout-failure form": "which algorithm was run",
    "sparse-vector.epsilon form": "which algorithm was run",
}

#: Forms as printed that are not proved, or not at every point; docs/errata says why.
UNPROVED: dict[str, str] = {
    "coherence.column-release-size paper": "proved from some size on only",
    "coherence.count-release-size paper": "for n sufficiently large, and the paper does not say how large",
    "coherence.max-information-approx-general paper": "the printed slack is a little too small",
    "holdout.sparse-validate-budget paper": "its failure probability is that of one question and not beta",
    "holdout.thresholdout-epsilon paper": "each half must be below 1",
    "interval.dfh paper": "the printed constant does not hold",
    "interval.splitting paper": "the printed constant does not hold",
    "max-information.lower-bound-compression paper": "for large beta it is above the exact value",
    "max-information.to-description-length paper": "the printed constant does not hold",
    "p-value.russo-zou paper": "not a valid level: it leaves out the first term",
}

#: Units in which a larger number is the tighter statement.
LARGER = {"level", "ln(groups/beta)", "questions", "failures", "overfits", "overrulings"}
#: Theorems whose value is a budget that may be spent, although its unit is that of a loss.
BUDGETS = {
    "coherence.approx-dp-epsilon",
    "coherence.epsilon-ceiling",
    "coherence.pure-dp-epsilon",
    "composition.zcdp-budget",
    "correlated.chain-level",
    "max-information.lower-bound-composition",
    "max-information.lower-bound-compression",
    "max-information.lower-bound-general",
    "p-value.largest-delta",
    "p-value.largest-epsilon",
}

_ACS = {"beta": 9.357622968840175e-14, "groups": 100, "n": 5_000_000}
#: Further points, where typical values say nothing.
POINTS: dict[str, tuple[dict[str, Any], ...]] = {
    "coherence.approx-dp-epsilon": ({**_ACS, "alpha": 0.2, "size": 250_000},),
    "coherence.approx-dp-size": ({**_ACS, "alpha": 0.2, "epsilon": 0.001},),
    "coherence.column-release-size": ({**_ACS, "alpha": 0.2},),
    "coherence.count-release-size": ({**_ACS, "alpha": 0.2},),
    "coherence.finite-release-size": ({**_ACS, "alpha": 0.2, "bits": 20},),
    "coherence.max-information-size": ({"alpha": 0.2, "beta": 0.05, "groups": 1, "nats": 0.0, "n": 1_000_000},),
    "coherence.pure-dp-alpha": ({**_ACS, "size": 250_000, "epsilon": 0.05},),
    "coherence.pure-dp-epsilon": ({**_ACS, "alpha": 0.2, "size": 250_000},),
    "coherence.pure-dp-groups": ({"alpha": 0.2, "n": 5_000_000, "size": 250_000, "epsilon": 0.01},),
    "coherence.pure-dp-rows": ({"alpha": 0.2, "beta": _ACS["beta"], "groups": 100, "epsilon": 0.01, "share": 0.05},),
    "coherence.pure-dp-size": ({**_ACS, "alpha": 0.2, "epsilon": 0.01},),
    "correlated.holdout-accuracy": ({"n": 759_737, "beta": 0.05, "questions": 230, "budget": 1},),
    "correlated.holdout-budget": ({"n": 997_783, "tau": 0.165, "beta": 0.001, "questions": 1840},),
    "correlated.question-budget": ({"n": 864_889, "sigma": 0.0583, "tau": 0.0457, "beta": 0.1},),
    "correlated.question-failure": ({"n": 1235, "budget": 1, "sigma": 0.0456, "tau": 0.0374},),
    "generalisation.pure-dp-tail-by-max-information": ({"tau": 0.108, "sensitivity": 0.00439, "n": 36},),
    "holdout.ladder-tail": ({"n": 420, "error": 0.243, "step": 0.0684, "submissions": 20},),
    "holdout.thresholdout-accuracy": ({"n": 240_136, "beta": 0.1, "questions": 2, "budget": 1},),
    "holdout.thresholdout-epsilon": (
        {"budget": 10, "sigma": 0.01, "n": 10_000, "delta": 1e-6},
        {"budget": 1000, "sigma": 0.01, "n": 10_000, "delta": 1e-6},
    ),
    "holdout.thresholdout-budget": ({"n": 10_000_000, "tau": 0.1, "beta": 0.05, "questions": 1000},),
    "max-information.approx-dp-two-parameter": ({"epsilon": 0.1, "delta": 1e-10, "n": 1000},),
    "low-sensitivity.approx-dp": ({"epsilon": 0.339, "delta": 1.44e-11, "n": 441_244, "sensitivity": 0.00458},),
    "max-information.pure-dp": ({"epsilon": 0.1, "n": 100, "beta": 0.05}, {"epsilon": 0.02, "n": 1000, "beta": 0.01}),
    "mutual-information.approx-dp": ({"epsilon": 0.451, "delta": 1.15e-9, "n": 60, "row_bits": 0.863},),
    "p-value.level-after-pure-dp": ({"alpha": 0.05, "epsilon": 0.1, "n": 1000},),
    "transfer.interleaved": ({"bits": 10, "epsilon": 0.02, "n": 1000, "beta": 0.01},),
}
GIVEN: dict[str, dict[str, Any]] = {"correlated.algorithm-1-epsilon": {"n": 1000}}
"""Optional arguments without which a theorem has no value."""

#: Searched widths are exact to this share; closed forms differ by their last digits.
TOLERANCE = 2e-9


@dataclass(frozen=True)
class Forms:
    """The forms of one theorem at one point: the value of each, of the default, and of the tightest proved one.

    Attributes
    ----------
    theorem, parameter : str
        The theorem's id and the parameter that names the form.
    default : str
        The form that is used when none is named; "chosen" where the theorem chooses by its other arguments.
    tightest : str
        The proved form with the tightest value; the default where none is tighter.
    values : dict
        The value of each proved form; None where a form does not apply.
    excess : float
        How much wider the default is than the tightest form, as a share; 0 where it is the tightest.
    """

    theorem: str
    parameter: str
    at: dict[str, Any]
    default: str
    tightest: str
    values: dict[str, float | None]
    value: float
    excess: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "theorem": self.theorem,
            "parameter": self.parameter,
            "at": self.at,
            "default": self.default,
            "value": self.value,
            "tightest": self.tightest,
            "forms": self.values,
            "excess": self.excess,
        }

    def cells(self) -> tuple[str, ...]:
        """Return one line of the table: theorem, parameter, default, its value, the others, the tightest."""
        others = ", ".join(
            f"{name} {_short(value)}"
            for name, value in self.values.items()
            if value is not None and name != self.default
        )
        return self.theorem, self.parameter, self.default, _short(self.value), others, self.tightest


def _short(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown(value)


def typical(entry: Theorem) -> dict[str, Any]:
    """Arguments inside a theorem's conditions: the typical value of each required parameter.

    Examples
    --------
    >>> from holdfast.bounds.registry import lookup
    >>> typical(lookup("transfer.event"))["beta"]
    0.05
    """
    required = {p.name: p.choices[0] if p.choices else p.domain.typical for p in entry.parameters if p.required}
    return required | GIVEN.get(entry.id, {})


def is_form(entry: Theorem, parameter: Parameter) -> bool:
    """Return whether the choices of a parameter are forms of one statement.

    Examples
    --------
    >>> from holdfast.bounds.registry import lookup
    >>> entry = lookup("max-information.pure-dp")
    >>> [p.name for p in entry.parameters if is_form(entry, p)]
    ['method']
    """
    named = parameter.name in CONDITIONS or f"{entry.id} {parameter.name}" in CONDITIONS
    return parameter.kind == "choice" and not parameter.required and not named


def forms_of(entry: Theorem, parameter: Parameter, at: dict[str, Any]) -> Forms | None:
    """Compare the forms of one theorem at one point; None where no form has a value there."""
    rest = {name: value for name, value in at.items() if name != parameter.name}
    larger = entry.unit in LARGER or entry.id in BUDGETS
    values: dict[str, float | None] = {}
    for choice in parameter.choices:
        if f"{entry.id} {choice}" in CONDITIONS or f"{entry.id} {choice}" in UNPROVED:
            continue
        try:
            values[choice] = entry.evaluate(**rest | {parameter.name: choice}).value
        except HoldfastError:  # the form does not apply here
            values[choice] = None
    try:
        value = entry.evaluate(**rest).value
    except HoldfastError:
        return None
    default = "chosen" if parameter.default is None else str(parameter.default)
    best, tightest = value, default
    for name, result in values.items():
        if result is not None and (result > best if larger else result < best):
            best, tightest = result, name
    scale = max(abs(value), abs(best))
    excess = 0.0 if best == value else math.inf if math.isinf(scale) else abs(value - best) / scale
    if excess <= TOLERANCE:
        excess, tightest = 0.0, default
    return Forms(entry.id, parameter.name, rest, default, tightest, values, value, excess)


def comparisons() -> Iterator[tuple[Theorem, Parameter, dict[str, Any]]]:
    """Every theorem that has several forms, the parameter that names them, and the points at which they are compared.

    Examples
    --------
    >>> entry, parameter, at = next(iter(comparisons()))
    >>> is_form(entry, parameter), set(at) <= {one.name for one in entry.parameters}
    (True, True)
    """
    for entry in catalogue().values():
        for parameter in entry.parameters:
            if is_form(entry, parameter):
                for at in POINTS.get(entry.id, ()) or (typical(entry),):
                    yield entry, parameter, at


def forms() -> Iterator[Forms]:
    """Every theorem that has several forms: its default against the others, at its points. About ten seconds.

    Examples
    --------
    >>> from holdfast.bounds.registry import lookup
    >>> entry = lookup("max-information.pure-dp")
    >>> (method,) = [p for p in entry.parameters if is_form(entry, p)]
    >>> found = forms_of(entry, method, {"epsilon": 0.02, "n": 1000, "beta": 0.01})
    >>> found.default, found.tightest, found.excess
    ('best', 'best', 0.0)
    """
    for entry, parameter, at in comparisons():
        comparison = forms_of(entry, parameter, at)
        if comparison is not None:
            yield comparison
