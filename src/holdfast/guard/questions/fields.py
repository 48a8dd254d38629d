"""The fields of a question, declared once: JSON schema, command line, web form and documentation are made from them.

A kind annotates each of its fields with an input, `guess: Annotated[float, NumberInput(...)]`. The input says what the
field is called, what it means and which values it takes, and it reads and writes the field as people type it. The types
that several kinds share stand at the end of this file. Where one means something special in a kind, a string says what:
`where: Annotated[Where, "A condition: ..."]`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from holdfast.accounting import Cost
from holdfast.data.expressions import parse, tree
from holdfast.data.schema import Schema
from holdfast.data.statistics.counts import parse_categories
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.questions.words import expression_text

_LONGEST_TEXT = 20_000
_LONGEST_NUMBER = 40
COST_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A privacy cost",
    "properties": {
        "kind": {"type": "string", "enum": ["pure-dp", "zcdp"]},
        "epsilon": {"type": "number", "exclusiveMinimum": 0},
        "rho": {"type": "number", "exclusiveMinimum": 0},
    },
    "required": ["kind"],
    "examples": [{"kind": "pure-dp", "epsilon": 0.01}],
}
"""The JSON schema of a privacy cost."""


@dataclass(frozen=True)
class Group:
    """Fields that a form shows together below one title."""

    title: str
    help: str


RANGE = Group(
    "For a number instead of a condition: its range",
    "Values are clipped to the range row by row. Leave it empty for a condition.",
)
NULLS = Group(
    "Rows without a value",
    "Needed where the expression can be null: a column marked nullable, a case without else, a division by what may be "
    "0. For a condition, 0 or 1.",
)


@dataclass(frozen=True)
class Place:
    """Where a text was typed: what the field is called there, and what is known while it is read.

    `values` are the fields that were read before. `separator` stands between a label and its expression. `cost_kind` is
    the kind of cost that a plain number means.
    """

    name: str
    schema: Schema | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    separator: str = "="
    cost_kind: str | None = None


@dataclass(frozen=True, kw_only=True)
class Input:
    """How one field is given.

    Parameters
    ----------
    label : str
        What a form calls the field.
    help : str
        A few sentences that say what it means.
    argument : bool
        Whether the command line takes it by position and not as an option.
    option : str, optional
        The name of the option; that of the field with dashes if not given.
    metavar : str, optional
        What stands for its value in the help of the command line.
    group : Group, optional
        What it is shown with.
    placeholder : str
        What an empty field of a form shows.
    offered : bool
        False for what only Python and JSON can give.
    """

    label: str
    help: str
    argument: bool = False
    option: str | None = None
    metavar: str | None = None
    group: Group | None = None
    placeholder: str = ""
    offered: bool = True

    widget: ClassVar[str] = "text"
    """The template that shows it in a form."""
    repeated: ClassVar[bool] = False
    """Whether the command line takes its option several times."""
    typed: ClassVar[type] = str
    """What the command line reads a word as."""
    needs_schema: ClassVar[bool] = False
    """Whether it is read in the kind of a column."""

    @property
    def boxes(self) -> int:
        """How many boxes a form has for it."""
        return 1

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        return {"type": "string"}

    def read(self, texts: Sequence[str], place: Place) -> Any:
        """Return what the texts mean, one for each box of a form or each time an option is given; None for nothing."""
        return _text(texts[0], place.name) if texts and texts[0] else None

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """Return the texts that `read` makes this value of."""
        return [str(value)]


class TextInput(Input):
    """A text."""


class DataInput(Input):
    """Data that is too large to be typed."""

    def schema(self) -> dict[str, Any]:
        """Anything: the kind says what it takes."""
        return {}


class ExpressionInput(Input):
    """A row expression, as text or as its tree."""

    widget = "expression"

    def schema(self) -> dict[str, Any]:
        """Return a text or a tree."""
        return {
            "anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}],
            "examples": ["income > 50000 and age < 30"],
        }

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """Return a tree as its text."""
        return [expression_text(value)]


@dataclass(frozen=True, kw_only=True)
class NumberInput(Input):
    """A number, with the range that it must lie in where that is fixed."""

    at_least: float | None = None
    above: float | None = None
    below: float | None = None

    widget = "number"
    typed = float

    def schema(self) -> dict[str, Any]:
        """Return a number and its range."""
        ends = {"minimum": self.at_least, "exclusiveMinimum": self.above, "exclusiveMaximum": self.below}
        return {"type": "number"} | {name: end for name, end in ends.items() if end is not None}

    def read(self, texts: Sequence[str], place: Place) -> float | None:
        """Return a number as people type it."""
        return _number(texts[0], place.name) if texts and texts[0] else None


class FlagInput(Input):
    """Yes or no; no if nothing is said."""

    widget = "flag"
    typed = bool

    def schema(self) -> dict[str, Any]:
        """True or false."""
        return {"type": "boolean"}

    def read(self, texts: Sequence[str], place: Place) -> bool | None:
        """Return whether a box was ticked."""
        return True if texts and texts[0] else None

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """Return a ticked box says yes."""
        return ["yes" if value else ""]


@dataclass(frozen=True, kw_only=True)
class ChoiceInput(Input):
    """One of a few words, each with what it means."""

    choices: Mapping[str, str] = field(default_factory=dict, hash=False)

    widget = "choice"

    def schema(self) -> dict[str, Any]:
        """One of the words."""
        return {"type": "string", "enum": list(self.choices)}


@dataclass(frozen=True, kw_only=True)
class WeightsInput(ChoiceInput):
    """One of a few words, or several names with how much each weighs: `winner=1,ranks=2`, or alike, `winner,ranks`."""

    names: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """One of the words, a list of names, or an object from names to weights."""
        name = {"type": "string", "enum": list(self.names)}
        weight = {"type": "number", "exclusiveMinimum": 0}
        return {
            "anyOf": [
                {"type": "string", "enum": [word for word in self.choices if "=" not in word]},
                {"type": "array", "items": name, "minItems": 1},
                {"type": "object", "propertyNames": name, "additionalProperties": weight, "minProperties": 1},
            ]
        }

    def read(self, texts: Sequence[str], place: Place) -> Any:
        """Return a word as it is, names as a list, weights as a mapping."""
        text = super().read(texts, place)
        if text is None or not {",", "="} & set(text):
            return text
        parts = [part.strip() for part in text.strip().rstrip(",").split(",")]
        if "=" not in text:
            return parts
        pairs = [part.partition("=") for part in parts]
        return {name.strip(): _number(weight.strip(), place.name) for name, _, weight in pairs}

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """Return names with commas between them, and their weights where they have any."""
        if isinstance(value, str):
            return [value]
        weights = value.items() if isinstance(value, Mapping) else ((name, None) for name in value)
        return [",".join(name if weight is None else f"{name}={weight:g}" for name, weight in weights)]


class CostInput(Input):
    """A privacy cost."""

    widget = "cost"

    def schema(self) -> dict[str, Any]:
        """Return a kind of cost and its number."""
        return COST_SCHEMA

    def read(self, texts: Sequence[str], place: Place) -> dict[str, Any] | None:
        """`pure-dp:0.1` or `zcdp:0.01`; a plain number where the kind is known."""
        from holdfast.inference.after_looking.spent import parse

        if not texts or not texts[0]:
            return None
        if place.cost_kind is not None and ":" not in texts[0]:
            name = "epsilon" if place.cost_kind == "pure-dp" else "rho"
            return {"kind": place.cost_kind, name: _number(texts[0], place.name)}
        try:
            return parse(texts[0]).to_dict()
        except InvalidParameter as error:
            raise InvalidParameter(f"{place.name}: {error}") from None

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """As the command line spells it."""
        plain = value.to_dict() if isinstance(value, Cost) else value
        return [f"{plain['kind']}:{plain.get('epsilon', plain.get('rho'))}"]


class ColumnInput(Input):
    """A column of the data."""

    widget = "column"


class NumbersInput(Input):
    """Numbers with commas between them; `1/3` is one too."""

    def schema(self) -> dict[str, Any]:
        """Return a list of numbers."""
        return {"type": "array", "items": {"type": "number"}, "minItems": 1}

    def read(self, texts: Sequence[str], place: Place) -> list[float] | None:
        """Whole numbers stay whole."""
        if not texts or not texts[0]:
            return None
        return [_fraction(part.strip(), place.name) for part in texts[0].strip().rstrip(",").split(",")]

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """With commas."""
        return [",".join(map(str, value))]


@dataclass(frozen=True, kw_only=True)
class CategoriesInput(Input):
    """Declared categories of the column that another field names, read in the kind of that column."""

    of: str = "column"

    needs_schema = True

    def schema(self) -> dict[str, Any]:
        """Return a list of categories."""
        return {"type": "array", "minItems": 1}

    def read(self, texts: Sequence[str], place: Place) -> list[Any] | None:
        """Categories with commas between them, or a JSON list."""
        if not texts or not texts[0]:
            return None
        return _categories(texts[0], place.values.get(self.of), place)

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """With commas, or as a JSON list where a name has one in it."""
        return [_listed(value)]


@dataclass(frozen=True, kw_only=True)
class ColumnsInput(Input):
    """Some columns of the data."""

    most: int = 2

    widget = "column"
    repeated = True

    @property
    def boxes(self) -> int:
        """One for each column."""
        return self.most

    def schema(self) -> dict[str, Any]:
        """Return a list of names."""
        return {"type": "array", "items": {"type": "string"}, "minItems": 1}

    def read(self, texts: Sequence[str], place: Place) -> list[str] | None:
        """Return every column that was named."""
        return [_text(text, place.name) for text in texts if text] or None

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """One text a column."""
        return list(value)


@dataclass(frozen=True, kw_only=True)
class CategoryListsInput(ColumnsInput):
    """Declared categories of each column that another field names."""

    of: str = "columns"

    widget = "text"
    needs_schema = True

    def schema(self) -> dict[str, Any]:
        """Return a list for each column."""
        return {"type": "array", "items": {"type": ["array", "null"]}, "minItems": 1}

    def read(self, texts: Sequence[str], place: Place) -> list[Any] | None:
        """Return a list for each column; nothing for a column whose categories the schema declares."""
        lists = [part for text in texts for part in ([text] if text.strip().startswith("[") else text.split(";"))]
        if not any(lists):
            return None
        columns = list(place.values.get(self.of) or ())
        lists = lists[: len(columns)] if not any(lists[len(columns) :]) else lists
        if len(lists) != len(columns):  # the kind says how many there must be
            return [text.split(",") for text in lists if text]
        return [_categories(text, name, place) if text else None for text, name in zip(lists, columns, strict=True)]

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """One text a column."""
        return ["" if part is None else _listed(part) for part in value]


@dataclass(frozen=True, kw_only=True)
class TextsInput(ColumnsInput):
    """A text for each column that another field names."""

    of: str = "columns"

    widget = "text"

    def schema(self) -> dict[str, Any]:
        """Return a list with an entry for each column."""
        return {"type": "array", "items": {"type": ["string", "integer", "boolean", "null"]}, "minItems": 1}

    def read(self, texts: Sequence[str], place: Place) -> list[Any] | None:
        """Return a text for each column; nothing for a column that needs none."""
        columns = list(place.values.get(self.of) or ())
        given = [text or None for text in texts]
        if not any(given):
            return None
        return given if any(given[len(columns) :]) else given[: len(columns)]

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """One text a column."""
        return ["" if part is None else str(part) for part in value]


class CandidatesInput(Input):
    """Labels and row expressions."""

    widget = "lines"
    repeated = True
    needs_schema = True

    def schema(self) -> dict[str, Any]:
        """Return an object from labels to expressions."""
        return {"type": "object", "minProperties": 1}

    def read(self, texts: Sequence[str], place: Place) -> dict[str, str] | None:
        """One candidate a text, or a line."""
        candidates = {}
        for line in (line for text in texts for line in text.splitlines()):
            label, between, expression = (part.strip() for part in line.partition(place.separator))
            if line.strip() and not (label and between and expression):
                form = f"LABEL{place.separator}EXPRESSION"
                raise InvalidParameter(f"{place.name} must be {form}, got {line.strip()[:60]!r}")
            if line.strip():
                _refuse_missing_label(label, expression, line.strip(), place)
                candidates[label] = expression
        return candidates or None

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """One text a candidate."""
        between = separator if separator == "=" else f"{separator} "
        return [f"{label}{between}{expression_text(expression)}" for label, expression in value.items()]


def _refuse_missing_label(label: str, text: str, line: str, place: Place) -> None:
    """Refuse a comparison without a label, which would be cut at its own `=` and ask something else."""
    if place.separator != "=":
        return
    is_cut = label[-1] in "<>!" or text.startswith("=")
    if place.schema is not None and label in place.schema and label != text:
        is_cut = is_cut or not _begins_with_comparison(text)
    if is_cut:
        raise InvalidParameter(
            f"{place.name} must begin with a label, and {line[:60]!r} would be the label {label[:60]!r} with the "
            f"expression {text[:60]!r}; did you mean 'NAME={line[:60]}'? Nothing was spent"
        )


def _begins_with_comparison(text: str) -> bool:
    """Whether an expression stands for itself: what is cut at its own `=` begins with a bare value."""
    try:
        node: Any = parse(text)
    except HoldfastError:
        return False
    while isinstance(node, (tree.And, tree.Or, tree.Not)):
        node = node.operand if isinstance(node, tree.Not) else node.operands[0]
    return isinstance(node, (tree.Comparison, tree.Between, tree.In, tree.IsNull))


class GuessesInput(CandidatesInput):
    """Labels and numbers."""

    needs_schema = False

    def schema(self) -> dict[str, Any]:
        """Return an object from labels to numbers."""
        return {"type": "object", "additionalProperties": {"type": "number"}}

    def read(self, texts: Sequence[str], place: Place) -> dict[str, Any] | None:
        """One label and number a text, or a line."""
        given = super().read(texts, place)
        return None if given is None else {label: _number(text, place.name) for label, text in given.items()}

    def write(self, value: Any, separator: str = "=") -> list[str]:
        """One text a label."""
        between = separator if separator == "=" else f"{separator} "
        return [f"{label}{between}{guess}" for label, guess in value.items()]


@dataclass(frozen=True)
class Field:
    """A field of a kind: its input, its type in words, and whether it must be given."""

    name: str
    input: Input
    type: str
    required: bool
    default: Any
    nullable: bool

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return self.input.option or "--" + self.name.replace("_", "-")

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        plain = self.input.schema()
        value = {"anyOf": [plain, {"type": "null"}]} if self.nullable and plain else plain
        return value | {"description": self.input.help}


@cache
def fields_of(kind: type) -> tuple[Field, ...]:
    """Return the declared fields of a question kind, in order.

    Examples
    --------
    >>> from holdfast.guard import validate
    >>> [(field.name, field.required) for field in fields_of(validate)]
    [('condition', True), ('at_least', True), ('default', False), ('where_present', False)]
    """
    assert is_dataclass(kind)
    hints = get_type_hints(kind, include_extras=True)
    declared = []
    for each in fields(kind):
        hint = hints[each.name]
        inputs = [extra for extra in get_args(hint)[1:] if isinstance(extra, Input)]
        if get_origin(hint) is not Annotated or not inputs:
            raise TypeError(
                f"the field {each.name} of the class {kind.__name__} must be declared as Annotated[type, Input(...)]"
            )
        base, helps = get_args(hint)[0], [extra for extra in get_args(hint)[1:] if isinstance(extra, str)]
        shown = replace(inputs[-1], help=helps[-1]) if helps else inputs[-1]
        required = each.default is MISSING and each.default_factory is MISSING
        default = None if required else each.default
        declared.append(Field(each.name, shown, _type_words(base), required, default, NoneType in get_args(base)))
    return tuple(declared)


def documented(kind: type) -> str:
    """The docstring of a kind with a section of its parameters, which is made from its fields.

    Examples
    --------
    >>> from holdfast.guard import validate
    >>> documented(validate).splitlines()[5:7]
    ['condition : str or mapping', '    A condition on one row that is true or false, such as age < 40.']
    """
    text = inspect.cleandoc(kind.__doc__ or "")
    if not fields_of(kind):
        return text
    section = ["Parameters", "----------"]
    for each in fields_of(kind):
        default = "" if each.required else ", optional" if each.default is None else f", default {each.default!r}"
        section += [f"{each.name} : {each.type}{default}", f"    {each.input.help}"]
    before, heading, after = text.partition("Examples\n--------\n")
    return "\n\n".join(part for part in (before.rstrip(), "\n".join(section), f"{heading}{after}") if part)


def _type_words(hint: Any) -> str:
    """A type as documentation names it."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "{" + ", ".join(f'"{choice}"' for choice in parts) + "}"
    if origin in (Union, UnionType):
        return " or ".join(_type_words(part) for part in parts if part is not NoneType)
    if origin is Sequence:
        of = "" if parts[0] is Any else f" of {_type_words(parts[0])}"
        return f"sequence{of}"
    if origin is Mapping:
        return "mapping"
    return "PureDP or ZCDP" if hint is Cost else "object" if hint is Any else str(hint.__name__)


