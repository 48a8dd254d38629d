"""From text to a tree. sqlglot cuts the text into tokens and finds the precedence; nothing it knows beyond that passes.

Three filters, each an allow-list. Tokens: only words, quoted names, texts, numbers and the signs of the language; words
that are not words of the language become plain names, so that no keyword of any SQL dialect is left. Grammar: sqlglot's
parser with every function and every special form taken out. Nodes: only the kinds named in `_turn`, and of
these only the parts named there. The text never reaches an engine: what engines get is compiled from the tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from holdfast.core.extras import named_extras
from holdfast.data.expressions import tree
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from sqlglot import exp


# --- Parsing ----------------------------------------------------------------------------------------------------------

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?\Z", re.ASCII)
_OUTSIDE = re.compile(r"[ \t\r\n!-~]*\Z", re.ASCII)
WORDS = {
    *("and", "or", "not", "in", "between", "is", "null", "true", "false", "case", "when", "then", "else", "end"),
    *("like", "ilike"),
}
_WRITTEN = ("date", "timestamp", "timestamptz")
"""Words that make a date or a timestamp of the text behind them; elsewhere they are names."""
_COMPARED = re.compile(
    r"[ \t\r\n]*([A-Za-z_][A-Za-z0-9_]*)[ \t\r\n]*(==?|<>|<=?|>=?)[ \t\r\n]*(-?[0-9]+(?:\.[0-9]+)?)[ \t\r\n]*\Z",
    re.ASCII,
)
"""A column compared with a number: what is asked most. It reads as the whole grammar reads it, many times faster."""
_JOINED = re.compile(r"(?<=[ \t\r\n])(and|or)(?=[ \t\r\n])", re.ASCII | re.IGNORECASE)
"""Between such comparisons. It takes no white space itself: a run of it would be looked through again and again."""
_PART = re.compile(r"""'[^']*'?|"[^"]*"?|[0-9]+(?:\.[0-9]*)?|[A-Za-z_][A-Za-z0-9_]*|\S""", re.ASCII)
"""About one word or sign of an expression: never fewer than the parser will meet, but for those that it adds."""
_DATED = re.compile(r"(?:date|timestamp|timestamptz)[ \t\r\n]*'", re.ASCII | re.IGNORECASE)
"""A written date, for which the parser adds two brackets."""
_SIGNS = {
    "(": "L_PAREN",
    ")": "R_PAREN",
    ",": "COMMA",
    "+": "PLUS",
    "-": "DASH",
    "*": "STAR",
    "/": "SLASH",
    "%": "MOD",
    "=": "EQ",
    "==": "EQ",
    "<>": "NEQ",
    "!=": "NEQ",
    "<": "LT",
    "<=": "LTE",
    ">": "GT",
    ">=": "GTE",
}


@named_extras()
def parse(text: str) -> tree.Node:
    """Return the tree of an expression that is given as a text.

    Parameters
    ----------
    text : str
        Comparison, arithmetic, `and`, `or`, `not`, `in`, `between`, `like`, `is null`, `case when`, `cast`, and the
        functions listed in `holdfast.data.expressions.checking`. Dates as `date '2020-12-31'`. Names as in the schema,
        in double quotes where they are no plain word.

    Returns
    -------
    Node
        Not yet checked against a schema. Time: a few tenths of a millisecond; microseconds for columns compared with
        numbers.

    Raises
    ------
    InvalidParameter
        For anything else. The message speaks of the text only.

    Examples
    --------
    >>> parse("income > 50000 and age < 30").operands[1]
    Comparison(sign='<', left=Name(column='age'), right=Number(value=30.0))
    >>> parse("income > (select 1)")
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: expression must be one expression of the row language, and this does not ...
    """
    return _plain_comparisons(text) or _parsed(text)


