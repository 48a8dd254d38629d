"""Questions in SQL: a statement is read into the guard's own kinds of question, and never reaches an engine.

sqlglot reads the text into a tree. From the tree only these parts are taken: the list that is selected, one table, a
condition, columns to group by, an order and a limit; anything else is refused, with the reason and the nearest question
that can be asked. Conditions and values are written out again and read by the row language (`holdfast.data`), which has
an allow-list of its own. Ranges and categories are those that the policy declares (`Policy.columns`), so a statement
needs no hints. What a statement means:

| SQL | question |
|---|---|
| `avg(x)` | `mean` among the rows with a value that meet the `where`; a `table` with `group by` |
| `count(*)`, `count(x)` | the share of such rows times the number of rows; a `table` of shares with `group by` |
| `sum(x)` | `mean` of `x`, which is 0 in all other rows, times the number of rows |
| `median(x)`, `quantile(x, q)`, `percentile_cont(q) within group (order by x)` | `quantile`; a `table` by groups |
| `corr(x, y)` | `correlation` |

All questions of a statement are asked together: one reading of the rows, and all of them or none. Nothing here depends
on rows: what is refused is refused by the statement, the schema and the policy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.numerics.exact import decimal_fraction, float_up
from holdfast.core.extras import named_extras
from holdfast.data.expressions import expression, python_rows
from holdfast.data.expressions.parsing import WORD, WORDS
from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, InvalidParameter, QuestionRefused
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.columns import bounds_of, only_value
from holdfast.guard.estimates import Estimate
from holdfast.guard.questions.base import Question
from holdfast.guard.questions.correlation import Correlation
from holdfast.guard.questions.groups import Groups, groups_of
from holdfast.guard.questions.mean import Mean
from holdfast.guard.questions.quantile import Quantile
from holdfast.guard.questions.table import Table
from holdfast.guard.questions.words import plain_words
from holdfast.guard.sql_words import is_unclear, row_words

if TYPE_CHECKING:
    from sqlglot import exp

    from holdfast.guard.policy import Policy

LONGEST = 20_000
"""Characters of a statement at most."""
_MOST_NESTED = 40
_MOST_OUTPUTS = 50
_SPENT = "; nothing was spent"
_EXAMPLE = "`select sex, avg(income), count(*) from people where age between 20 and 30 group by sex`"
Shown = Literal["group", "value", "count", "total", "rows"]


# --- What a statement asks --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    """One column of the result: what it is called, and where its numbers come from.

    `shown` is "group" for a column that the rows are grouped by, whose place is `at`; "value" for what question `at`
    answers; "count" for how many rows that is about; "total" for the mean of all rows times their number; "rows" for
    the number of rows of the sample, which is public.
    """

    name: str
    shown: Shown
    at: int = 0


@dataclass(frozen=True)
class Statement:
    """A statement as questions, and how a table is made of their answers.

    Examples
    --------
    >>> from holdfast.guard import Policy
    >>> one = PureDP(1.0)
    >>> policy = Policy(questions=9, privacy=one, spend=one, columns={"income": {"low": 0, "high": 100}})
    >>> schema = Schema({"income": "number not null", "age": "integer not null"})
    >>> made = compile_sql("select avg(income) from people where age < 40", schema, policy, 1000)
    >>> made.questions[0]["kind"], made.questions[0]["where"]
    ('mean', 'age < 40')
    """

    text: str
    outputs: tuple[Output, ...]
    questions: tuple[dict[str, Any], ...]
    groups: Groups | None
    n: int
    order: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None
    note: str = ""

    def totals(self, estimates: Sequence[Estimate]) -> list[float | None]:
        """Return how wide what each question gives is as a number of rows or a sum; None where it is shown as neither.

        The shares of a table are not: its estimate is that of its means.
        """
        times = {output.at for output in self.outputs if output.shown in ("count", "total") and self.groups is None}
        return [
            None if at not in times or one.half_width is None else one.half_width * self.n
            for at, one in enumerate(estimates)
        ]


@dataclass(frozen=True)
class SqlAnswer:
    """The table that a statement gave.

    Attributes
    ----------
    columns : tuple of str
        The columns that were selected.
    rows : list of dict
        A value for each column; None where a group has too few rows to be reported.
    intervals : list of dict
        For each row and each column that is a number, the interval about the population.
    about_rows : list of dict
        The same about these rows alone, seen through the noise, where an answer has it.
    answers : list of GuardedAnswer
        The answers that the table is made of.
    note : str
        Which rows are in no group; empty where there are none. It follows from the schema and the declarations.
    """

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    intervals: list[dict[str, Any]]
    about_rows: list[dict[str, Any]]
    answers: Sequence[GuardedAnswer] = field(repr=False)
    note: str = ""

    @property
    def cost(self) -> Cost | None:
        """What the statement cost in all; None where nothing was spent on privacy."""
        return total_cost([answer.cost for answer in self.answers if not answer.repeated])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        cost = self.cost
        return {
            "columns": list(self.columns),
            "rows": self.rows,
            "intervals": self.intervals,
            "about_rows": self.about_rows,
            "note": self.note,
            "cost": None if cost is None else cost.to_dict(),
            "answers": [answer.to_dict() for answer in self.answers],
        }

    def __str__(self) -> str:
        lines = [" | ".join(self.columns)]
        for row, ends, about in zip(self.rows, self.intervals, self.about_rows, strict=True):
            cells = (cell_words(row[name], ends.get(name), about.get(name)) for name in self.columns)
            lines.append(" | ".join(cells))
        return "\n".join([*lines, *([self.note] if self.note else [])])


@dataclass(frozen=True)
class SqlEstimate:
    """What a statement would cost, before it is asked. Nothing was spent.

    Attributes
    ----------
    questions : list of dict
        The questions that the statement asks.
    estimates : list of Estimate
        What each of them would cost and how wide it would be, if it were asked next.
    admitted : bool
        Whether all of them would be let in together.
    reason : str
        Why not, in plain words.
    totals : list of float or None
        For each question that is shown as a number of rows or as a sum, half of the width of that; else None.
    """

    questions: list[dict[str, Any]]
    estimates: list[Estimate]
    admitted: bool
    reason: str = ""
    totals: list[float | None] = field(default_factory=list)

    @property
    def cost(self) -> Cost | None:
        """What the whole statement would cost."""
        return total_cost([one.cost for one in self.estimates if not one.repeated])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        cost = self.cost
        return {
            "questions": self.questions,
            "estimates": [one.to_dict() for one in self.estimates],
            "admitted": self.admitted,
            "reason": self.reason,
            "totals": self.totals,
            "cost": None if cost is None else cost.to_dict(),
        }

    def __str__(self) -> str:
        if not self.admitted:
            return f"refused: {self.reason}"
        price = "nothing" if self.cost is None else str(self.cost)
        many = len(self.questions)
        lines = [f"{many} question{'' if many == 1 else 's'}, cost {price}"]
        totals = self.totals or [None] * many
        for question, one, total in zip(self.questions, self.estimates, totals, strict=True):
            width = "its width depends on the rows" if one.half_width is None else f"within {one.half_width:.3g}"
            width += "" if total is None else f", and in all rows within {total:.6g}"
            lines.append(f"  {plain_words(question)}: {'asked before, free' if one.repeated else width}")
        return "\n".join(lines)


def total_cost(costs: Sequence[Cost | None]) -> Cost | None:
    """Return the sum of the costs of questions that are asked together.

    Examples
    --------
    >>> total_cost([PureDP(0.1), None, PureDP(0.2)])
    PureDP(epsilon=0.3)
    """
    paid = [cost for cost in costs if cost is not None]
    if not paid:
        return None
    if all(isinstance(cost, ZCDP) for cost in paid):
        return ZCDP(_sum(cost.rho for cost in paid if isinstance(cost, ZCDP)))
    if all(isinstance(cost, PureDP) for cost in paid):
        return PureDP(_sum(cost.epsilon for cost in paid if isinstance(cost, PureDP)))
    return None


def _sum(amounts: Iterable[float]) -> float:
    return float_up(sum(map(decimal_fraction, amounts), Fraction(0)))


# --- From text to questions -------------------------------------------------------------------------------------------


@named_extras()
def compile_sql(text: Any, schema: Schema, policy: Policy, n: int, spend: Any = None) -> Statement:
    """Read a statement into questions. It depends on the text, the schema and the policy, and on no row.

    Parameters
    ----------
    text : str
        One `select` statement.
    schema : Schema
        The columns there are.
    policy : Policy
        What may be asked, and what is declared about columns.
    n : int
        The number of rows, public.
    spend : PureDP or ZCDP, optional
        What each question may cost; the policy's `spend` if not given.

    Raises
    ------
    InvalidParameter
        What is no such statement, or asks what no question can: with the reason and the nearest question that can be
        asked.
    """
    select = _parsed(text)
    try:
        return _Compiler(select, schema, policy, n, spend).statement(text)
    except RecursionError:
        raise _unreadable() from None


def _parsed(text: Any) -> exp.Select:
    from sqlglot import Dialect, exp
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(f"statement must be a text such as {_EXAMPLE}{_SPENT}")
    if len(text) > LONGEST:
        raise InvalidParameter(f"statement must have at most {LONGEST:,} characters, got {len(text):,}{_SPENT}")
    if _nesting(text) > _MOST_NESTED:
        raise InvalidParameter(f"statement must have brackets that are nested at most {_MOST_NESTED} deep{_SPENT}")
    dialect = Dialect.get_or_raise(None)
    try:
        tokens = dialect.tokenize(text)
    except (SqlglotError, ValueError):
        raise _unreadable(text) from None
    _check_beginning(tokens)
    try:
        statements = [one for one in dialect.parser().parse(tokens, text) if one is not None]
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, IndexError, KeyError):
        raise _unreadable(text) from None  # sqlglot raises all of these for texts that are no SQL
    if len(statements) != 1:
        raise InvalidParameter(f"statement must be one select statement, got {len(statements)}{_SPENT}")
    statement = statements[0]
    if isinstance(statement, (exp.Union, exp.Except, exp.Intersect)):
        raise _refused(
            "a statement with union, except or intersect is not answered", "one select statement for each part"
        )
    if not isinstance(statement, exp.Select):
        raise InvalidParameter(
            f"statement must be a select, such as {_EXAMPLE}; other statements are not carried out{_SPENT}"
        )
    return statement


def _check_beginning(tokens: Sequence[Any]) -> None:
    """Refuse what is not one select, before sqlglot would log it as a command that it does not know."""
    kinds = [token.token_type.name for token in tokens]
    several = any(kind == "SEMICOLON" and after != "SEMICOLON" for kind, after in pairwise(kinds))
    if several:
        raise InvalidParameter(f"statement must be one select statement, got several; ask them one by one{_SPENT}")
    word = tokens[0].text.lower()[:40] if tokens else ""
    if word in ("explain", "describe", "desc"):
        raise InvalidParameter(
            f"statement must begin with select, got {word}; to see the cost of a statement before asking it, use "
            f"`explain(statement)` of the guard, `holdfast sql --explain`, or the button of the web page{_SPENT}"
        )
    if not kinds or kinds[0] not in ("SELECT", "WITH", "L_PAREN", "FROM"):
        raise InvalidParameter(
            f"statement must be a select, such as {_EXAMPLE}; other statements are not carried out{_SPENT}"
        )


def _nesting(text: str) -> int:
    """The deepest brackets, and the longest run of signs that nest without brackets."""
    depth = deepest = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
    runs = re.findall(r"(?:\b(?:not|case|when)\b[\s(]*|[-+~]\s*){8,}", text, re.IGNORECASE)
    return max([deepest, *(len(re.findall(r"not|case|when|[-+~]", run, re.IGNORECASE)) for run in runs)])


_FOREIGN = (
    (r"`|\[\s*[a-z_]", 'a name that is no plain word is written in double quotes, such as "Hours Worked"'),
    (r"\bselect\s+top\b", "`limit 3` after the statement gives the first groups, in the order of `order by`"),
    (r"\d_\d", "a number has no underscores, as 50000"),
    (r"\bxor\b", "one of two conditions and not both is a <> b"),
    (r"~|\b(regexp|rlike|similar)\b", "texts are compared with a pattern such as s like 'a%'"),
)
"""What other dialects write: where a statement has it and does not read as one, this is said."""


def _unreadable(text: str = "") -> InvalidParameter:
    hint = next((said for form, said in _FOREIGN if re.search(form, text, re.IGNORECASE)), f"{_EXAMPLE} does")
    return InvalidParameter(f"statement must be one SQL select, and this does not read as one; {hint}{_SPENT}")


def _refused(reason: str, nearest: str) -> InvalidParameter:
    """An error that says why, and what can be asked instead."""
    return InvalidParameter(f"statement must be answerable: {reason}; nearest: {nearest}{_SPENT}")


def _shown(node: exp.Expr) -> str:
    """A part of a statement as it is named in a result or in an error."""
    from sqlglot.errors import ErrorLevel

    return str(node.sql(comments=False, normalize_functions="lower", unsupported_level=ErrorLevel.IGNORE))[:100]


_QUOTED = re.compile(r"""('(?:[^']|'')*'?|"(?:[^"]|"")*"?)""")


