"""The parameter types of the theorems: what a parameter means, which values it may have, and a typical one.

A theorem names a type for each parameter, `def line(n: Rows, beta: FailureProbability) -> float`, and nothing more.
`validated` checks every call against the types and writes the `Parameters` section of the docstring; `holdfast bound`
and the tests read the same types. A type is refined in place where one theorem needs it: a string replaces the help,
and a `Domain` replaces the limits it names, as in

    Annotated[Epsilon, "The epsilon of each question."]
    Annotated[Epsilon, Domain("The epsilon of each question.", at_most=0.5)]

A condition that involves several parameters is not a domain: the theorem checks it in its own code.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import types
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from holdfast.core import arguments

Kind = Literal["real", "whole", "choice", "reals"]
F = TypeVar("F", bound=Callable[..., Any])

MOST = 10**18
"""Rows and questions beyond this do not fit the integer routines underneath, and nobody has them."""

LEAST_BETA = 1e-100
"""Smaller failure probabilities mean nothing in practice, and parts of them leave the floating range."""

LEAST_TAU = 1e-50
"""Accuracies below this would need more rows than anybody has; their squares and fourth powers stay numbers."""

_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
_LARGEST_FLOAT = math.nextafter(math.inf, 0)
_FORM = "The form of the theorem; its documentation describes each."


@dataclass(frozen=True)
class Domain:
    """What a parameter means and which numbers it may be; a field that is left out sets no limit.

    Examples
    --------
    >>> Domain("The significance level.", above=0, below=1).refined(Domain(at_most=0.5)).limits
    {'above': 0, 'at_most': 0.5}
    """

    help: str = ""
    _: KW_ONLY
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    infinite: bool = False
    empty: bool = False
    typical: Any = None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits that are stated, by the names that `holdfast.core.arguments` uses."""
        stated = {name: getattr(self, name) for name in ("above", "at_least", "below", "at_most")}
        limits = {name: limit for name, limit in stated.items() if limit is not None}
        return limits | ({"infinite": True} if self.infinite else {})

    def refined(self, other: Domain | str) -> Domain:
        """Return the domain with what `other` states in place of it; a string is a help text."""
        if isinstance(other, str):
            return replace(self, help=other)
        changes = {f.name: getattr(other, f.name) for f in fields(other) if getattr(other, f.name) != f.default}
        for end, twin in (("above", "at_least"), ("at_least", "above"), ("below", "at_most"), ("at_most", "below")):
            if end in changes:
                changes.setdefault(twin, None)
        return replace(self, **changes)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a theorem, read from its signature."""

    name: str
    kind: Kind
    required: bool
    default: Any
    choices: tuple[str, ...]
    help: str
    domain: Domain = Domain()
    optional: bool = False

    @property
    def option(self) -> str:
        """The parameter's name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def allowed(self) -> str:
        """Which values it may have, in the words of the error that refuses others."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        limits = self.domain.limits
        if self.kind == "whole":
            ends = [f"at least {limits['at_least']}"] if "at_least" in limits else []
            ends += [f"at most {_power(limits['at_most'])}"] if "at_most" in limits else []
            return ", ".join(["a whole number", " and ".join(ends)] if ends else ["a whole number"])
        interval = arguments.interval(**limits)
        return f"numbers in {interval}" if self.kind == "reals" else f"a number in {interval}"

    @property
    def checked(self) -> Callable[[Any], Any]:
        """The function that returns a clean value or raises `InvalidParameter`."""
        if self.kind == "choice":
            return functools.partial(arguments.choice, self.name, options=self.choices)
        kinds: dict[str, Callable[..., Any]] = {
            "real": arguments.real,
            "whole": arguments.whole,
            "reals": arguments.reals,
        }
        return functools.partial(kinds[self.kind], self.name, **self.domain.limits)

    @property
    def accepted(self) -> list[Any]:
        """The closed ends of the domain and the typical value, or every choice: what tests must see accepted."""
        if self.kind == "choice":
            return list(self.choices)
        limits = self.domain.limits
        values = [limits[name] for name in ("at_least", "at_most") if name in limits]
        if self.kind == "reals":
            values = [[value] for value in values]
        return values + ([self.domain.typical] if self.domain.typical is not None else [])

    @property
    def refused(self) -> list[Any]:
        """The first values outside the domain at either end, and what is no value at all."""
        if self.kind == "choice":
            return ["no such choice", 3, *([] if self.optional else [None])]
        limits = self.domain.limits
        values: list[Any] = [limits[name] for name in ("above", "below") if name in limits]
        step = (lambda x, to: x + (1 if to > x else -1)) if self.kind == "whole" else math.nextafter
        values += [step(limits["at_least"], -math.inf)] if "at_least" in limits else []
        values += [step(limits["at_most"], math.inf)] if "at_most" in limits else []
        values += [math.nan] + ([] if self.domain.infinite or "above" in limits else [-math.inf])
        values += [] if self.domain.infinite else [math.inf]
        values += [0.5] if self.kind == "whole" else []
        if self.kind == "reals":
            return [*([value] for value in values), *([] if self.domain.empty else [[]]), "x", 0.5]
        return [*values, "x", True, [0.5], *([] if self.optional else [None])]


def parameters_of(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a function whose annotations are parameter types, in signature order.

    Examples
    --------
    >>> def line(n: Rows, kind: Literal["a", "b"] = "a") -> float: ...
    >>> [(parameter.name, parameter.allowed) for parameter in parameters_of(line)]
    [('n', 'a whole number, at least 1 and at most 10**18'), ('kind', 'one of a, b')]
    """
    parameters = []
    for name, spec in inspect.signature(function).parameters.items():
        hint = spec.annotation
        if isinstance(hint, str):
            hint = eval(hint, function.__globals__)  # what typing.get_type_hints does, without the return annotation
        base, domain, optional = _read(hint)
        kind, choices = _kind(base)
        required = spec.default is inspect.Parameter.empty
        help = domain.help or (_FORM if kind == "choice" else "")
        default = None if required else spec.default
        parameters.append(Parameter(name, kind, required, default, choices, help, domain, optional))
    return tuple(parameters)


