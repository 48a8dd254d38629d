"""What `holdfast audit` is told on the command line, as a table, a target, groups, lenses, a curator and learners."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from holdfast.coherence import GroupPlan, Lens, Table, Target, curators
from holdfast.coherence.learners.tabular import Estimator, named
from holdfast.coherence.table import missing_column
from holdfast.errors import InvalidParameter
from holdfast.extras import named_extras

CURATORS = (
    "clear",
    "bootstrap",
    "random-subset",
    "shuffled-column",
    "count",
    "cart",
    "noisy-histogram",
    "noisy-marginals",
    "private-naive-bayes",
)
"""Names of built-in curators."""


def read_table(path: Path, what: str = "FILE", like: Table | None = None) -> Table:
    """A table from a CSV or Parquet file; a CSV column is text where it is text in `like`."""
    if not path.is_file():
        raise InvalidParameter(f"{what} must be a CSV or Parquet file; there is none at {path}")
    if path.suffix.lower() in (".parquet", ".pq"):
        with named_extras("frames"):
            import polars
        try:
            return Table.of(polars.read_parquet(path), path.name)
        except (OSError, ValueError, polars.exceptions.PolarsError) as error:
            raise InvalidParameter(f"{what} {path.name} cannot be read as Parquet") from error
    try:
        found = Table.read_csv(path, like)
    except UnicodeDecodeError as error:
        raise InvalidParameter(
            f"{what} {path.name} must be a CSV file in UTF-8, or Parquet with that ending"
        ) from error
    _check_header(found, f"{what} {path.name}")
    return found


def _check_header(table: Table, what: str) -> None:
    """Refuse a first line that is a row. Its values would become names, and errors and reports show names."""
    only = table.names[0]
    if len(table.names) == 1 and any(mark in only for mark in " ;\t|"):
        raise InvalidParameter(
            f"{what} must be a CSV file with a header line and commas between columns; it has one column"
        )
    numbers = [float(name) for name in table.names if _is_number(name)]
    if any(b <= a for a, b in pairwise(numbers)):  # years or positions rise; the values of a row do not
        raise InvalidParameter(
            f"{what} must have a header line; its first line looks like a row: "
            f"{len(numbers)} of {len(table.names)} names are numbers"
        )


def target_of(text: str | None, not_applicable: Sequence[str]) -> Target | None:
    """A target from `COLUMN=VALUE` or `COLUMN>=NUMBER`."""
    if text is None:
        if not_applicable:
            raise InvalidParameter("--not-applicable goes with --target")
        return None
    for mark in (">=", "=="):
        column, found, value = text.partition(mark)
        if found:
            break
    else:
        column, found, value = text.partition("=")
    column, value = column.strip(), value.strip()
    if not found or not column or not value:
        raise InvalidParameter(f"--target must be COLUMN=VALUE or COLUMN>=NUMBER, got {text[:60]!r}")
    if found == ">=":
        return Target(column, at_least=_number("--target", value), not_applicable=tuple(not_applicable))
    return Target(column, equals=_value(value), not_applicable=tuple(not_applicable))


def groups_of(
    declared: Sequence[str], by: Sequence[str], depth: int, bins: Sequence[str], min_size: int, target: Target | None
) -> GroupPlan:
    """Groups from `NAME: RULE` (or a rule, which is then its own name), columns and edges; the target's own besides."""
    rules: dict[str, Any] = {}
    if target is not None:
        rules[target.name] = target.truth
        rules[f"not {target.name}"] = lambda table: target.applies(table) & ~target.truth(table)
    for text in declared:
        name, mark, rule = text.partition(":")
        name, rule = (name.strip(), rule.strip()) if mark else (text.strip(), text.strip())
        if not name or not rule:
            raise InvalidParameter(f"--group must be 'NAME: RULE', got {text[:60]!r}")
        if name in rules:
            raise InvalidParameter(f"--group must name each group once; {name[:60]!r} occurs twice")
        rules[name] = rule
    edges = {name: [_number("--bins", edge) for edge in _listed(values)] for name, values in _pairs("--bins", bins)}
    for name, cuts in edges.items():
        if any(b <= a for a, b in pairwise(cuts)):
            raise InvalidParameter(f"--bins must increase, and those of {name!r} do not")
    columns = _columns(by)
    unused = [name for name in edges if name not in columns]
    if unused:
        raise InvalidParameter(
            f"--bins cuts columns of --by, and {unused[0]!r} is not among them: add --by {unused[0]}"
        )
    return GroupPlan(rules, columns=columns, depth=depth, bins=edges, min_size=min_size)