def count_parts(source: Any, most: int) -> int:
    """How many words, signs, numbers and texts expressions have, as text or as JSON data, counted without parsing.

    Parameters
    ----------
    source : text, or plain data that holds expressions at any depth
        Every name in an object counts as one.
    most : int
        Counting ends as soon as there are more, so that it takes no longer however much there is.

    Examples
    --------
    >>> count_parts({"young": "age < 30", "rich": {">": [{"column": "income"}, 9]}}, most=100)
    9
    """
    parts, left = 0, [source]
    while left and parts <= most:
        here = left.pop()
        if isinstance(here, str):
            # A text that is longer than any expression may be is refused for that, and not looked through.
            fits = len(here) <= tree.LONGEST_TEXT
            parts += len(_PART.findall(here)) + 2 * len(_DATED.findall(here)) if fits else 1
        elif isinstance(here, Mapping):
            parts += len(here)
            left.extend(here.values())
        elif isinstance(here, (list, tuple)):
            left.extend(here)
        else:
            parts += 1
    return parts


def _plain_comparisons(text: Any) -> tree.Node | None:
    """A column compared with a number, or several such joined by `and` alone or by `or` alone; None for all else."""
    if not isinstance(text, str) or len(text) > tree.LONGEST_TEXT:
        return None
    pieces = _JOINED.split(text)
    joints = {word.lower() for word in pieces[1::2]}
    compared = []
    for piece in pieces[::2]:
        match = _COMPARED.match(piece)
        if match is None or match[1].lower() in WORDS:
            return None
        sign = "=" if match[2] == "==" else match[2]
        compared.append(tree.Comparison(sign, tree.Name(match[1]), tree.Number(float(match[3]))))  # type: ignore[arg-type]
    if not joints:
        return compared[0]
    if len(joints) > 1 or 5 * len(compared) > tree.MOST_TOKENS:
        return None
    return tree.And(tuple(compared)) if joints == {"and"} else tree.Or(tuple(compared))


def _parsed(text: Any) -> tree.Node:
    tokens = _tokens(text)
    parser = _dialect()
    from sqlglot.errors import SqlglotError

    try:
        trees = parser.parser().parse(tokens, text)
        if len(trees) != 1 or trees[0] is None:
            raise _unreadable()
        return _turn(trees[0], 0)
    except (SqlglotError, _Unreadable) as error:
        raise _unreadable(text) from error
    except RecursionError as error:  # only where the caller had used up most of Python's own limit
        raise _too_nested() from error


def _too_nested() -> InvalidParameter:
    return InvalidParameter(f"expression must have at most {tree.MOST_BRACKETS} brackets inside each other")


_WORDS = {
    **{"=>": ">=", "=<": "<=", "&&": "and", "&": "and", "|": "or", "!": "not"},
    **{"||": "or, and concat(a, b) to join texts", "::": "cast(x as number)", "^": "x * x", "//": "floor(a / b)"},
    "similar to": "s like 'a%'",
    "attimezone": "hour(t), whose parts are those of UTC",
    "**": "x * x",
    "field": "town in ('a', 'b'), or contains(s, 'a')",
    "?": "the value itself, as age > 30, or case when a then b else c end",
    **dict.fromkeys([":", "@", "$"], "the value itself, as age > 30"),
    **dict.fromkeys(["nullsafeeq", "nullsafeneq"], "coalesce(a = b, a is null and b is null), or not that"),
    "tuple": "a condition for each column, as sex = 'f' and town = 'Bern'",
    "xor": "a <> b: one of two conditions and not both",
    **dict.fromkeys(["intdiv", "div"], "floor(a / b)"),
    "[": "town in ('a', 'b')",
    "alias": "a number without underscores or spaces, as 50000, and one expression without a name",
    **{"~": "s like 'a%'", "~*": "s ilike 'a%'", "!~": "not s like 'a%'"},
}
"""What people write who come from other languages, and what it is here."""

_FORMS = {
    "interval": "compare a difference in days: d - date '2020-12-31' < 30",
    "extract": "write year(d), month(d) or day(d)",
    "escape": r"write \% and \_ for the characters themselves",
    **dict.fromkeys(["similar", "rlike", "regexp", "glob"], "write s like 'a%'"),
    "zone": "hour(t) and the other parts are those of UTC",
    "substring": "write substring(s, 1, 3)",
    "trim": "write trim(s)",
    **dict.fromkeys(["cast", "try_cast", "safe_cast"], "write cast(s as number), integer or date; it gives null"),
    "distinct": "write a <> b or a is null",
    "xor": "write a <> b: one of two conditions and not both",
    "div": "write floor(a / b)",
    **dict.fromkeys(["any", "some", "all"], "write s like 'a%' or s like 'b%'"),
    "collate": "texts are ordered by code points",
    "isnull": "write a is null",
    "notnull": "write a is not null",
}
"""Words of forms that SQL has and the language has not, and the nearest form that it has."""