def validated(function: F) -> F:
    """Return `function` behind a check of its arguments against their types, with the parameters in its docstring.

    The check is compiled once. It costs a comparison for a value that already has the right type, and otherwise turns
    what is a number into an int or a float (`1e6` is a whole number).

    Examples
    --------
    >>> @validated
    ... def each(beta: FailureProbability, n: Rows) -> float:
    ...     return beta / n
    >>> each(0.5, 1e1)
    0.05
    >>> each(0.5, 0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: n must be a whole number, at least 1 and at most 1000000000000000000, got 0
    >>> each.__doc__.splitlines()[-1].strip()
    'The number of rows. A whole number, at least 1 and at most 10**18.'
    """
    return _validated(function, parameters_of(function))


def _validated(function: F, parameters: Sequence[Parameter]) -> F:
    lines = [f"def make(function, {', '.join(f'checked_{p.name}, choices_{p.name}' for p in parameters)}):"]
    specs = inspect.signature(function).parameters
    heads, passed, keyword_only = [], [], False
    for p in parameters:
        if specs[p.name].kind is inspect.Parameter.KEYWORD_ONLY:
            heads += [] if keyword_only else ["*"]
            keyword_only = True
        heads.append(p.name if p.required else f"{p.name}=None")
        passed.append(f"{p.name}={p.name}" if keyword_only else p.name)
    lines.append(f"  def {function.__name__}({', '.join(heads)}):")
    for p in parameters:
        wrong = _wrong(p)
        wrong = f"{p.name} is not None and ({wrong})" if p.optional else wrong
        lines.append(f"    if {wrong}: {p.name} = checked_{p.name}({p.name})")
    lines += [f"    return function({', '.join(passed)})", f"  return {function.__name__}"]
    namespace: dict[str, Callable[..., Any]] = {}
    # In the module's own namespace, so that tools see the function there; dataclasses do the same.
    exec(compile("\n".join(lines), f"<arguments of {function.__qualname__}>", "exec"), function.__globals__, namespace)
    arguments = [part for p in parameters for part in (p.checked, p.choices)]
    wrapper: Any = functools.wraps(function)(namespace["make"](function, *arguments))
    wrapper.__defaults__, wrapper.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    wrapper.__doc__ = _documented(function.__doc__ or "", parameters)
    return cast(F, wrapper)


