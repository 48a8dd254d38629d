"""What an audit speaks about: rules on rows, the statement that is predicted, and the columns that a predictor sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.table import Table, missing, missing_column
from holdfast.data.expressions import parse, tree
from holdfast.errors import InvalidParameter

# --- Rules ------------------------------------------------------------------------------------------------------------
# Rules: conditions on rows in the expression language of `holdfast.data`, such as `sex = 'f' and age >= 65`.
#
# A row follows a rule where the condition is true; where it is NULL, because a value is missing, the row does not.

_VALUE = r"""('[^']*'|"[^"]*"|[^\s(){},=<>!]+)"""
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def parsed(what: str, rule: Any) -> tree.Node:
    """Parse a rule. `what` names it in errors.

    Examples
    --------
    >>> parsed("group 'young'", "age < 30")
    Comparison(sign='<', left=Name(column='age'), right=Number(value=30.0))
    >>> parsed("group 'unknown'", "sex is missing")
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: group 'unknown': write sex is null in place of sex is missing; rules are ...
    """
    try:
        return parse(rule)
    except InvalidParameter as error:
        raise _respelt(what, rule, None) or InvalidParameter(f"{what}: {error}") from None


def evaluated(what: str, rule: str, table: Table) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Evaluate a rule on a table: for which rows it is true, and for which it is NULL.

    Examples
    --------
    >>> people = Table.of({"sex": ["f", "m", None], "age": [70, 30, 20]})
    >>> true, null = evaluated("group 'women'", "sex = 'f'", people)
    >>> true.tolist(), null.tolist()
    ([True, False, False], [False, False, True])
    >>> evaluated("group 'women'", "sex = f", people)
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: group 'women': write sex = 'f' in place of sex = f; rules are expressions of ...
    """
    node = parsed(what, rule)
    absent = [name for name in columns_of(node) if name not in table]
    try:
        if absent:
            raise missing_column(absent[0], table.names)
        return table.where(node)
    except InvalidParameter as error:
        raise _respelt(what, rule, table) or InvalidParameter(f"{what}: {error}") from None


def decided(what: str, rule: str, table: Table) -> NDArray[np.bool_]:
    """For which rows a rule is true; refused where it is neither true nor false of a row, because a value is missing.

    Examples
    --------
    >>> people = Table.of({"age": [70, 30, None]})
    >>> decided("group 'old'", "age > 60 and age is not null", people).tolist()
    [True, False, False]
    >>> decided("group 'old'", "age > 60", people)
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: group 'old': age > 60 is neither true nor false where age is missing, as in 1 row;
    to count such rows as false, write (age > 60) and age is not null; to count them as true, write (age > 60) or age is
    null
    """
    true, null = evaluated(what, rule, table)
    if null.any():
        names = columns_of(parsed(what, rule))
        gone = [name for name in names if missing(table[name]).any()] or list(names)
        count = int(null.sum())
        present = " and ".join(f"{name} is not null" for name in gone)
        absent = " or ".join(f"{name} is null" for name in gone)
        raise InvalidParameter(
            f"{what}: {rule} is neither true nor false where {' or '.join(gone)} is missing, as in {count} "
            f"row{'s' if count > 1 else ''}; to count such rows as false, write ({rule}) and {present}; to count them "
            f"as true, write ({rule}) or {absent}"
        )
    return true


def columns_of(node: tree.Node) -> tuple[str, ...]:
    """Return the names of the columns that a rule reads, in alphabetical order.

    Examples
    --------
    >>> columns_of(parse("age < 30 or pay > age"))
    ('age', 'pay')
    """
    return tuple(sorted({part.column for part in tree.walk(node) if isinstance(part, tree.Name)}))


def _respelt(what: str, rule: Any, table: Table | None) -> InvalidParameter | None:
    """The error that shows how to spell the rule, if another spelling makes it an expression about this table."""
    if not isinstance(rule, str):
        return None
    new = _in_expression_language(rule, table)
    try:
        node = parse(new)
        if table is not None:
            table.where(node)
    except InvalidParameter:
        return None
    return InvalidParameter(
        f"{what}: write {new} in place of {rule}; rules are expressions of holdfast.data, as in a guard's questions"
    )


def _in_expression_language(rule: str, table: Table | None) -> str:
    """Spell `sex == F`, `age in 18..25`, `town in {A, B}`, `pay is missing` and `code = 1` of a text as expressions."""
    rule = re.sub(r"\bis\s+missing\b", "is null", rule)
    rule = re.sub(r"\bis\s+present\b", "is not null", rule)
    rule = re.sub(r"\bin\s+(-?[\d.]*\d)\.\.(-?\d[\d.]*)", r"between \1 and \2", rule)
    rule = re.sub(
        r"\bin\s*\{([^{}]*)\}", lambda m: f"in ({', '.join(_literal(v.strip()) for v in m[1].split(','))})", rule
    )

    def compared(match: re.Match[str]) -> str:
        column, sign, value = match[1], {"==": "=", "!=": "<>"}.get(match[2], match[2]), match[3]
        known = value.lower() in ("true", "false") or (table is not None and value in table)
        text = table is not None and table.is_text(column.strip(chr(34)))
        return f"{column} {sign} {value if known else _literal(value, text)}"

    return re.sub(rf"""([A-Za-z_]\w*|"[^"]*")\s*(==|!=|<>|=)\s*{_VALUE}""", compared, rule)