def lenses_of(
    given: Sequence[str], table: Table, target: Target | None, released: Sequence[str] | None = None
) -> tuple[Lens, ...]:
    """Lenses from `NAME=COLUMN,COLUMN` or `COLUMN,COLUMN`; by default one of all columns but the target.

    Where the curator is known to release some columns only, by default one of those: nothing can be learnt from others.
    """
    if not given:
        shown = [name for name in table.names if released is None or name in released]
        seen = tuple(name for name in shown if target is None or name != target.column)
        if not seen:
            raise InvalidParameter(
                "the release shows nothing but the target: give --lens, the columns a predictor sees"
            )
        words = "everything" if released is None else "everything released"
        return (Lens(f"{words} but the target" if target else words, seen),)
    found = []
    for text in given:
        name, mark, columns = text.partition("=")
        chosen = _listed(columns if mark else name)
        found.append(Lens(name.strip() if mark else ", ".join(chosen), tuple(chosen)))
    return tuple(found)


def learners_of(given: Sequence[str], target: Target | None) -> list[Any]:
    """Learners by name; by default linkage, and a forest if scikit-learn is there; membership without a target."""
    if given:
        if len(set(given)) < len(given):
            raise InvalidParameter("--learner must name each learner once")
        return [_importable(named(name)) for name in given]
    if target is None:
        return [named("membership")]
    return [named("linkage")] + ([named("forest")] if importlib.util.find_spec("sklearn") else [])


def _importable(learner: Any) -> Any:
    """The learner, refused now and not in each split where its estimator is not there."""
    if isinstance(learner, Estimator):
        model = learner.fresh()
        if not hasattr(model, "fit") or not any(hasattr(model, way) for way in ("predict_proba", "decision_function")):
            raise InvalidParameter(f"--learner {learner.name} must be a classifier that gives probabilities or scores")
    return learner


def released_columns(options: Sequence[str], domains: Sequence[str], table: Table) -> list[str] | None:
    """The columns of the table that a curator of these options releases; None for all, or if that is not known."""
    told = dict(_pairs("--with", options))
    named = [name for name, _ in _pairs("--domain", domains)]
    shown = named or _listed(told.get("columns", told.get("column", "")))
    for name in shown:
        if name not in table:
            raise InvalidParameter(f"{'--domain' if named else '--with'}: {missing_column(name, table.names)}")
    return shown or None


def curator_of(
    text: str,
    options: Sequence[str],
    domains: Sequence[str],
    epsilon: str | None,
    time_limit: float,
    target: Target | None,
) -> Any:
    """A curator: a built-in name, `LIBRARY.GENERATOR` of an installed library, or a shell command."""
    told = dict(_pairs("--with", options))
    if "{train}" in text or "{release}" in text or " " in text.strip():
        if told or domains or epsilon:
            raise InvalidParameter("--with, --domain and --epsilon are for built-in curators, not for a command")
        return curators.Shell(text, time_limit)
    known = {name: [_value(value) for value in _listed(values)] for name, values in _pairs("--domain", domains)}
    made = _built_in(text, told, known, None if epsilon is None else _number("--epsilon", epsilon), target)
    if told:
        raise InvalidParameter(f"--with: curator {text!r} takes no {', '.join(map(repr, told))}")
    return made