def _wrong(p: Parameter) -> str:
    """The condition, in Python, that a value is not clean: it is then checked in full, and refused or turned."""
    if p.kind == "reals":
        return f"{p.name} != () and {p.name} != []" if p.domain.empty else "True"
    if p.kind == "choice":
        return f"type({p.name}) is not str or {p.name} not in choices_{p.name}"
    limits = p.domain.limits
    if p.kind == "whole":
        low, high = limits.get("at_least", -arguments.LARGEST_WHOLE), limits.get("at_most", arguments.LARGEST_WHOLE)
        return f"type({p.name}) is not int or not {low} <= {p.name} <= {high}"
    low = (
        f"{float(limits['above'])!r} <"
        if "above" in limits
        else f"{float(limits.get('at_least', -_LARGEST_FLOAT))!r} <="
    )
    high = (
        f"< {float(limits['below'])!r}" if "below" in limits else f"<= {float(limits.get('at_most', _LARGEST_FLOAT))!r}"
    )
    low, high = (end.replace("-inf", "-1e999").replace("inf", "1e999") for end in (low, high))
    return f"type({p.name}) is not float or not {low} {p.name} {high}"


def _documented(doc: str, parameters: Sequence[Parameter]) -> str:
    """The docstring with its `Parameters` section, which stands before the first other section."""
    if not parameters:
        return doc
    section = ["Parameters", "----------"]
    for p in parameters:
        kinds = {"real": "float", "whole": "int", "reals": "sequence of float"}
        kind = kinds.get(p.kind) or "{" + ", ".join(f'"{choice}"' for choice in p.choices) + "}"
        default = "" if p.required else ", optional" if p.default is None else f", default {p.default!r}"
        allowed = "" if p.kind == "choice" else f" {p.allowed[0].upper()}{p.allowed[1:]}."
        section += [f"{p.name} : {kind}{default}", f"    {p.help}{allowed}"]
    lines = inspect.cleandoc(doc).splitlines() if doc else []
    heads = (i for i, line in enumerate(lines[1:]) if line.startswith("---") and lines[i].strip())
    place = next(heads, len(lines))
    before = "\n".join(lines[:place]).rstrip()
    return "\n\n".join(part for part in (before, "\n".join(section), "\n".join(lines[place:])) if part)


def _read(hint: Any) -> tuple[Any, Domain, bool]:
    """The Python type, the domain, and whether None is allowed."""
    domain, optional = Domain(), False
    refinements: list[Domain | str] = []
    while get_origin(hint) in (Annotated, Union, types.UnionType):
        if get_origin(hint) is Annotated:
            hint, *metadata = get_args(hint)
            refinements[:0] = metadata
        else:
            (hint,) = (arg for arg in get_args(hint) if arg is not type(None))
            optional = True
    for refinement in refinements:
        domain = domain.refined(refinement)
    return hint, domain, optional


def _kind(base: Any) -> tuple[Kind, tuple[str, ...]]:
    if get_origin(base) is Literal:
        return "choice", tuple(get_args(base))
    if get_origin(base) is Sequence:
        return "reals", ()
    kinds: dict[Any, Kind] = {float: "real", int: "whole"}
    if base not in kinds:
        raise TypeError(f"a theorem cannot take a parameter of type {base!r}")
    return kinds[base], ()


@functools.cache
def _checker(name: str, hint: Any) -> Callable[[Any], Any]:
    base, domain, optional = _read(hint)
    kind, choices = _kind(base)
    return Parameter(name, kind, True, None, choices, domain.help, domain, optional).checked


def checked(name: str, hint: Any, value: Any) -> Any:
    """Return a clean value of one of the types below, for what is no parameter of a theorem, or raise.

    Examples
    --------
    >>> checked("beta", FailureProbability, 0.05), checked("n", Rows, 1e6)
    (0.05, 1000000)
    """
    return _checker(name, hint)(value)


def parse(parameter: Parameter, text: str) -> Any:
    """Read a parameter from the text of a command line.

    Examples
    --------
    >>> parse(Parameter("n", "whole", True, None, (), ""), "1e5")
    100000
    """
    if parameter.kind == "choice":
        return arguments.choice(parameter.name, text, parameter.choices)
    if parameter.kind == "reals":
        return tuple(_number(parameter.name, part) for part in text.split(","))
    number = _number(parameter.name, text)
    return arguments.whole(parameter.name, number) if parameter.kind == "whole" else number


def _number(name: str, text: str) -> float | int:
    text = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise arguments.refused(name, text, "a number")


def _power(number: float) -> str:
    return "10**18" if number == MOST else str(number)


# Rows, questions and other counts