class _Unreadable(InvalidParameter):
    """Raised before the text is at hand that a hint is looked for in."""


def _unreadable(text: str = "") -> InvalidParameter:
    words = [word.lower() for word in _PART.findall(text)] if len(text) <= tree.LONGEST_TEXT else []
    hint = next((_FORMS[word] for word in words if word in _FORMS), "")
    hint = hint or ("write x * x" if "**" in text else "")
    return (InvalidParameter if text else _Unreadable)(
        "expression must be one expression of the row language, and this does not read as one; "
        + (hint or "conditions look like `age < 30 and city = 'Bern'`")
    )


def _refused(what: Any) -> InvalidParameter:
    shown = str(what)
    shown = shown if len(shown) <= 40 else shown[:40] + "..."
    word = _WORDS.get(shown)
    hint = "" if word is None else f"; write {word}"
    return InvalidParameter(
        f"expression must be one expression of the row language, got something else near {shown!r}{hint}"
    )


def _tokens(text: Any) -> list[Any]:
    """The tokens, each of an allowed type; every word that is none of the language's becomes a plain name."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter("expression must be a text")
    if len(text) > tree.LONGEST_TEXT:
        raise InvalidParameter(f"expression must have at most {tree.LONGEST_TEXT} characters, got {len(text)}")
    from sqlglot.errors import SqlglotError
    from sqlglot.tokenizer_core import TokenType

    try:
        tokens = list(_dialect().tokenize(text))
    except SqlglotError as error:
        raise _unreadable(text) from error
    if len(tokens) > tree.MOST_TOKENS:
        raise InvalidParameter(f"expression must have at most {tree.MOST_TOKENS} words and signs, got {len(tokens)}")
    open_brackets, at = 0, 0
    for token in tokens:
        # What lies between tokens is white space, or a comment that sqlglot leaves out: none is allowed.
        if text[at : token.start].strip(" \t\r\n") or token.comments:
            raise InvalidParameter("expression must have no comments")
        at = token.end + 1
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            if text[token.start] != ("'" if token.token_type is TokenType.STRING else '"'):
                raise _refused(text[token.start : at])
            continue
        written = text[token.start : at]
        if not _OUTSIDE.match(written):
            raise InvalidParameter("expression must have only ASCII characters outside of quoted texts and names")
        if token.token_type is TokenType.NUMBER:
            if not _NUMBER.match(written):
                raise _refused(written)
        elif WORD.match(written):
            word = written.lower()
            token.token_type = TokenType[word.upper()] if word in WORDS else TokenType.VAR
            open_brackets += (word == "case") - (word == "end")
        elif written in _SIGNS:
            token.token_type = TokenType[_SIGNS[written]]
            open_brackets += (written == "(") - (written == ")")
        else:
            raise _refused(written)
        if open_brackets > tree.MOST_BRACKETS:
            raise _too_nested()
    if text[at:].strip(" \t\r\n"):
        raise InvalidParameter("expression must have no comments")
    _refuse_odd_runs([token.token_type.name for token in tokens])
    return _as_calls(tokens)


def _as_calls(tokens: list[Any]) -> list[Any]:
    """`date '2020-12-31'` as `date('2020-12-31')`, and `cast(x as number)` as `cast(x, 'number')`: forms of calls."""
    from sqlglot.tokenizer_core import Token, TokenType

    words: list[Any] = []
    casts: list[int] = []  # for each open bracket that of a cast is 1
    kind_next = False
    for at, token in enumerate(tokens):
        word = token.text.lower() if token.token_type is TokenType.VAR else ""
        before = tokens[at - 1] if at else None
        if token.token_type is TokenType.L_PAREN:
            is_cast = before is not None and before.token_type is TokenType.VAR and before.text.lower() == "cast"
            casts.append(int(is_cast))
        elif token.token_type is TokenType.R_PAREN and casts:
            casts.pop()
        if kind_next and word:
            words.append(Token(TokenType.STRING, word, token.line, token.col, token.start, token.end))
            kind_next = False
            continue
        if word == "as" and casts and casts[-1]:
            words.append(Token(TokenType.COMMA, ",", token.line, token.col, token.start, token.end))
            kind_next = True
            continue
        dated = (
            token.token_type is TokenType.STRING
            and before is not None
            and before.token_type is TokenType.VAR
            and before.text.lower() in _WRITTEN
        )
        if dated:
            words.append(Token(TokenType.L_PAREN, "(", token.line, token.col, token.start, token.start))
        words.append(token)
        if dated:
            words.append(Token(TokenType.R_PAREN, ")", token.line, token.col, token.end, token.end))
    return words


def _refuse_odd_runs(kinds: list[str]) -> None:
    """Commas without something on both sides, which sqlglot forgives; prefixes that nest without brackets."""
    prefixes = 0
    for kind, after in zip(kinds, [*kinds[1:], "R_PAREN"], strict=True):
        prefixes = prefixes + 1 if kind in ("NOT", "DASH") else 0
        if prefixes > tree.MOST_BRACKETS:
            raise _too_nested()
        if (kind == "COMMA" and after in ("COMMA", "R_PAREN")) or (kind == "L_PAREN" and after == "COMMA"):
            raise _refused(",")


@cache
def _dialect() -> Any:
    """Sqlglot's grammar of expressions without functions, types, statements, aliases, lambdas and placeholders."""
    from sqlglot import Dialect, exp, parser, tokens
    from sqlglot.tokenizer_core import TokenType

    only_case = {"CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    primary = (TokenType.STRING, TokenType.NUMBER, TokenType.NULL, TokenType.TRUE, TokenType.FALSE)
    ranges = (TokenType.BETWEEN, TokenType.IN, TokenType.IS, TokenType.LIKE, TokenType.ILIKE)

    class RowTokenizer(tokens.Tokenizer):
        QUOTES = ["'"]  # noqa: RUF012
        IDENTIFIERS = ['"']  # noqa: RUF012
        COMMANDS = set()  # noqa: RUF012  (else a first word such as `call` swallows all that follows it)

    class RowParser(parser.Parser):
        FUNCTIONS = {}  # noqa: RUF012
        FUNCTION_PARSERS = {}  # noqa: RUF012
        NO_PAREN_FUNCTIONS = {}  # noqa: RUF012
        NO_PAREN_FUNCTION_PARSERS = only_case
        STATEMENT_PARSERS = {}  # noqa: RUF012
        PLACEHOLDER_PARSERS = {}  # noqa: RUF012
        TYPE_LITERAL_PARSERS = {}  # noqa: RUF012
        LAMBDAS = {}  # noqa: RUF012
        SUBQUERY_PREDICATES = {}  # noqa: RUF012
        COLUMN_OPERATORS = {}  # noqa: RUF012
        PRIMARY_PARSERS = {kind: parser.Parser.PRIMARY_PARSERS[kind] for kind in primary}  # noqa: RUF012
        # sqlglot gives % the precedence of a sum, SQL and all else that of a product.
        TERM = {kind: parser.Parser.TERM[kind] for kind in (TokenType.PLUS, TokenType.DASH)}  # noqa: RUF012
        FACTOR = parser.Parser.FACTOR | {TokenType.MOD: exp.Mod}
        RANGE_PARSERS = {kind: parser.Parser.RANGE_PARSERS[kind] for kind in ranges}  # noqa: RUF012

    class HoldfastRows(Dialect):
        Tokenizer = RowTokenizer
        Parser = RowParser

    return HoldfastRows()


def _turn(node: exp.Expression, depth: int) -> tree.Node:
    """A sqlglot node of an allowed kind, with the allowed parts only, as a node of the language."""
    from sqlglot import exp

    if depth >= tree.DEEPEST:
        raise InvalidParameter(f"expression must be at most {tree.DEEPEST} levels deep")
    below = depth + 1

    def only(*parts: str) -> None:
        if extra := [part for part, value in node.args.items() if value not in (None, False, []) and part not in parts]:
            raise _refused(extra[0])

    def inner(part: str) -> tree.Node:
        value = node.args.get(part)
        if not isinstance(value, exp.Expression):
            raise _unreadable()
        return _turn(value, below)

    kind = type(node)
    if kind is exp.Paren:
        only("this")
        return _turn(node.this, depth)
    if kind is exp.Column:
        only("this")
        identifier = node.this
        if type(identifier) is not exp.Identifier or not isinstance(identifier.this, str):
            raise _refused(type(identifier).__name__.lower())
        return tree.Name(identifier.this)
    if kind is exp.Literal:
        if node.args["is_string"]:
            return tree.Text(node.this)
        return tree.Number(float(node.this))
    if kind is exp.Boolean:
        return tree.Truth(bool(node.this))
    if kind is exp.Null:
        return tree.Null()
    if kind is exp.Neg:
        only("this")
        operand = inner("this")
        return tree.Number(-operand.value) if isinstance(operand, tree.Number) else tree.Minus(operand)
    if kind is exp.Not:
        only("this")
        return tree.Not(inner("this"))
    if kind in _arithmetic():
        only("this", "expression", "typed", "safe")
        return tree.Arithmetic(_arithmetic()[kind], inner("this"), inner("expression"))
    if kind in _comparisons():
        only("this", "expression")
        last = node.expression.this if type(node.expression) is exp.Not else node.expression
        if type(last) is exp.Is and type(last.expression) is exp.Null:
            raise InvalidParameter(
                "expression must have brackets if = or < comes before `is`, because databases disagree on the "
                "meaning; write (a = b) is null or a = (b is null)"
            )
        return tree.Comparison(_comparisons()[kind], inner("this"), inner("expression"))
    if kind in (exp.And, exp.Or):
        operands = tuple(_turn(part, below) for part in _flat(node, kind))
        return tree.And(operands) if kind is exp.And else tree.Or(operands)
    if kind is exp.Between:
        only("this", "low", "high")
        return tree.Between(inner("this"), inner("low"), inner("high"))
    if kind is exp.In:
        only("this", "expressions")
        values = tuple(_turn(value, below) for value in node.expressions)
        if not values or not all(isinstance(value, (tree.Number, tree.Text)) for value in values):
            raise InvalidParameter(
                "expression must have a list of constant numbers or texts after `in`; instead of a list of dates, "
                "write d = date '2020-12-31' or d = date '2021-12-31', or use between"
            )
        return tree.In(inner("this"), values)  # type: ignore[arg-type]
    if kind in (exp.Like, exp.ILike):
        only("this", "expression", "negate")
        call = tree.Call("like" if kind is exp.Like else "ilike", (inner("this"), inner("expression")))
        return tree.Not(call) if node.args.get("negate") else call
    if kind is exp.Is:
        only("this", "expression")
        if type(node.expression) is not exp.Null:
            raise InvalidParameter(
                "expression must have `null` or `not null` after `is`; instead of `is true`, write the condition "
                "itself, or coalesce(condition, false)"
            )
        return tree.IsNull(inner("this"))
    if kind is exp.Case:
        if node.args.get("this") is not None:
            raise InvalidParameter("expression must have a condition after `when`, as in: case when x = 1 then 0 end")
        only("ifs", "default")
        if not node.args.get("ifs"):
            raise _unreadable()
        branches = []
        for branch in node.args["ifs"]:
            if type(branch) is not exp.If or set(branch.args) - {"this", "true"}:
                raise _unreadable()
            branches.append((_turn(branch.this, below), _turn(branch.args["true"], below)))
        otherwise = inner("default") if node.args.get("default") is not None else tree.Null()
        return tree.Case(tuple(branches), otherwise)
    if kind is exp.Anonymous:
        only("this", "expressions")
        if not isinstance(node.this, str):
            raise _unreadable()
        return tree.Call(node.this.lower(), tuple(_turn(argument, below) for argument in node.expressions))
    raise _refused(kind.__name__.lower())


def _flat(node: exp.Expression, kind: type) -> list[exp.Expression]:
    """The operands of a chain of the same connective, from left to right; without recursion."""
    operands: list[exp.Expression] = []
    left: list[exp.Expression] = [node]
    while left:
        here = left.pop()
        if type(here) is kind:
            left.extend((here.expression, here.this))
        else:
            operands.append(here)
    return operands


@cache
def _arithmetic() -> dict[type, tree.ArithmeticSign]:
    from sqlglot import exp

    return {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}


@cache
def _comparisons() -> dict[type, tree.ComparisonSign]:
    from sqlglot import exp

    return {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


# --- Text form --------------------------------------------------------------------------------------------------------
# A tree as text, always in the same way, with the brackets that precedence needs.

#: From the loosest to the tightest: or, and, not, comparison, sum, product, minus, and what needs no brackets.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS, _CLOSED = range(8)


def to_text(node: tree.Node) -> str:
    """Return the text of a tree. `parse` reads it back as the same tree, unless it is nested more deeply than a text
    may be.

    Examples
    --------
    >>> from holdfast.data.expressions.parsing import parse
    >>> to_text(parse("((a+1) > 2*b) or not (c is null)"))
    'a + 1.0 > 2.0 * b or not c is null'
    """
    match node:
        case tree.Name(column):
            plain = WORD.match(column) and column.lower() not in WORDS and column.lower() != "as"
            return column if plain else f'"{column}"'
        case tree.Number(value):
            return repr(value)
        case tree.Text(value):
            return "'" + value.replace("'", "''") + "'"
        case tree.Truth(value):
            return "true" if value else "false"
        case tree.Null():
            return "null"
        case tree.Arithmetic(sign, left, right):
            own = _level(node)
            return f"{_inside(left, own)} {sign} {_inside(right, own + 1)}"
        case tree.Minus(operand):
            return f"- {_inside(operand, _CLOSED)}"
        case tree.Comparison(sign, left, right):
            return f"{_inside(left, _SUM)} {sign} {_inside(right, _SUM)}"
        case tree.Between(operand, low, high):
            return f"{_inside(operand, _SUM)} between {_inside(low, _SUM)} and {_inside(high, _SUM)}"
        case tree.In(operand, values):
            return f"{_inside(operand, _SUM)} in ({', '.join(map(to_text, values))})"
        case tree.IsNull(operand):
            return f"{_inside(operand, _SUM)} is null"
        case tree.Not(operand):
            return f"not {_inside(operand, _COMPARE)}"
        case tree.And(operands):
            return " and ".join(_inside(part, _NOT) for part in operands)
        case tree.Or(operands):
            return " or ".join(_inside(part, _AND) for part in operands)
        case tree.Case(branches, otherwise):
            parts = [f"when {to_text(condition)} then {to_text(result)}" for condition, result in branches]
            return f"case {' '.join(parts)} else {to_text(otherwise)} end"
        case tree.Call("like" | "ilike" as word, (operand, pattern)):
            return f"{_inside(operand, _SUM)} {word} {to_text(pattern)}"
        case tree.Call("cast", (operand, tree.Text(kind))):
            return f"cast({to_text(operand)} as {kind})"
        case tree.Call("date" | "timestamp" | "timestamptz" as word, (tree.Text() as written,)):
            return f"{word} {to_text(written)}"
        case tree.Call(name, arguments):
            return f"{name}({', '.join(map(to_text, arguments))})"
        case tree.Bucket(operand):
            return f"reserved by {to_text(operand)}"
        case tree.Retyped(operand):
            return to_text(operand)


def _inside(node: tree.Node, level: int) -> str:
    return to_text(node) if _level(node) >= level else f"({to_text(node)})"


def _level(node: tree.Node) -> int:
    match node:
        case tree.Or():
            return _OR
        case tree.And():
            return _AND
        case tree.Not():
            return _NOT
        case tree.Comparison() | tree.Between() | tree.In() | tree.IsNull() | tree.Call("like" | "ilike"):
            return _COMPARE
        case tree.Arithmetic("+" | "-"):
            return _SUM
        case tree.Arithmetic():
            return _PRODUCT
        case tree.Minus():
            return _MINUS
        case tree.Number(value) if value < 0:
            return _MINUS
        case _:
            return _CLOSED
