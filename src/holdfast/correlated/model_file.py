"""Dependence models from plain data: what a JSON or TOML file declares, and what `to_dict` of a model gives back.

One object declares one model; its `model` says which kind. Data that belong to a declaration but not into it (labels of
blocks, a public history) may be named by file and column; the caller says how a column is read.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from holdfast.core import arguments
from holdfast.correlated.blocks.blocks import Blocks
from holdfast.correlated.chains.interval import IntervalChain, chain_from_history
from holdfast.correlated.chains.markov import InhomogeneousChain, MarkovChain
from holdfast.correlated.chains.windows import HiddenChain, OrderChain
from holdfast.correlated.fields.gaussian import GaussianField
from holdfast.correlated.model import ModelClass, QuiltModel
from holdfast.correlated.networks.ising import Ising
from holdfast.correlated.networks.network import Network
from holdfast.errors import InvalidParameter

Model = QuiltModel | GaussianField
Column = Callable[[str, str], Sequence[Any]]
"""Reads a column: file and name to the values."""


class _Declaration:
    """The fields of one declaration; each is taken once, and what is left over is a mistake."""

    def __init__(self, kind: str, plain: Mapping[str, Any], column: Column | None) -> None:
        self.kind, self._plain, self._column = kind, dict(plain), column
        self._plain.pop("model", None)
        self._known: set[str] = set()

    def take(self, name: str, default: Any = None) -> Any:
        """Return a field that may be left out."""
        self._known.add(name)
        return self._plain.pop(name, default)

    def need(self, name: str) -> Any:
        """Return a field that must be there."""
        self._known.add(name)
        if name not in self._plain:
            raise InvalidParameter(f"{name} is missing, but a model of kind {self.kind!r} needs it")
        return self._plain.pop(name)

    def truth(self, name: str, default: bool) -> bool:
        """Return a field that is true or false."""
        value = self.take(name, default)
        if not isinstance(value, bool):
            raise InvalidParameter(f"{name} must be true or false, got {value!r:.60}")
        return value

    def one_of(self, *names: str) -> str:
        """Return the one field of these that is there."""
        self._known.update(names)
        present = [name for name in names if name in self._plain]
        if len(present) != 1:
            got = ", ".join(present) or "none"
            raise InvalidParameter(
                f"a model of kind {self.kind!r} must have exactly one of {', '.join(names)}, got {got}"
            )
        return present[0]

    def rest(self) -> None:
        """Refuse what nobody asked for: a mistyped field would be passed over in silence."""
        if self._plain:
            left, known = ", ".join(map(repr, sorted(self._plain))), ", ".join(sorted(self._known))
            raise InvalidParameter(f"a model of kind {self.kind!r} has no {left}; it has {known}")

    def values(self, name: str) -> Sequence[Any]:
        """Return a list, or a column of a file: `{"file": ..., "column": ...}`."""
        given = self.need(name)
        if isinstance(given, Mapping):
            return self.read(name, given, {"file", "column"})
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            raise InvalidParameter(f"{name} must be a list, or an object with file and column")
        return given

    def read(self, name: str, where: Mapping[str, Any], fields: set[str], column: str = "column") -> Sequence[Any]:
        """Return a column that is named by file and column."""
        if not {"file", column} <= set(where) <= fields or not all(isinstance(text, str) for text in where.values()):
            raise InvalidParameter(f"{name} must give {' and '.join(sorted(fields & {'file', column}))} as texts")
        if self._column is None:
            raise InvalidParameter(f"{name} must be a list here, because no reader of files was given")
        return self._column(where["file"], where[column])


def model_from_dict(plain: Mapping[str, Any], column: Column | None = None) -> Model:
    """Return the model that the given plain data declare.

    Parameters
    ----------
    plain : mapping
        `model` is the kind; what else it holds depends on it (table in `docs/correlated.md`). What a model's `to_dict`
        returns is read back.
    column : callable, optional
        Reads `(file, name)` where a declaration names a column of a file. Without it only lists are taken.

    Raises
    ------
    InvalidParameter
        An unknown kind, a missing or unknown field, or what the model itself refuses.

    Examples
    --------
    >>> model_from_dict({"model": "chain", "transition": [[0.9, 0.1], [0.4, 0.6]], "n": 1000})
    <Markov chain of 1000 records, 2 states, stationary start>
    >>> model_from_dict({"model": "blocks", "size": 4, "count": 250})
    <250 independent blocks of at most 4 records, 1000 in all>
    >>> model_from_dict({"model": "gaussian field", "n": 100, "autoregression": 0.5})
    <stationary Gaussian autoregression of order 1, 100 records, 99 ties>
    >>> model_from_dict({"model": "chain", "transition": [[0.9, 0.1], [0.4, 0.6]], "lenght": 1000})
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: n is missing, but a model of kind 'chain' needs it
    """
    if not isinstance(plain, Mapping):
        raise InvalidParameter(f"a model must be an object with a field model, got a {type(plain).__name__}")
    given = plain.get("model")
    kind = " ".join(given.lower().replace("-", " ").replace("_", " ").split()) if isinstance(given, str) else ""
    if kind not in KINDS:
        hint = "; write it in the field model, not kind" if given is None and "kind" in plain else _hint(kind)
        raise InvalidParameter(f"model must be one of {', '.join(KINDS)}, got {given!r:.60}{hint}")
    fields = _Declaration(kind, plain, column)
    model = KINDS[kind](fields)
    fields.rest()
    return model


def read_model(path: Path | str, column: Column | None = None) -> Model:
    r"""Return the model that a JSON or TOML file declares. A file whose name ends in `.toml` is read as TOML, any
    other as JSON.

    Raises
    ------
    InvalidParameter
        Where the file declares no model. A file that is not there is a `FileNotFoundError`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "homes.toml"
    ...     _ = file.write_text('model = "blocks"\nsizes = [3, 4, 2]\n')
    ...     read_model(file)
    <3 independent blocks of at most 4 records, 9 in all>
    """
    path = Path(path)
    form = "TOML" if path.suffix.lower() == ".toml" else "JSON"
    try:
        text = path.read_text(encoding="utf-8-sig")
        plain = tomllib.loads(text) if form == "TOML" else json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidParameter(f"{path} must be {form}: {error}") from None
    return model_from_dict(plain, column)


# Kinds ----------------------------------------------------------------------------------------------------------------


def _chain(fields: _Declaration) -> Model:
    if fields.one_of("transition", "history") == "history":
        return _history(fields)
    start, support = fields.take("start", "stationary"), fields.truth("respect_support", True)
    return MarkovChain(fields.need("transition"), fields.need("n"), start, support)


def _history(fields: _Declaration) -> Model:
    given, states = fields.need("history"), fields.need("states")
    if isinstance(given, Mapping):
        names = {"file", "column", "group"} if "group" in given else {"file", "column"}
        values = fields.read("history", given, names)
        groups = fields.read("history", given, names, "group") if "group" in given else [0] * len(values)
        paths: dict[Any, list[Any]] = {}
        for group, value in zip(groups, values, strict=True):
            paths.setdefault(group, []).append(value)
        given = list(paths.values())
    elif not isinstance(given, Sequence) or isinstance(given, str) or not len(given):
        raise InvalidParameter("history must be a list of paths, or an object with file and column")
    if not isinstance(given[0], Sequence) or isinstance(given[0], str):
        given = [given]
    names_of = states if isinstance(states, list) else None
    count = len(names_of) if names_of is not None else arguments.whole("states", states, at_least=1, at_most=10_000)
    numbers = {str(name): j for j, name in enumerate(names_of if names_of is not None else range(count))}
    if len(numbers) != count:
        raise InvalidParameter("states must not have the same state twice")
    coded = []
    for path in given:
        if not isinstance(path, Sequence):
            raise InvalidParameter("history must be one path, or a list of paths and nothing else")
        unknown = next((value for value in path if str(value) not in numbers), None)
        if unknown is not None or any(value is None for value in path):
            shown = ", ".join(list(numbers)[:10])
            raise InvalidParameter(f"history must have declared states only ({shown}), got {str(unknown)[:40]!r}")
        coded.append([numbers[str(value)] for value in path])
    return chain_from_history(coded, fields.need("n"), count, fields.take("confidence", 0.99))


def _class(fields: _Declaration) -> Model:
    given = fields.need("models")
    n, column = fields.take("n"), fields._column
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidParameter("models must be a list of models")
    models = []
    for j, entry in enumerate(given):
        if not isinstance(entry, Mapping):
            raise InvalidParameter(f"models[{j}] must be an object with a field model")
        whole = {"model": "chain"} | ({} if n is None else {"n": n}) | dict(entry)
        try:
            model = model_from_dict(whole, column)
        except InvalidParameter as error:
            raise InvalidParameter(f"models[{j}]: {error}") from None
        if not isinstance(model, QuiltModel):
            raise InvalidParameter(
                f"models[{j}] must have finitely many values, but it is a Gaussian field, which has no Markov quilts"
            )
        models.append(model)
    return ModelClass(models)


def _interval(fields: _Declaration) -> Model:
    bounds = fields.need("low"), fields.need("high")
    return IntervalChain(*bounds, fields.need("n"), fields.take("confidence", 1.0))


def _steps(fields: _Declaration) -> Model:
    steps, n = fields.need("steps"), fields.take("n")
    model = InhomogeneousChain(steps, fields.need("start"))
    if n is not None and n != model.n:
        raise InvalidParameter(f"n must be {model.n}, which is the number of steps plus one, got {n!r}")
    return model


def _order(fields: _Declaration) -> Model:
    return OrderChain(fields.need("kernel"), fields.need("n"), fields.take("start", "stationary"))


def _hidden(fields: _Declaration) -> Model:
    tables = fields.need("transition"), fields.need("emission")
    return HiddenChain(*tables, fields.need("n"), fields.take("start", "stationary"))


def _blocks(fields: _Declaration) -> Model:
    kind, n = fields.one_of("sizes", "size", "labels"), fields.take("n")
    if kind == "labels":
        labels = fields.values("labels")
        if any(label is None or label == "" for label in labels):
            raise InvalidParameter("labels must name the block of every record, but one label is missing")
        model = Blocks.of(labels)
    elif kind == "size":
        size = arguments.whole("size", fields.need("size"), at_least=1, at_most=10**9)
        model = Blocks([size] * arguments.whole("count", fields.need("count"), at_least=1, at_most=10**7))
    else:
        model = Blocks(
            [arguments.whole(f"sizes[{j}]", size, at_least=1) for j, size in enumerate(fields.values("sizes"))]
        )
    if n is not None and n != model.n:
        raise InvalidParameter(f"n must be {model.n}, the number of records in all blocks together, got {n!r}")
    return model


def _bayesian(fields: _Declaration) -> Model:
    kind = fields.one_of("tables", "nodes")
    given: Any = fields.need(kind)
    if kind == "nodes":
        given = _by_name(given)
    fields.take("n")
    return Network.bayesian(
        given,
        hidden=fields.take("hidden", ()),
        independent_parts=fields.truth("independent_parts", False),
    )


def _by_name(nodes: Any) -> dict[str, tuple[Sequence[str], Any]]:
    """Nodes as a list of objects, the readable form in TOML."""
    if not isinstance(nodes, Sequence) or isinstance(nodes, str):
        raise InvalidParameter("nodes must be a list of objects with name, parents and table")
    declared: dict[str, tuple[Sequence[str], Any]] = {}
    for j, node in enumerate(nodes):
        if not isinstance(node, Mapping) or not {"name", "table"} <= set(node) <= {"name", "parents", "table"}:
            raise InvalidParameter(f"nodes[{j}] must be an object with name, table and, if it has any, parents")
        if not isinstance(node["name"], str):
            raise InvalidParameter(f"nodes[{j}] must have a text as its name")
        if node["name"] in declared:
            raise InvalidParameter(
                f"nodes[{j}] must have a name of its own, but {node['name']!r} is the name of another node too"
            )
        declared[node["name"]] = (node.get("parents", []), node["table"])
    return declared


def _markov(fields: _Declaration) -> Model:
    fields.take("n")
    return Network.markov(
        fields.need("sizes"),
        fields.need("factors"),
        hidden=fields.take("hidden", ()),
        independent_parts=fields.truth("independent_parts", False),
    )


def _ising(fields: _Declaration) -> Model:
    ties: dict[tuple[int, int], float] = {}
    for j, tie in enumerate(fields.values("couplings")):
        if not isinstance(tie, Sequence) or isinstance(tie, str) or len(tie) != 3:
            raise InvalidParameter(f"couplings[{j}] must be a list of two records and a number")
        ends = tuple(sorted(arguments.whole(f"couplings[{j}]", end, at_least=0) for end in tie[:2]))
        if ends in ties:
            raise InvalidParameter(f"couplings[{j}] must be a pair that no other entry has, got {list(ends)}")
        ties[ends[0], ends[1]] = tie[2]
    parts = fields.truth("independent_parts", False)
    return Ising(ties, fields.need("n"), fields.take("field", 0.0), independent_parts=parts)


def _gaussian(fields: _Declaration) -> Model:
    kind, n = fields.one_of("precision", "covariance", "autoregression", "values"), fields.take("n")
    given = fields.need(kind)
    if kind == "autoregression":
        if n is None:
            raise InvalidParameter("n is missing, but an autoregression needs it as its length")
        return GaussianField.autoregressive(n, given, deviation=fields.take("deviation", 1.0))
    if kind == "values":  # the upper triangle of a sparse precision matrix, as `to_dict` gives it
        given = _sparse(n, fields.need("rows"), fields.need("columns"), given)
    field = GaussianField(covariance=given) if kind == "covariance" else GaussianField(given)
    if n is not None and n != field.n:
        raise InvalidParameter(f"n must be {field.n}, the size of the matrix, got {n!r}")
    return field


def _sparse(n: Any, rows: Any, columns: Any, values: Any) -> Any:
    import numpy as np
    from scipy import sparse

    n = arguments.whole("n", n, at_least=1, at_most=10**8)
    try:
        row, column = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
        if not np.array_equal(row, rows) or not np.array_equal(column, columns):
            raise ValueError("a row or column number is not a whole number")
        upper = sparse.coo_array((np.array(values, dtype=float), (row, column)), shape=(n, n))
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(
            f"rows, columns and values must be lists of the same length, and rows and columns whole numbers below {n}"
        ) from None
    if (row > column).any():
        raise InvalidParameter("no entry may have its row number above its column number; give the upper triangle once")
    return (upper + sparse.triu(upper, 1).T).tocsr()


KINDS: dict[str, Callable[[_Declaration], Model]] = {
    "chain": _chain,
    "class": _class,
    "interval chain": _interval,
    "inhomogeneous chain": _steps,
    "order chain": _order,
    "hidden chain": _hidden,
    "blocks": _blocks,
    "bayesian network": _bayesian,
    "markov network": _markov,
    "ising": _ising,
    "gaussian field": _gaussian,
}
"""The kinds of models and who reads them."""

_OTHER_NAMES: tuple[tuple[tuple[str, ...], str, dict[str, Any]], ...] = (
    (
        ("ar", "ar1", "ar(1)", "autoregression", "autoregressive", "time series"),
        "a first-order autoregression",
        {"model": "gaussian field", "n": 1000, "autoregression": 0.5},
    ),
    (
        ("gaussian", "gaussian process", "multivariate normal", "normal"),
        "jointly normal records",
        {"model": "gaussian field", "covariance": [[1, 0.5], [0.5, 1]]},
    ),
    (
        ("markov", "markov chain"),
        "a Markov chain",
        {"model": "chain", "n": 1000, "transition": [[0.9, 0.1], [0.4, 0.6]]},
    ),
    (
        ("hmm", "hidden markov", "hidden markov chain", "hidden markov model"),
        "a hidden Markov chain",
        {
            "model": "hidden chain",
            "n": 100,
            "transition": [[0.8, 0.2], [0.2, 0.8]],
            "emission": [[0.9, 0.1], [0.2, 0.8]],
        },
    ),
    (
        ("clusters", "families", "groups", "households"),
        "independent groups of records",
        {"model": "blocks", "size": 4, "count": 250},
    ),
)
"""Names that the field has for these models, what they mean, and a declaration of it."""


def _hint(kind: str) -> str:
    """What to write instead of a kind that is not known; empty where no kind is near."""
    for names, meaning, example in _OTHER_NAMES:
        if kind in names:
            return f"; for {meaning} write {json.dumps(example)}"
    near = get_close_matches(kind[:60], KINDS, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