def _text(text: str, name: str) -> str:
    if not 0 < len(text) <= _LONGEST_TEXT:
        raise InvalidParameter(f"{name} must be a text of 1 to {_LONGEST_TEXT:,} characters, got {len(text):,}")
    return text


def _number(text: str, name: str) -> float:
    try:
        if len(text) > _LONGEST_NUMBER:
            raise ValueError
        return float(text)
    except ValueError:
        raise InvalidParameter(f"{name} must be a number, got {text[:_LONGEST_NUMBER]!r}") from None


def _fraction(text: str, name: str) -> float:
    above, slash, below = text.partition("/")
    try:
        if len(text) > _LONGEST_NUMBER:
            raise ValueError
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        shown = text[:_LONGEST_NUMBER]
        raise InvalidParameter(f"{name} must be numbers separated by commas, got {shown!r}") from None
    return int(value) if value.is_integer() else value


def _categories(text: str, column: Any, place: Place) -> list[Any]:
    kind = place.schema[column].kind if place.schema is not None and column in place.schema else "text"
    try:
        return list(parse_categories(text.strip().rstrip(","), kind))
    except InvalidParameter as error:
        raise InvalidParameter(str(error).replace("categories", place.name, 1)) from None


def _listed(values: Sequence[Any]) -> str:
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return json.dumps(texts) if any("," in text for text in texts) else ",".join(texts)