def _literal(value: str, text: bool = False) -> str:
    plain = _NUMBER.fullmatch(value) and not text
    return value if plain or value.startswith("'") else f"'{value.strip(chr(34))}'"


# --- Target -----------------------------------------------------------------------------------------------------------
# What a predictor speaks about: a yes-or-no statement about a person, and to whom it applies.

_COMPARED = re.compile(r"(?<=\w)\s*(<>|<=|>=|=|<|>)\s*")


@dataclass(frozen=True)
class Target:
    """The statement that an audit's learners predict: a condition on one column, such as `"ill = 1"` or `"income >=
    50000"`.

    Rows for which `not_applicable` is true are left out of the audit before the split. They are never a third label. If
    the statement is NULL for some rows because the value is missing, say what that means with `where_present` or
    `null_as`.

    Parameters
    ----------
    statement : str
        A condition on one column, in the language of docs/expressions.md.
    not_applicable : str, optional
        A condition on the same column: the statement does not apply to the rows for which it is true.
    where_present : bool
        Leave out the rows without a value too.
    null_as : bool, optional
        Whether the statement counts as true or as false of the rows without a value.

    Notes
    -----
    Coding rows that are not applicable as a number is what inflates the whole-population figure of the paper's
    section 5 (erratum E18 of the coherence specification).

    Examples
    --------
    >>> ill = Target("ill = '1'", not_applicable="ill = 'N'", where_present=True)
    >>> rows = Table.of({"ill": ["1", "2", "N", None]})
    >>> ill.applies(rows).tolist(), ill.truth(rows).tolist()
    ([True, True, False, False], [True, False, False, False])
    >>> Target("ill = yes")
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: target must be a condition on one column, ...; write ill = 'yes' for a text
    """

    statement: str
    not_applicable: str | None = None
    where_present: bool = False
    null_as: bool | None = None
    column: str = field(init=False)

    def __post_init__(self) -> None:
        if self.null_as not in (None, True, False) or not isinstance(self.where_present, bool):
            raise InvalidParameter("null_as must be True, False or left out, and where_present must be True or False")
        if self.where_present and self.null_as is not None:
            raise InvalidParameter(
                "null_as and where_present must not both be given: either rows with missing values are counted, or "
                "they are left out"
            )
        columns = columns_of(parsed("target", self.statement))
        if len(columns) != 1:
            named = f"names {' and '.join(columns)}" if columns else "names none"
            quoted = _in_expression_language(self.statement, None)
            if len(columns) > 1 and len(columns_of(parsed("target", quoted))) == 1:
                named += f"; write {quoted} for a text"
            raise InvalidParameter(
                "target must be a condition on one column, such as ill = 1 or income = 'high', and "
                f"{self.statement!r} {named}"
            )
        object.__setattr__(self, "column", columns[0])
        if self.not_applicable is not None:
            other = columns_of(parsed("not_applicable", self.not_applicable))
            if other != columns:
                raise InvalidParameter(
                    f"not_applicable must be a condition on the target's column, such as {self.column} = -1, got "
                    f"{self.not_applicable!r}"
                )

    @property
    def name(self) -> str:
        """The statement as it was written, with spaces around the comparison sign."""
        return " ".join(_COMPARED.sub(r" \1 ", self.statement, count=1).split())

    def groups(self) -> dict[str, Callable[[Table], NDArray[np.bool_]]]:
        """The two groups that the target itself defines: the rows for which the statement is true, and those for which
        it is false.
        """
        return {self.name: self.truth, f"not {self.name}": lambda table: self.applies(table) & ~self.truth(table)}

    def applies(self, table: Table) -> NDArray[np.bool_]:
        """Return a mask of the rows to which the statement applies."""
        out = np.zeros(table.rows, dtype=bool) if self.null_as is not None else self._null(table)
        if self.not_applicable is not None:
            out = out | evaluated("not_applicable", self.not_applicable, table)[0]
        return ~out

    def truth(self, table: Table) -> NDArray[np.bool_]:
        """Return a mask of the rows for which the statement is true."""
        true, null = evaluated("target", self.statement, table)
        return (true | null if self.null_as else true) & self.applies(table)

    def check_said(self, table: Table, rows: NDArray[np.int64]) -> None:
        """Raise an error if the target's column has missing values among these rows and nothing says what they mean."""
        if self.where_present or self.null_as is not None or not self._null(table)[rows].any():
            return
        raise InvalidParameter(
            f"target column {self.column!r} has missing values; say what they mean: where_present=True (leave those "
            "rows out), null_as=True (the statement counts as true of them) or null_as=False (as false)"
        )

    def _null(self, table: Table) -> NDArray[np.bool_]:
        return evaluated("target", self.statement, table)[1]


