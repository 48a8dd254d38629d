"""The catalogue: every theorem under one id, with what it says, where it comes from and when it holds.

A theorem is an ordinary function; `@theorem` registers it. The command line, the documentation and the
tests read the catalogue, so a bound that is not registered does not exist for users.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from holdfast.bounds.parameters import Parameter, parameters_of, validated
from holdfast.errors import InvalidParameter

F = TypeVar("F", bound=Callable[..., Any])
_REGISTRY: dict[str, Theorem] = {}


@runtime_checkable
class Valued(Protocol):
    """A result object whose headline number is `value` and whose other fields are details."""

    @property
    def value(self) -> float:
        """The main number of the result."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the headline included."""


@dataclass(frozen=True)
class Evaluation:
    """A theorem's value at given parameters, with its conditions and source.

    Examples
    --------
    >>> found = lookup("p-value.corrected-level").evaluate(alpha=0.05, k_bits=3, beta=0.01)
    >>> round(found.value, 12), found.unit, found.source
    (0.005, 'level', 'Rogers-Roth-Smith-Thakkar 2016 Theorem 1.3 (independent rows) and Theorem C.1 (any distribution)')
    """

    id: str
    value: float
    unit: str
    theorem: str
    source: str
    conditions: str
    provenance: str
    parameters: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.id}({given}) = {shown(self.value)} {self.unit}; {self.source}; {self.conditions}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the most important fields first."""
        plain: dict[str, Any] = {
            "id": self.id,
            "value": self.value,
            "unit": self.unit,
            "theorem": self.theorem,
            "source": self.source,
            "conditions": self.conditions,
            "provenance": self.provenance,
            "parameters": dict(self.parameters),
        }
        return plain | ({"details": dict(self.details)} if self.details else {})


@dataclass(frozen=True)
class Theorem:
    """A theorem of the catalogue: its function, statement, source and conditions.

    Examples
    --------
    >>> found = lookup("transfer.event")
    >>> found.unit, [parameter.option for parameter in found.parameters]
    ('probability', ['--p', '--k-bits', '--beta'])
    >>> round(found.evaluate(p=0.0001, k_bits=5, beta=0.01).value, 12)
    0.0132
    """

    id: str
    statement: str
    source: str
    conditions: str
    unit: str
    provenance: Literal["paper", "derived", "mixed"]
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return f"{self.id}({', '.join(p.name for p in self.parameters)}): {self.statement} [{self.unit}]; {self.source}"

    @property
    def code(self) -> str:
        """The shortest name under which the theorem's function can be called after `import holdfast`.

        Examples
        --------
        >>> lookup("transfer.event").code, lookup("interval.russo-zou").code
        ('holdfast.bounds.transfer.event', 'holdfast.bounds.interval.russo_zou')
        """
        package, _, _ = self.function.__module__.rpartition(".")
        name = self.function.__name__
        listed = getattr(importlib.import_module(package), name, None) is self.function
        return f"{package if listed else self.function.__module__}.{name}"

    def evaluate(self, **arguments: Any) -> Evaluation:
        """Evaluate the theorem at `arguments`. An unknown or a missing argument name raises `InvalidParameter`."""
        known = {p.name: p for p in self.parameters}
        for name in arguments:
            if name not in known:
                takes = ", ".join(known)
                raise InvalidParameter(
                    f"{self.id} has no parameter {name!r}; it takes {takes}", parameter=name, allowed=f"one of {takes}"
                )
        missing = [p.name for p in known.values() if p.required and p.name not in arguments]
        if missing:
            needed = ", ".join(missing)
            raise InvalidParameter(f"{self.id} needs {needed}; it takes {', '.join(known)}", parameter=missing[0])
        result = self.function(**arguments)
        details: dict[str, Any] = {}
        if isinstance(result, Valued):
            details = {k: v for k, v in result.to_dict().items() if k != "value"}
            result = result.value
        defaults = {p.name: p.default for p in known.values() if not p.required and p.default is not None}
        return Evaluation(
            id=self.id,
            value=result,
            unit=self.unit,
            theorem=self.statement,
            source=self.source,
            conditions=self.conditions,
            provenance=self.provenance,
            parameters=defaults | arguments,
            details=details,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, as the listings show them."""
        return {
            "id": self.id,
            "theorem": self.statement,
            "source": self.source,
            "conditions": self.conditions,
            "unit": self.unit,
            "provenance": self.provenance,
            "parameters": [
                {"name": p.option[2:], "kind": p.kind, "required": p.required, "default": p.default, "help": p.help}
                | {"allowed": p.allowed}
                | ({"choices": list(p.choices)} if p.choices else {})
                for p in self.parameters
            ],
        }