Rows = Annotated[int, Domain("The number of rows.", at_least=1, at_most=MOST, typical=1000)]
UnboundedRows = Annotated[int, Domain("The number of rows.", at_least=1, typical=1000)]
AuditedRows = Annotated[
    int, Domain("Rows in the audited data set, even: twice the rows that the release sees.", at_least=4, typical=1000)
]
GroupRows = Annotated[
    int, Domain("Rows of the smallest protected group in the audited data set; at most n.", at_least=1, typical=500)
]
OdometerSize = Annotated[
    int, Domain("The number n that sets the range [1/n^2, 1] of V.", at_least=6, at_most=MOST, typical=1000)
]
Questions = Annotated[int, Domain("The number of questions, fixed in advance.", at_least=1, at_most=MOST, typical=50)]
QuestionNumber = Annotated[
    int, Domain("The number of the question, counted from 1.", at_least=1, at_most=MOST, typical=3)
]
Budget = Annotated[
    int, Domain("The number of overfits after which the run stops.", at_least=1, at_most=MOST, typical=5)
]
Submissions = Annotated[
    int, Domain("The number of submissions, fixed in advance.", at_least=1, at_most=MOST, typical=50)
]
AnswerValues = Annotated[
    int, Domain("How many nonzero answers are possible; 1 for pass or fail.", at_least=1, typical=1)
]
Groups = Annotated[int, Domain("How many groups are protected at once.", at_least=1, typical=20)]
Lenses = Annotated[
    int, Domain("How many lenses the promise covers at once; they multiply the groups.", at_least=1, typical=1)
]
Predictors = Annotated[
    int, Domain("How many predictors the promise covers at once; they multiply the groups.", at_least=1, typical=1)
]
Rounds = Annotated[int, Domain("The number of mechanisms.", at_least=0, at_most=MOST, typical=10)]
Candidates = Annotated[int, Domain("The number of candidates.", at_least=1, typical=10)]
Draws = Annotated[int, Domain("The number of independent noises.", at_least=1, typical=1)]
Blanket = Annotated[
    int,
    Domain(
        "Records near a record, itself included: 1 for independent records and for Markov blankets.",
        at_least=1,
        at_most=MOST,
        typical=1,
    ),
]
Colours = Annotated[
    int,
    Domain(
        "Classes of equal size without nearby pairs; `blanket` if left out, right for chains and blocks.",
        at_least=1,
        at_most=MOST,
        typical=1,
    ),
]
RowsBack = Annotated[int, Domain("How many rows back the quilt reaches.", at_least=1, at_most=MOST, typical=5)]
RowsAhead = Annotated[int, Domain("How many rows ahead the quilt reaches.", at_least=1, at_most=MOST, typical=5)]

# Probabilities

FailureProbability = Annotated[
    float, Domain("The probability with which the bound may fail.", at_least=LEAST_BETA, below=1, typical=0.05)
]
OpenFailureProbability = Annotated[
    float, Domain("The probability with which the bound may fail.", above=0, below=1, typical=0.05)
]
FailureProbabilityOrZero = Annotated[
    float, Domain("The probability with which the bound may fail.", at_least=0, below=1, typical=0.05)
]
AnyFailureProbability = Annotated[
    float, Domain("The probability with which the bound may fail.", at_least=0, at_most=1, typical=0.05)
]
AuditFailureProbability = Annotated[
    float, Domain("The failure probability of the whole experiment.", above=0, at_most=1, typical=0.05)
]
Slack = Annotated[float, Domain("The probability with which the argument may fail.", above=0, below=1, typical=1e-6)]
LogShare = Annotated[
    float,
    Domain(
        "The natural logarithm of the probability with which the interval may miss the truth.",
        at_least=-1e15,
        below=0,
        typical=-3.0,
    ),
]
MissProbability = Annotated[
    float, Domain("The probability with which the interval may miss.", above=0, below=1, typical=0.05)
]
SignificanceLevel = Annotated[float, Domain("The significance level to keep.", above=0, below=1, typical=0.05)]
PValue = Annotated[float, Domain("The ordinary p-value on the same rows.", at_least=0, at_most=1, typical=0.01)]
GroupProportion = Annotated[
    float,
    Domain("The proportion of the rows that the smallest protected group has.", above=0, at_most=1, typical=0.05),
]
Eta = Annotated[float, Domain("The slack of the max-information bound.", above=0, at_most=1, typical=0.05)]

# Privacy