def _is_category(name: str, category: Any) -> str:
    """The condition that a column has a declared category, as it is written in a statement.

    Examples
    --------
    >>> _is_category("town", "St John's"), _is_category("member", False), _is_category("arm", 3)
    ("town = 'St John''s'", 'not member', 'arm = 3')
    """
    if isinstance(category, bool):
        return name if category else f"not {name}"
    return f"{name} = " + ("'" + category.replace("'", "''") + "'" if isinstance(category, str) else str(category))


def _called(node: exp.Expr) -> str:
    """What a column is called that has no alias: small letters, but for texts and names in quotes."""
    parts = _QUOTED.split(_shown(node))
    return "".join(part if at % 2 else part.lower() for at, part in enumerate(parts))


def _alone(item: exp.Expr, ratio: bool) -> str:
    """An aggregate inside a larger expression, as one that can be asked by itself; a sum in a ratio as an average."""
    from sqlglot import exp

    return f"avg({_shown(item.this)})" if ratio and isinstance(item, exp.Sum) else _shown(item)


_TESTED = "corr(x, y), a private `test` of independence, or guard.level() for a test of your own on the rows"
_OTHERS = (
    (r"regr_|linreg|lin_reg|ols", "a regression coefficient has no interval here", _TESTED),
    (r"(mean|average)$", "the average is written avg", "avg(x)"),
    (r"mode$", "the most frequent value is no aggregate here", "count(*) by a declared column, or the question `top`"),
    (r"(survival|kaplan|hazard)", "a survival curve has no interval here", "avg(days > 365) for each length of time"),
    (
        r"(histogram|width_bucket)",
        "a histogram is a question of its own",
        "the question `histogram`, or count(*) where ...",
    ),
)
"""Aggregates by the beginning of their names: why they are not answered, and what is."""
_CLAUSES = {
    "joins": ("a guard has one table: joins are not answered", "join the tables where the data are kept"),
    "laterals": ("a guard has one table: joins are not answered", "join the tables where the data are kept"),
    "with_": ("subqueries and `with` are not answered", "one select over the guarded table"),
    "with": ("subqueries and `with` are not answered", "one select over the guarded table"),
    "having": (
        "`having` hides groups by their values, which is a further question",
        "the same select without `having`; small groups are named by themselves",
    ),
    "distinct": (
        "a guard never shows single rows, so `distinct` has no meaning",
        "count(*) by a column with `group by`",
    ),
    "windows": ("a statement with window functions is not answered", "an aggregate with `group by`"),
    "qualify": ("a statement with window functions is not answered", "an aggregate with `group by`"),
    "offset": ("`offset` is not answered", "`limit` alone, or the whole table"),
}
_KEPT = {"expressions", "from_", "from", "where", "group", "order", "limit", "kind", "hint", "operation_modifiers"}