def theorem(
    id: str,
    *,
    statement: str,
    source: str,
    conditions: str,
    unit: str,
    provenance: Literal["paper", "derived", "mixed"] = "paper",
) -> Callable[[F], F]:
    """Register a function as the theorem `id` (`area.name`) and check its arguments against their types.

    The annotations of the function are types of `holdfast.bounds.parameters`: they validate each call, document the
    parameters, and make the options of `holdfast bound`.

    Parameters
    ----------
    id : str
        The name users script against.
    statement : str
        One line that says what the number is.
    source : str
        Paper and number, or "Holdfast" with the place of the proof.
    conditions : str
        When it holds.
    unit : str
        The unit of the value.
    provenance : str
        "paper" as printed, "derived" ours, "mixed" when the default improves on the printed form.
    """

    def register(function: F) -> F:
        if id in _REGISTRY:
            raise ValueError(f"two theorems are registered as {id}")
        parameters = parameters_of(function)
        checked = validated(function)
        _REGISTRY[id] = Theorem(id, statement, source, conditions, unit, provenance, checked, parameters)
        return checked

    return register


def catalogue() -> dict[str, Theorem]:
    """Return all theorems, sorted by id. The call imports all of `holdfast.bounds`.

    Examples
    --------
    >>> "max-information.pure-dp" in catalogue()
    True
    """
    package = importlib.import_module("holdfast.bounds")
    for module in pkgutil.walk_packages(package.__path__, "holdfast.bounds."):
        importlib.import_module(module.name)
    return dict(sorted(_REGISTRY.items()))


def lookup(id: str) -> Theorem:
    """Return the theorem called `id`; an unknown id raises `InvalidParameter` and names the nearest ones.

    Examples
    --------
    >>> lookup("transfer.event").source
    'Dwork et al. 2015 Theorem 13; Rogers et al. 2016 section 1.3.1'
    >>> lookup("transfer.evnt")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: no theorem is called 'transfer.evnt'; did you mean ...
    """
    entries = catalogue()
    if id not in entries:
        import difflib

        near = difflib.get_close_matches(id, entries, n=3, cutoff=0.6)
        hint = f"did you mean {', '.join(near)}?" if near else "`holdfast bound` lists them"
        raise InvalidParameter(f"no theorem is called {id!r}; {hint}")
    return entries[id]


def entry_of(function: Callable[..., Any]) -> Theorem:
    """Return the catalogue entry of a theorem's function.

    Examples
    --------
    >>> from holdfast.bounds.transfer import event
    >>> entry_of(event).id
    'transfer.event'
    """
    for entry in _REGISTRY.values():
        if entry.function is function:
            return entry
    raise InvalidParameter(
        "theorem must be the id of a theorem in the catalogue or its function; catalogue() lists the ids"
    )


def shown(value: float) -> str:
    """Return a number as people read it: ten significant digits, `inf` where there is no bound.

    Examples
    --------
    >>> shown(14.426950408889634), shown(float("inf")), shown(147)
    ('14.42695041', 'inf', '147')
    """
    return str(value) if isinstance(value, int) else f"{value:.10g}"