Epsilon = Annotated[
    float, Domain("The epsilon of everything that was released, taken together.", at_least=0, typical=0.01)
]
PositiveEpsilon = Annotated[
    float, Domain("The epsilon of everything that was released, taken together.", above=0, typical=0.01)
]
Delta = Annotated[
    float, Domain("The delta of everything that was released, taken together.", at_least=0, below=1, typical=1e-9)
]
PositiveDelta = Annotated[
    float, Domain("The delta of everything that was released, taken together.", above=0, below=1, typical=1e-9)
]
OdometerDelta = Annotated[float, Domain("The failure probability, below 1/e.", above=0, below=1 / math.e, typical=1e-6)]
Rho = Annotated[float, Domain("The zCDP parameter.", at_least=0, typical=0.1)]
Mu = Annotated[float, Domain("The GDP parameter.", at_least=0, typical=0.5)]
EpsilonTotal = Annotated[float, Domain("The epsilon of the whole.", at_least=0, typical=1.0)]
DeltaTotal = Annotated[float, Domain("The delta of the whole.", at_least=0, below=1, typical=1e-6)]
DeltaSlack = Annotated[
    float, Domain("The probability with which the composition itself may fail.", above=0, below=1, typical=1e-6)
]
Order = Annotated[float, Domain("The Renyi order.", at_least=1, typical=2.0)]
SquaredEpsilons = Annotated[float, Domain("V, the sum of the squared epsilons so far.", at_least=0, typical=0.1)]
LossDrift = Annotated[
    float, Domain("The sum of the mean losses so far (`loss_drift` of each epsilon).", at_least=0, typical=0.05)
]
Sensitivity = Annotated[float, Domain("How far replacing one row can move the statistic.", above=0, typical=0.01)]
NoiseScale = Annotated[float, Domain("The scale of the noise.", above=0, typical=2.0)]
LaplaceScale = Annotated[float, Domain("The Laplace scale.", at_least=1e-100, at_most=1e100, typical=0.01)]
Epsilons = Annotated[Sequence[float], Domain("The epsilon of each mechanism.", at_least=0, typical=(0.1, 0.2))]
Deltas = Annotated[
    Sequence[float], Domain("The delta of each mechanism; zeros if left out.", at_least=0, below=1, typical=(1e-9, 0.0))
]
Divergences = Annotated[
    Sequence[float],
    Domain("The running totals of the Renyi divergences at these orders, in nats.", at_least=0, typical=(0.1, 0.2)),
]
Orders = Annotated[Sequence[float], Domain("The Renyi orders, a grid fixed in advance.", above=1, typical=(2.0, 4.0))]

# Accuracy

HalfWidth = Annotated[float, Domain("The half-width wanted.", at_least=1e-9, at_most=1, typical=0.1)]
Accuracy = Annotated[float, Domain("The error that every answer keeps.", at_least=LEAST_TAU, below=1, typical=0.1)]
DeviationSize = Annotated[float, Domain("The deviation.", above=0, typical=0.1)]
Tolerance = Annotated[
    float,
    Domain("The tolerated 1-Wasserstein distance of predictions in [-1, 1].", above=0, at_most=2, typical=0.05),
]
SharpTolerance = Annotated[
    Tolerance,
    Domain("The tolerated 1-Wasserstein distance of predictions in [-1, 1]; the sharp mode needs it below 2.", below=2),
]

# Information

Bits = Annotated[float, Domain("The base-2 logarithm of the number of possible outputs.", at_least=0, typical=1.0)]
MaxInformationBits = Annotated[
    float, Domain("The bits of a max-information or transfer bound.", above=-math.inf, infinite=True, typical=3.0)
]
Nats = Annotated[float, Domain("The information in nats.", at_least=0, typical=1.0)]
RowBits = Annotated[
    float, Domain("The base-2 logarithm of the number of values that a row can take.", at_least=0, typical=1.0)
]
Influence = Annotated[
    float, Domain("The largest max-influence, in nats, of a record on its quilt.", at_least=0, typical=0.0)
]
Surcharge = Annotated[
    float,
    Domain(
        "What the conversion to Bayesian privacy adds; twice the influence if left out.",
        at_least=0,
        infinite=True,
        typical=0.1,
    ),
]
BudgetSplit = Annotated[
    float,
    Domain("The constant c: training errors from c tau on use up the budget.", above=0, below=1, typical=0.5),
]

# Samples

Mean = Annotated[float, Domain("The mean of the rows' values.", at_least=-1e100, at_most=1e100, typical=0.3)]
LowestValue = Annotated[float, Domain("No row's value is below this.", at_least=-1e100, at_most=1e100, typical=0.0)]
HighestValue = Annotated[float, Domain("No row's value is above this.", at_least=-1e100, at_most=1e100, typical=1.0)]