class _Compiler:
    """Turns the tree of one statement into questions."""

    def __init__(self, select: exp.Select, schema: Schema, policy: Policy, n: int, spend: Any) -> None:
        self._select, self._schema, self._policy, self._n, self._spend = select, schema, policy, n, spend
        self._questions: list[dict[str, Any]] = []
        self._table_names: set[str] = set()
        self._written: dict[str, str] = {}
        """What each selected column is called, and what it is made of, as it was written."""

    def statement(self, text: str) -> Statement:
        from sqlglot import exp

        select = self._select
        for name, value in select.args.items():
            if value and name in _CLAUSES:
                raise _refused(*_CLAUSES[name])
            if value and name not in _KEPT:
                raise _refused(f"a statement with `{name.strip('_')}` is not answered", _EXAMPLE)
        if any(select.args.get(name) for name in ("kind", "hint", "operation_modifiers")):
            raise _unreadable()
        self._check_table()
        if any(
            isinstance(part, (exp.Subquery, exp.Select, exp.Exists)) for part in select.walk() if part is not select
        ):
            raise _refused("a statement with subqueries is not answered", "one select over the guarded table")
        if any(isinstance(part, exp.Window) for part in select.walk()):
            raise _refused("a statement with window functions is not answered", "an aggregate with `group by`")
        where = select.args.get("where")
        self._where = None if where is None else self._condition(where.this)
        by = self._by()
        self._groups = groups_of(by, self._schema, self._policy.columns) if by else None
        outputs = tuple(self._outputs(by))
        if all(one.shown == "group" for one in outputs):
            raise _refused("a guard never shows single rows", "select count(*), or an average, with `group by`")
        limit = self._limit()
        order, note = tuple(self._order(outputs)), self._note()
        return Statement(text, outputs, tuple(self._questions), self._groups, self._n, order, limit, note)

    def _condition(self, node: exp.Expr) -> str | None:
        """A condition as text of the row language; None for one that every row meets, as `1 = 1` does."""
        words = self._words(node)
        parsed = self._read(words)
        if parsed.kind != "boolean":
            raise InvalidParameter(f"statement must have a condition after `where`, got a {parsed.kind}{_SPENT}")
        if parsed.columns:
            return words
        if python_rows.evaluate(parsed, {}) is not True:
            raise _refused(
                f"the condition {words[:60]!r} names no column and is not true in any row", "a condition about columns"
            )
        return None

    def _note(self) -> str:
        """Which rows are in no group: those without a value, or with one that is not declared."""
        by = () if self._groups is None else self._groups.columns
        open_ended = [name for name in by if self._schema[name].kind != "boolean" or self._schema[name].may_be_missing]
        if not open_ended:
            return ""
        missing = next((name for name in by if self._schema[name].may_be_missing), None)
        count = (
            "" if missing is None else f"; count(*) where {self._quoted(missing)} is null counts those without a value"
        )
        return f"Rows without a declared value of {' or '.join(open_ended)} are in no group{count}."

    @staticmethod
    def _quoted(name: str) -> str:
        return name if WORD.match(name) and name.lower() not in WORDS else f'"{name}"'

    def _check_table(self) -> None:
        from sqlglot import exp

        source = self._select.args.get("from_") or self._select.args.get("from")
        if source is None:
            raise _refused("there is no table", "select ... from the guarded table")
        table = source.this
        if isinstance(table, (exp.Subquery, exp.Select)):
            raise _refused("a statement with subqueries is not answered", "one select over the guarded table")
        odd = [name for name, value in table.args.items() if value and name not in ("this", "alias")]
        if "joins" in odd:
            raise _refused(*_CLAUSES["joins"])
        if "sample" in odd:
            raise _refused(
                "a statement with `tablesample` is not answered, because a guard answers about all of its rows",
                "the table alone",
            )
        alias = table.args.get("alias") if isinstance(table, exp.Table) else None
        renamed = alias is not None and alias.args.get("columns")
        if renamed or not isinstance(table, exp.Table) or odd or not isinstance(table.this, exp.Identifier):
            named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
            name = self._quoted(table.name) if named else "people"
            raise _refused("the table after `from` must be a plain name", f"select ... from {name[:60]}")
        self._table_names = {table.name, table.alias} - {""}

    def _by(self) -> list[str]:
        from sqlglot import exp

        group = self._select.args.get("group")
        if group is None:
            return []
        if any(value for name, value in group.args.items() if name != "expressions"):
            raise _refused(
                "a statement with rollup, cube or grouping sets is not answered", "one statement for each `group by`"
            )
        columns: list[str] = []
        items = [item for item in self._select.expressions if isinstance(item, exp.Alias)]
        aliases = {item.alias: item.this for item in items if item.alias not in self._schema}
        for one in group.expressions:
            if isinstance(one, exp.Literal) and not one.is_string:
                place = int(one.this) if str(one.this).isdigit() else 0
                if not 0 < place <= len(self._select.expressions):
                    raise _refused("a number after `group by` must be the position of a selected column", "its name")
                one = self._select.expressions[place - 1]
                one = one.this if isinstance(one, exp.Alias) else one
            if isinstance(one, exp.Column) and not one.table:
                one = aliases.get(one.name, one)
            if not isinstance(one, exp.Column):
                raise _refused(
                    "`group by` takes only columns with declared categories, not computed values",
                    "a condition for each group, such as count(*) filter (where year(seen) = 2024) or avg(income) "
                    "filter (where age < 30), or a column with declared categories",
                )
            columns.append(self._column(one))
        return list(dict.fromkeys(columns))

    def _column(self, column: exp.Column) -> str:
        name = column.name
        if (
            column.args.get("db")
            or column.args.get("catalog")
            or (column.table and column.table not in self._table_names)
        ):
            raise _refused(
                f"the statement uses {column.table[:60]!r} as a table, which is not its table",
                "the name of the column alone",
            )
        alike = [known for known in self._schema.names if known.lower() == name.lower()]
        if name not in self._schema and len(alike) == 1 and not column.this.args.get("quoted"):
            return alike[0]  # names without quotes are read whatever their letters' case, as SQL reads them
        if name not in self._schema:
            near = get_close_matches(name.lower()[:60], [known.lower() for known in self._schema.names], n=1)
            hint = next((f"; there is {known!r}" for known in self._schema.names if [known.lower()] == near), "")
            hint = hint or "; a text is written in single quotes"
            known = ", ".join(map(repr, self._schema.names[:8])) + (", ..." if len(self._schema.names) > 8 else "")
            raise InvalidParameter(
                f"statement must name columns of the schema ({known}), got {name[:60]!r}{hint}{_SPENT}"
            )
        return name

    def _outputs(self, by: list[str]) -> Iterator[Output]:
        from sqlglot import exp

        items = self._select.expressions
        if not 0 < len(items) <= _MOST_OUTPUTS:
            raise InvalidParameter(f"statement must select 1 to {_MOST_OUTPUTS} columns, got {len(items)}{_SPENT}")
        named: dict[str, exp.Expr] = {}
        for item in items:
            inner = item.this if isinstance(item, exp.Alias) else item
            name = item.alias if isinstance(item, exp.Alias) else _called(inner)
            while name in named:
                name += "'"
            named[name] = inner
            self._written[name] = _called(inner)
        # Averages first: a table of means has the counts of its groups, which then cost nothing more.
        order = sorted(named, key=lambda name: isinstance(named[name], exp.Count))
        outputs = {name: self._output(name, named[name], by) for name in order}
        for name in named:
            yield outputs[name]

    def _output(self, name: str, item: exp.Expr, by: list[str]) -> Output:
        from sqlglot import exp

        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            raise _refused("a guard never shows single rows", "count(*), or an average of a column")
        if isinstance(item, exp.Column):
            column = self._column(item)
            if column not in by:
                raise _refused(
                    f"the column {column!r} is selected but not in `group by`, and a guard never shows single rows",
                    f"add `group by {column}` if its categories are declared, or avg({column})",
                )
            return Output(name, "group", by.index(column))
        where = self._where
        if isinstance(item, exp.Filter):
            given = item.expression.this if isinstance(item.expression, exp.Where) else None
            if given is None:
                raise _unreadable()
            words, item = self._condition(given), item.this
            where = words if where is None else where if words is None else f"({where}) and ({words})"
        return self._aggregate(name, item, where)

    def _aggregate(self, name: str, item: exp.Expr, where: str | None) -> Output:
        from sqlglot import exp

        if isinstance(item, exp.Count):
            return self._count(name, item, where)
        if isinstance(item, exp.Avg):
            if isinstance(item.this, exp.Distinct):
                raise _refused(
                    "an average of the distinct values needs the values of single rows, which a guard never shows",
                    f"avg({', '.join(map(_shown, item.this.expressions))[:100]}), the average over rows",
                )
            return Output(name, "value", self._average(self._words(item.this), where))
        if isinstance(item, exp.Sum):
            return Output(name, "total", self._total(item, where))
        quantile = self._quantile_of(item)
        if quantile is not None:
            return Output(name, "value", self._quantile(*quantile, where))
        if isinstance(item, exp.Corr):
            return Output(name, "value", self._correlation(item, where))
        raise self._unknown(item)

    def _unknown(self, item: exp.Expr) -> InvalidParameter:
        """Why an expression is not answered, and what is."""
        from sqlglot import exp

        inner = _shown(item.this) if isinstance(item.this, exp.Expr) else "x"
        if isinstance(item, (exp.Min, exp.Max)):
            level = 0.01 if isinstance(item, exp.Min) else 0.99
            return _refused(
                "the least and the greatest value are those of single rows",
                f"quantile({inner}, {level})",
            )
        if isinstance(item, (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)):
            return _refused("a deviation has no interval here", f"quantile({inner}, 0.25) and quantile({inner}, 0.75)")
        if isinstance(item, (exp.CovarPop, exp.CovarSamp)):
            return _refused("a covariance has no interval here", "corr(x, y)")
        if isinstance(item, (exp.ApproxDistinct, exp.CountIf)):
            nearest = "count(*) by a declared column" if isinstance(item, exp.ApproxDistinct) else "count(*) where ..."
            return _refused(f"{item.sql_name().lower()!r} is not answered", nearest)
        called = item.sql_name() if isinstance(item, exp.Func) and not isinstance(item, exp.Anonymous) else ""
        called = str(item.this) if isinstance(item, exp.Anonymous) else called
        for names, reason, nearest in _OTHERS:
            if re.match(names, called, re.IGNORECASE):
                return _refused(reason, nearest)
        if any(isinstance(item, kind) for kind in (exp.AggFunc,)):
            return _refused(
                f"{called.lower()[:60]!r} is not one of avg, count, sum, median, quantile and corr", "one of these"
            )
        aggregates = [one.parent if isinstance(one.parent, exp.Filter) else one for one in item.find_all(exp.AggFunc)]
        inside = list(dict.fromkeys(_alone(one, isinstance(item, exp.Div)) for one in aggregates))
        if isinstance(item, exp.Sub) and len(inside) > 1:
            inside.append("or the question `difference` for two groups")
        if inside:
            return _refused(
                "what is selected must be a plain aggregate, and what follows from several is worked out afterwards",
                ", ".join(inside[:4]),
            )
        if item.find(exp.Column) is not None:
            return _refused(
                "what is selected must be a grouped column or an aggregate, and a guard never shows single rows",
                f"avg({_shown(item)}), or its median",
            )
        return _refused(
            "what is selected must be a grouped column or an aggregate", "avg(...), count(*) or median(...)"
        )

    def _count(self, name: str, item: exp.Count, where: str | None) -> Output:
        from sqlglot import exp

        if isinstance(item.this, exp.Distinct):
            raise _refused(
                "the number of distinct values cannot be answered with an interval", "count(*) by a declared column"
            )
        if item.expressions:
            raise _unreadable()
        if not isinstance(item.this, exp.Star):
            words = self._words(item.this)
            if self._read(words).nullable:
                present = f"({words}) is not null"
                where = present if where is None else f"({where}) and {present}"
        if self._groups is not None:
            same = self._same_rows(where)
            return Output(
                name, "count", self._ask(Table, by=list(self._groups.columns), where=where) if same is None else same
            )
        if where is None:
            return Output(name, "rows")
        return Output(name, "count", self._ask(Mean, expression=where, default=0))

    def _same_rows(self, where: str | None) -> int | None:
        """The table of means that counts the same rows already, whose expression is never null."""
        for at, question in enumerate(self._questions):
            means = question["kind"] == "table" and "expression" in question and "q" not in question
            if means and question.get("where") == where and not self._read(question["expression"]).nullable:
                return at
        return None

    def _average(self, words: str, where: str | None) -> int:
        low, high = self._bounds(words, "avg")
        fields: dict[str, Any] = {"expression": words, "where": where, "low": low, "high": high}
        fields["where_present"] = True if self._read(words).nullable else None
        if self._groups is None:
            return self._ask(Mean, **fields)
        return self._ask(Table, by=list(self._groups.columns), **fields)

    def _total(self, item: exp.Sum, where: str | None) -> int:
        """The mean of all rows whose product with their number is a sum: rows that do not count add 0."""
        from sqlglot import exp

        if isinstance(item.this, exp.Distinct):
            raise _refused(
                "a sum of the distinct values needs the values of single rows, which a guard never shows",
                "sum(x), the sum over rows",
            )
        words = self._words(item.this)
        if self._groups is not None:
            name, value = self._groups.columns[0], self._groups.cells[0][0]
            raise _refused(
                "a table by groups can have averages and numbers of rows, but no sums",
                f"sum({words[:60]}) filter (where {_is_category(self._quoted(name), value)}) for each group, or avg "
                "and count(*) by groups",
            )
        parsed = self._read(words)
        other = "false" if parsed.kind == "boolean" else "0"
        if not parsed.columns:
            raise _refused(
                f"the expression {words[:80]!r} has the same value in every row", "count(*), whose multiple the sum is"
            )
        if parsed.nullable:
            present = f"({words}) is not null"
            where = present if where is None else f"({where}) and {present}"
        if where is not None:
            words = f"case when {where} then {words} else {other} end"
            self._read(words)
        low, high = self._bounds(words, "sum")
        return self._ask(Mean, expression=words, low=low, high=high)

    def _quantile_of(self, item: exp.Expr) -> tuple[str, float] | None:
        """The value and the level of a quantile, in any of its spellings; None for anything else."""
        from sqlglot import exp

        if isinstance(item, exp.Median):
            return self._words(item.this), 0.5
        if isinstance(item, exp.WithinGroup):
            inner, order = item.this, item.expression
            if not isinstance(inner, (exp.PercentileCont, exp.PercentileDisc)):
                raise self._unknown(inner)
            if len(order.expressions) != 1:
                raise _unreadable()
            ordered = order.expressions[0]
            level = self._level(inner.this)
            return self._words(ordered.this), round(1 - level, 12) if ordered.args.get("desc") else level
        if isinstance(item, (exp.Quantile, exp.ApproxQuantile)):
            return self._words(item.this), self._level(item.args.get("quantile"))
        if isinstance(item, (exp.PercentileCont, exp.PercentileDisc)) and item.expression is not None:
            return self._words(item.this), self._level(item.expression)
        if isinstance(item, exp.Anonymous) and str(item.this).lower() in ("quantile_cont", "quantile_disc"):
            if len(item.expressions) != 2:
                raise _unreadable()
            return self._words(item.expressions[0]), self._level(item.expressions[1])
        return None

    @staticmethod
    def _level(node: exp.Expr | None) -> float:
        from sqlglot import exp

        text = node.this if isinstance(node, exp.Literal) and not node.is_string else None
        if text is None or not re.fullmatch(r"0?\.[0-9]{1,12}", str(text)):
            raise InvalidParameter(f"statement must give the level of a quantile as a number such as 0.5{_SPENT}")
        return float(text)

    def _quantile(self, words: str, q: float, where: str | None) -> int:
        low, high = self._bounds(words, "quantile")
        fields: dict[str, Any] = {"q": q, "expression": words, "where": where, "low": low, "high": high}
        fields["where_present"] = True
        if low is None:
            raise _refused(
                "a quantile is defined for numbers, and this expression is a condition",
                "its average, which is the share of rows that meet it",
            )
        if self._groups is None:
            return self._ask(Quantile, **fields)
        return self._ask(Table, by=list(self._groups.columns), **fields)

    def _correlation(self, item: exp.Corr, where: str | None) -> int:
        if self._groups is not None:
            raise _refused(
                "a table by groups cannot have a correlation as a column", "corr(x, y) with a `where` for each group"
            )
        first, second = self._words(item.this), self._words(item.expression)
        bounds = [self._bounds(words, "corr") for words in (first, second)]
        return self._ask(
            Correlation,
            first=first,
            second=second,
            first_low=bounds[0][0],
            first_high=bounds[0][1],
            second_low=bounds[1][0],
            second_high=bounds[1][1],
            where=where,
            where_present=True if any(self._read(words).nullable for words in (first, second)) else None,
        )

    def _bounds(self, words: str, called: str) -> tuple[float, float] | tuple[None, None]:
        """The declared range of a value; none for a condition."""
        parsed = self._read(words)
        if parsed.kind == "boolean":
            return None, None
        if parsed.kind == "text":
            raise _refused(
                f"{called} is defined for numbers, and this expression is a text",
                "count(*) by the column, or the share of a condition",
            )
        only = only_value(parsed, self._policy.columns)
        if only is not None:
            raise _refused(
                f"the expression {words[:80]!r} is {only:g} in every row in which it is not null, so {called} of it "
                "is always that number",
                "`else 0` in the case, which makes its average a share of rows, or count(*) where ...",
            )
        ends = bounds_of(parsed, self._policy.columns)
        if ends is None:
            declared = [name for name, one in (self._policy.columns or {}).items() if one.bounds is not None]
            can = f"{called} of {', '.join(declared[:6])}" if declared else "the average of a condition, avg(age < 40)"
            raise _refused(
                f"no range is declared for {words[:80]!r}, and without a smallest and a largest value a single row "
                "could change the answer by any amount",
                f"clip({words[:60]}, LOW, HIGH), or {can}; owners declare ranges with Policy.columns",
            )
        return ends

    def _ask(self, kind: type[Question], **fields: Any) -> int:
        """The place of a question among those of the statement, asked once however often it is selected."""
        if self._policy.answers == "means":
            self._require_planned(kind, fields)
        elif kind.kind not in (self._policy.kinds or ()) or self._policy.privacy is None:
            raise QuestionRefused(
                "SQL statements are answered with noise, and this guard has no privacy budget for noise; instead, "
                f"check a guess of the same number, such as check('...', guess=...){_SPENT}"
            )
        plain = {"kind": kind.kind} | {name: value for name, value in fields.items() if value is not None}
        if self._spend is not None:
            plain["spend"] = self._spend.to_dict() if isinstance(self._spend, Cost) else self._spend
        Question.from_dict(plain).bind(self._schema, self._n, self._policy)
        if plain not in self._questions:
            self._questions.append(plain)
        return self._questions.index(plain)

    def _require_planned(self, kind: type[Question], fields: dict[str, Any]) -> None:
        """Refuse what a guard of means has no interval for, with the means of all rows that say the same."""
        if kind.kind not in (self._policy.kinds or ()):
            raise _refused("this guard answers only means of all rows", self._as_means(kind, fields))
        words, where = fields["expression"], fields.get("where")
        if where is None and (fields.get("default") is not None or not self._read(words).nullable):
            return
        raise _refused(
            "this guard answers only means of all rows, not means of a part of the rows",
            self._part_of_all(words, where),
        )

    def _as_means(self, kind: type[Question], fields: Mapping[str, Any]) -> str:
        """What a guard of means answers in place of a table, a quantile or a correlation."""
        where, words = fields.get("where"), fields.get("expression")
        if self._groups is not None:
            cell = zip(self._groups.columns, self._groups.cells[0], strict=True)
            parts = [_is_category(self._quoted(name), value) for name, value in cell]
            where = " and ".join(parts if where is None else [*parts, f"({where})"])
        if kind is Correlation:
            first, second = fields["first"], fields["second"]
            alternative = f"avg({first}), avg({second}) and avg(({first}) * ({second}))"
        elif words is None:
            alternative = f"count(*) where {where}"
        elif fields.get("q") is not None:
            part = "" if where is None else f"({where}) and "
            alternative = f"count(*) where {part}({words}) <= NUMBER, for a number that you name"
        else:
            alternative = self._part_of_all(words, where)
        return alternative if self._groups is None else f"{alternative}, and so on for each group"

    def _part_of_all(self, words: str, where: str | None) -> str:
        """The two means of all rows whose quotient is the mean of a part of them."""
        parsed = self._read(words)
        present = [f"({words}) is not null"] if parsed.nullable else []
        parts = present if where is None else [f"({where})" if present else where, *present]
        counted, other = " and ".join(parts), "false" if parsed.kind == "boolean" else "0"
        return f"avg(case when {counted} then {words} else {other} end), and count(*) where {counted}"

    def _read(self, words: str) -> Any:
        try:
            return expression(words, self._schema)
        except HoldfastError as error:
            raise InvalidParameter(
                f"statement must use the expressions that a guard understands: {error}{_SPENT}"
            ) from None

    def _words(self, node: exp.Expr | None) -> str:
        """A part of the statement as text of the row language, which reads it again by its own rules."""
        from sqlglot import exp

        if node is None:
            raise _unreadable()
        if any(isinstance(part, exp.IntDiv) for part in node.walk()):
            raise _refused("databases disagree on the result of dividing whole numbers", "floor(a / b)")
        if any(is_unclear(part) for part in node.walk()):
            raise _refused(
                f"databases disagree on the meaning of `is` in {_shown(node)!r}",
                "brackets, such as (a = b) is null or a = (b is null)",
            )
        copied = node.copy()
        for column in list(copied.find_all(exp.Column)):
            name = self._column(column)
            quoted = not WORD.match(name) or name.lower() in WORDS or bool(column.this.args.get("quoted"))
            column.set("table", None)
            column.set("this", exp.to_identifier(name, quoted=quoted))
        try:
            words = row_words(copied)
        except (ValueError, TypeError, AttributeError, KeyError, IndexError):
            raise _unreadable() from None
        self._read(words)
        return words

    def _order(self, outputs: tuple[Output, ...]) -> Iterator[tuple[int, bool]]:
        from sqlglot import exp

        order = self._select.args.get("order")
        for one in order.expressions if order is not None else ():
            inner = one.this if isinstance(one, exp.Ordered) else one
            descending = isinstance(one, exp.Ordered) and bool(one.args.get("desc"))
            if isinstance(inner, exp.Literal) and str(inner.this).isdigit():
                place = int(inner.this) - 1
            else:
                named = inner.name if isinstance(inner, exp.Column) and not inner.table else None
                words = _called(inner)
                called = [(output.name, self._written[output.name]) for output in outputs]
                place = next((at for at, (name, shown) in enumerate(called) if named == name or words == shown), -1)
                if place < 0:
                    place = next((at for at, (name, _) in enumerate(called) if words.lower() == name.lower()), -1)
                if place < 0 and isinstance(inner, exp.Column) and self._groups is not None:
                    column = self._column(inner)
                    groups = [one.shown == "group" and self._groups.columns[one.at] == column for one in outputs]
                    place = groups.index(True) if any(groups) else -1
            if not 0 <= place < len(outputs):
                raise _refused("`order by` must name a column that is selected", "its name, or its number")
            yield place, descending

    def _limit(self) -> int | None:
        from sqlglot import exp

        limit = self._select.args.get("limit")
        if limit is None:
            return None
        if isinstance(limit, exp.Fetch):
            options = limit.args.get("limit_options")
            if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
                raise _refused("`fetch` with `percent` or `with ties` is not answered", "`limit 3`")
            given = limit.args.get("count") or exp.Literal.number(1)
        else:
            given = None if limit.expressions else limit.expression
        text = str(given.this) if isinstance(given, exp.Literal) else ""
        if not text.isdigit() or not 0 < int(text[:9]) <= 10**6:
            raise InvalidParameter(f"statement must have a whole number after `limit`{_SPENT}")
        return int(text[:9])