def _built_in(
    name: str, told: dict[str, str], domains: Mapping[str, list[Any]], epsilon: float | None, target: Target | None
) -> Any:
    private = name in ("noisy-histogram", "noisy-marginals", "private-naive-bayes")
    if private and (not domains or epsilon is None):
        raise InvalidParameter(
            f"curator {name!r} needs --epsilon, and --domain COLUMN=VALUE,... for each column it releases: "
            "which values occur is itself private"
        )
    if not private and name in CURATORS and (domains or epsilon is not None):
        raise InvalidParameter(f"--domain and --epsilon are for private curators; {name!r} adds no noise")
    if name == "clear":
        return curators.Clear(_listed(told.pop("columns")) if "columns" in told else None)
    if name == "bootstrap":
        return curators.Bootstrap()
    if name == "random-subset":
        return curators.RandomSubset(_whole(told, name, "rows"))
    if name == "cart":
        return curators.Cart(_whole(told, name, "leaf", 5))
    if name in ("shuffled-column", "count"):
        column = told.pop("column", None) or (target.column if target else None)
        if column is None:
            raise InvalidParameter(f"curator {name!r} needs --with column=COLUMN")
        if name == "shuffled-column":
            return curators.ShuffledColumn(column)
        value = told.pop("value", None)
        return curators.Count(column, _value(value) if value is not None else target.equals if target else 1)
    if name == "noisy-histogram":
        return curators.NoisyHistogram(domains, epsilon)
    if name == "noisy-marginals":
        chosen = told.pop("marginals", None)
        tables = [tuple(_listed(one, "+")) for one in _listed(chosen)] if chosen else [(one,) for one in domains]
        return curators.NoisyMarginals(domains, tables, epsilon)
    if name == "private-naive-bayes":
        if target is None:
            raise InvalidParameter("curator 'private-naive-bayes' needs --target")
        return curators.PrivateNaiveBayes(target.column, domains, epsilon, told.pop("release", "table"))
    library, mark, generator = name.partition(".")
    if mark and generator:
        if library not in curators.installed():
            there = ", ".join(curators.installed()) or "none"
            raise InvalidParameter(
                f"--curator {name!r}: library {library!r} is not installed here; of those known: {there}"
            )
        made = curators.Library(library, generator, {key: _value(value) for key, value in told.items()})
        told.clear()
        return made
    raise InvalidParameter(
        f"--curator must be one of {', '.join(CURATORS)}, LIBRARY.GENERATOR, or a command with {{train}} and "
        f"{{release}}, got {name[:60]!r}"
    )


def _whole(told: dict[str, str], curator: str, key: str, default: int | None = None) -> int:
    text = told.pop(key, None)
    if text is None and default is not None:
        return default
    if text is None or not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise InvalidParameter(f"curator {curator!r} needs --with {key}=NUMBER, 1 or more")
    return int(text)


def _pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for text in given:
        name, mark, values = text.partition("=")
        if not mark or not name.strip() or not _listed(values):
            raise InvalidParameter(f"{option} must be NAME=VALUE, got {text[:60]!r}")
        found.append((name.strip(), values.strip()))
    if len(dict(found)) < len(found):
        raise InvalidParameter(f"{option} must name each name once")
    return found


def _listed(text: str, mark: str = ",") -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def _columns(given: Sequence[str]) -> list[str]:
    return [name for text in given for name in _listed(text)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(option: str, text: str) -> float:
    if not _is_number(text) or not math.isfinite(float(text)):
        raise InvalidParameter(f"{option} must hold finite numbers, got {text[:60]!r}")
    return float(text)


def _value(text: str) -> Any:
    """A number where the text is one, otherwise the text."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


__all__ = [
    "CURATORS",
    "curator_of",
    "groups_of",
    "learners_of",
    "lenses_of",
    "read_table",
    "released_columns",
    "target_of",
]