# --- Lenses -----------------------------------------------------------------------------------------------------------
# Lenses: which columns a predictor sees when it predicts.


@dataclass(frozen=True)
class Lens:
    """A named set of columns: those that a predictor sees (Definition D3 of the coherence specification).

    A lens limits only what is seen when predictions are made. The curator may use every column, and the learner may use
    everything in the report.

    Examples
    --------
    >>> Lens("street", ("sex", "age"))
    Lens(name='street', columns=('sex', 'age'))
    """

    name: str
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        columns = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        if not columns or not all(isinstance(c, str) and c for c in columns) or len(set(columns)) != len(columns):
            raise InvalidParameter(f"lens {self.name!r} must name at least one column, and no column twice")
        object.__setattr__(self, "columns", columns)


Lenses = Lens | Sequence[Lens] | Mapping[str, Iterable[str]] | Sequence[str] | None
"""One lens, several, a mapping of names to columns, or a list of columns (one lens); None for all but the target."""


def family(lenses: Any, table: Table, target: str | None = None) -> tuple[Lens, ...]:
    """Return the lenses of an audit, each checked against the columns of the table.

    Examples
    --------
    >>> people = Table.of({"sex": [1, 2], "age": [30, 41], "ill": [0, 1]})
    >>> [lens.columns for lens in family(None, people, "ill")]
    [('sex', 'age')]
    >>> [lens.name for lens in family({"sex": ["sex"], "both": ["sex", "age"]}, people)]
    ['sex', 'both']
    """
    if lenses is None:
        chosen = [Lens("everything but the target" if target else "everything", _all_but(table, target))]
    elif isinstance(lenses, Lens):
        chosen = [lenses]
    elif isinstance(lenses, Mapping):
        chosen = [Lens(str(name), tuple([c] if isinstance(c, str) else c)) for name, c in lenses.items()]
    elif isinstance(lenses, Sequence) and not isinstance(lenses, str) and len(lenses):
        if all(isinstance(lens, Lens) for lens in lenses):
            chosen = list(lenses)
        elif all(isinstance(lens, str) for lens in lenses):
            chosen = [Lens(", ".join(lenses), tuple(lenses))]
        else:
            raise InvalidParameter("lenses must be all Lens objects or all column names, not a mixture")
    else:
        raise InvalidParameter("lenses must be a Lens, a list of lenses or columns, or a mapping of names to columns")
    if len({lens.name for lens in chosen}) != len(chosen):
        raise InvalidParameter("lenses must have distinct names")
    for lens in chosen:
        for column in lens.columns:
            if column not in table:
                raise InvalidParameter(
                    f"lens {lens.name!r} names column {column!r}, which is not in the table ({', '.join(table.names)})"
                )
            if column == target:
                raise InvalidParameter(
                    f"lens {lens.name!r} must not show the target column {column!r}, which is to be predicted"
                )
    return tuple(chosen)


def path(columns: Sequence[str]) -> tuple[Lens, ...]:
    """Lenses that open one column at a time, in the order given, to see which column opens the leak.

    Examples
    --------
    >>> [lens.name for lens in path(["sex", "age"])]
    ['sex', 'sex + age']
    """
    return tuple(Lens(" + ".join(columns[: i + 1]), tuple(columns[: i + 1])) for i in range(len(columns)))


def subsets(columns: Sequence[str], size: int) -> tuple[Lens, ...]:
    """Return every lens of exactly `size` of the columns.

    Examples
    --------
    >>> [lens.columns for lens in subsets(["a", "b", "c"], 2)]
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    from itertools import combinations

    return tuple(Lens(" + ".join(chosen), chosen) for chosen in combinations(columns, size))


def _all_but(table: Table, target: str | None) -> tuple[str, ...]:
    return tuple(name for name in table.names if name != target)