Expression = Annotated[
    str | Mapping[str, Any],
    ExpressionInput(
        label="About each row",
        help="A row expression: a number such as `income`, or a condition such as `age < 30`. A condition counts as 1 "
        "in rows where it is true and as 0 in other rows.",
        argument=True,
    ),
]
Guess = Annotated[
    float,
    NumberInput(
        label="Your guess of the mean",
        help="Your guess of the mean (for a condition, of the proportion of rows for which it is true). It must not "
        "be computed from these rows.",
        placeholder="0.25",
    ),
]
Tolerance = Annotated[
    float | None,
    NumberInput(
        label="Tolerance",
        help="A guess that passes is certified to be within this distance of the population value (default: 2.5 "
        "half-widths of the interval).",
        above=0,
    ),
]
Show = Annotated[
    Literal["value", "bit"],
    ChoiceInput(
        label="If the guess fails, show",
        help="What is shown if the guess fails: value (a corrected value), or bit (only that the guess failed, which "
        "widens later intervals less).",
        choices={"value": "a corrected value", "bit": "nothing else: cheaper for later questions"},
    ),
]
WEIGHT = Group(
    "How sure you are",
    "If you say what to expect, from other rows, then an answer that comes out as expected hardly widens later "
    "intervals.",
)
GuessRows = Annotated[
    int | None,
    NumberInput(
        label="Rows that the guess is from",
        help="The number of rows from which you computed the guess, for example the number of your validation rows. "
        "The guard estimates from it how likely the guess is to fail.",
        group=WEIGHT,
        above=0,
    ),
]
WrongSide = Annotated[
    Literal["both", "below", "above"],
    ChoiceInput(
        label="If the guess is wrong, the truth is",
        help="The side of the guess on which you expect the population value if the guess is wrong: below (for a "
        "score that may be too optimistic), above, or both (the default, either side).",
        choices={"both": "on either side", "below": "below it", "above": "above it"},
        group=WEIGHT,
    ),
]
Risk = Annotated[
    float | None,
    NumberInput(
        label="Chance that it fails",
        help="Your estimate, from other rows, of the probability that this question fails: that the guess does not "
        "pass, or that the claim is not certified (default: a forecast that the policy implies).",
        group=WEIGHT,
        at_least=0,
    ),
]
Stake = Annotated[
    float | None,
    NumberInput(
        label="Part of the error budget",
        help="The part (0 to 1) of the failure probability, 1 - confidence, that this question uses instead of its "
        "usual part. It is at most the part that is left for questions before the final. A larger part makes this "
        "interval narrower and leaves less for later questions.",
        group=WEIGHT,
        above=0,
    ),
]
Low = Annotated[
    float | None,
    NumberInput(
        label="Lowest",
        help="The smallest value that the expression is declared to have. Smaller values are clipped to it.",
        group=RANGE,
    ),
]
High = Annotated[
    float | None,
    NumberInput(
        label="Highest",
        help="The largest value that the expression is declared to have. Larger values are clipped to it.",
        group=RANGE,
    ),
]
Default = Annotated[
    float | None,
    NumberInput(
        label="Count them as",
        help="The value that is used for rows where the expression is null (missing); for a condition, 0 or 1. It "
        "must be given if the expression can be null, unless rows with null are left out.",
        group=NULLS,
    ),
]
WherePresent = Annotated[
    bool,
    FlagInput(
        label="Leave them out: the answer is about the rows that have a value",
        help="Leave out the rows where the expression is null (missing). The answer is then about the other rows only.",
        group=NULLS,
    ),
]
Where = Annotated[
    str | Mapping[str, Any] | None,
    ExpressionInput(
        label="Only among rows where",
        help="A condition on rows, such as age < 40. Only rows that meet it are counted, and the answer is about "
        "these rows.",
        placeholder="age < 40",
    ),
]
Spend = Annotated[
    Cost | None,
    CostInput(
        label="Privacy to spend",
        help="The privacy cost of this answer: pure-dp:EPSILON or zcdp:RHO (default: the cost that the guard's "
        "policy sets).",
        metavar="COST",
    ),
]