# --- From answers to a table ------------------------------------------------------------------------------------------


def assemble(made: Statement, answers: Sequence[GuardedAnswer]) -> SqlAnswer:
    """Return the table that a statement asks for, from the answers to its questions."""
    labels: Sequence[str | None] = (None,) if made.groups is None else made.groups.labels
    rows, intervals, about = [], [], []
    for at, label in enumerate(labels):
        row: dict[str, Any] = {}
        ends: dict[str, Any] = {}
        near: dict[str, Any] = {}
        for output in made.outputs:
            if output.shown == "group":
                assert made.groups is not None
                row[output.name] = made.groups.cells[at][output.at]
                continue
            cells = _found(made, output, answers, label)
            row[output.name], interval, rows_interval = cells
            if interval is not None:
                ends[output.name] = interval
            if rows_interval is not None:
                near[output.name] = rows_interval
        rows.append(row)
        intervals.append(ends)
        about.append(near)
    places = list(range(len(rows)))
    for place, descending in reversed(made.order):
        name = made.outputs[place].name
        places.sort(key=_sorting(rows, name), reverse=descending)
        places.sort(key=lambda place: rows[place][name] is None)  # groups that are not reported come last either way
    places = places[: made.limit]
    columns = tuple(output.name for output in made.outputs)
    shown, ends_shown, about_shown = ([cells[i] for i in places] for cells in (rows, intervals, about))
    return SqlAnswer(columns, shown, ends_shown, about_shown, answers, made.note)


def _sorting(rows: Sequence[Mapping[str, Any]], name: str) -> Callable[[int], Any]:
    def key(place: int) -> tuple[str, float]:
        value = rows[place][name]
        return ("", float(value)) if isinstance(value, (int, float)) else (str(value), 0.0)

    return key


def _found(
    made: Statement, output: Output, answers: Sequence[GuardedAnswer], label: str | None
) -> tuple[Any, Any, Any]:
    """A number of the table, its interval about the population, and that about these rows."""
    if output.shown == "rows":
        return made.n, [made.n, made.n], [made.n, made.n]
    answer = answers[output.at]
    about = (answer.details.get("about_rows") or {}).get("interval")
    if label is None:
        value, interval = None if answer.details.get("too_few_rows") else answer.value, answer.interval
    elif output.shown == "count" and "shares" in answer.details:
        share = answer.details["shares"][label]
        value, interval, about = share["value"], share["interval"], share.get("about_rows")
    else:
        value, interval = (answer.value or {}).get(label), (answer.interval or {}).get(label)
        about = (about or {}).get(label)
    if output.shown not in ("count", "total") or value is None:
        return value, interval, about
    grouped_shares = label is not None  # whose interval about the rows is in rows already
    near = about if grouped_shares or about is None else [end * made.n for end in about]
    return value * made.n, [end * made.n for end in interval], near


def cell_words(value: Any, interval: Any = None, about: Any = None) -> str:
    """A cell of the table in words: the value, the interval about the population, and that about these rows alone.

    Examples
    --------
    >>> cell_words(51.2, [50.0, 52.5], [51.0, 51.4]), cell_words("f"), cell_words(None)
    ('51.2 [50, 52.5] (rows 51 to 51.4)', 'f', 'too few rows')
    """
    if value is None:
        return "too few rows"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    text = f"{value:.6g}"
    if interval is not None and interval[0] != interval[1]:
        text += f" [{interval[0]:.6g}, {interval[1]:.6g}]"
    if about is not None and about[0] != about[1]:
        text += f" (rows {about[0]:.6g} to {about[1]:.6g})"
    return text
