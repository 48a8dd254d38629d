"""Synthetic rows: by classification and regression trees, or by libraries that happen to be installed."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.coherence.encoding import Matrix, Values
from holdfast.coherence.table import Column, Table
from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter, NotInstalled

# --- Cart -------------------------------------------------------------------------------------------------------------
# Synthetic rows by classification and regression trees, one column after the other. Not differentially private.


@dataclass(frozen=True)
class Cart:
    """A curator that releases synthetic rows made with one decision tree per column.

    The values of the first column are drawn with replacement from the half. For each further column a tree is grown
    that predicts it from the columns before. A synthetic row takes the value of a random real row in the leaf into
    which it falls. With leaves of one row the release nearly copies people. Larger leaves blur it. Needs scikit-learn.

    Parameters
    ----------
    leaf : int
        Least number of rows in a leaf.
    columns : sequence of str, optional
        The order in which columns are made; default: as in the data.
    rows : int, optional
        How many rows to make; default: as many as the half has.

    Examples
    --------
    >>> half = Table.of({"age": [30, 41, 30, 41] * 25, "ill": [0, 1, 0, 1] * 25})
    >>> made = Cart(leaf=5)(half, np.random.default_rng(1))
    >>> made.rows, bool((made["ill"] == (made["age"] == 41)).all())
    (100, True)
    """

    leaf: int = 5
    columns: Sequence[str] | None = None
    rows: int | None = None
    name: str = "cart"

    def __post_init__(self) -> None:
        arguments.whole("leaf", self.leaf, at_least=1)
        if self.rows is not None:
            arguments.whole("rows", self.rows, at_least=1)

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        with named_extras():
            from sklearn import tree
        names = tuple(self.columns or half.names)
        rows = half.rows if self.rows is None else self.rows
        columns: dict[str, Column] = {names[0]: half[names[0]][rng.integers(half.rows, size=rows)]}
        for place, name in enumerate(names[1:], start=1):
            matrix = Matrix.of(half, names[:place])
            wanted: Any = Values.of(half[name]).codes(half[name])
            grow = tree.DecisionTreeClassifier
            if half[name].dtype.kind != "O":
                wanted, grow = np.nan_to_num(half[name].astype(np.float64), nan=-1.0), tree.DecisionTreeRegressor
            grown = grow(min_samples_leaf=self.leaf, random_state=int(rng.integers(2**31 - 1)))
            grown.fit(matrix(half), wanted)
            columns[name] = half[name][
                _donors(grown.apply(matrix(half)), grown.apply(matrix(Table(columns, rows))), rng.random(rows))
            ]
        return Table(columns, rows, half.booleans)


def _donors(real: Any, synthetic: Any, chance: Any) -> Any:
    """For each synthetic row a real row of the same leaf."""
    order = np.argsort(real, kind="stable")
    leaves, starts, counts = np.unique(real[order], return_index=True, return_counts=True)
    at = np.searchsorted(leaves, synthetic)  # every leaf holds a real row
    return order[starts[at] + np.minimum((chance * counts[at]).astype(np.int64), counts[at] - 1)]


# --- Libraries --------------------------------------------------------------------------------------------------------
# Adapters for synthetic-data libraries that happen to be installed. Holdfast depends on none of them.


@dataclass(frozen=True)
class Library:
    """A curator that uses the generator of an installed library.

    The generator is fitted on the half and releases as many synthetic rows as the half has.

    Parameters
    ----------
    library : str
        "sdv", "ctgan", "synthcity" or "smartnoise". `installed()` lists those that can be imported.
    generator : str
        The library's name of the generator: a class of `sdv.single_table` such as "GaussianCopulaSynthesizer", "CTGAN"
        or "TVAE" of ctgan, a plugin of synthcity such as "adsgan", a synthesiser of SmartNoise such as "mst".
    options : mapping
        Passed on to the generator, for example `{"epsilon": 1.0}`.

    Notes
    -----
    The libraries draw their own randomness; NumPy's global generator is seeded from the audit first, which makes some
    of them repeatable. Because that generator is shared, use one worker. Their claims of privacy are their own.

    Examples
    --------
    >>> Library("sdv", "GaussianCopulaSynthesizer")
    Library(library='sdv', generator='GaussianCopulaSynthesizer', options={}, name='sdv.GaussianCopulaSynthesizer')
    """

    library: str
    generator: str
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        if self.library not in _MADE:
            raise InvalidParameter(f"library must be one of {', '.join(_MADE)}, got {self.library!r}")
        object.__setattr__(self, "name", self.name or f"{self.library}.{self.generator}")

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        module, make = _MADE[self.library]
        if importlib.util.find_spec(module) is None:
            raise NotInstalled(
                f"library {self.library!r} is not installed: Python finds no module {module!r}; install the library "
                "first",
                name=module,
            )
        np.random.seed(int(rng.integers(2**32 - 1)))  # noqa: NPY002  (the libraries draw from the global generator)
        frame = half.to_pandas()
        return Table.of(make(self.generator, dict(self.options), frame), f"the release of {self.library}")


def installed() -> tuple[str, ...]:
    """Return which of the supported libraries can be imported here.

    Examples
    --------
    >>> set(installed()) <= set(_MADE)
    True
    """
    return tuple(name for name, (module, _) in _MADE.items() if importlib.util.find_spec(module) is not None)


def _part(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidParameter(f"{module} has no {name!r}") from error


def _sdv(generator: str, options: dict[str, Any], frame: Any) -> Any:
    metadata = _part("sdv.metadata", "SingleTableMetadata")()
    metadata.detect_from_dataframe(frame)
    model = _part("sdv.single_table", generator)(metadata, **options)
    model.fit(frame)
    return model.sample(num_rows=len(frame))


def _ctgan(generator: str, options: dict[str, Any], frame: Any) -> Any:
    model = _part("ctgan", generator)(**options)
    model.fit(frame, [name for name in frame.columns if frame[name].dtype.kind not in "biuf"])
    return model.sample(len(frame))


def _synthcity(generator: str, options: dict[str, Any], frame: Any) -> Any:
    model = _part("synthcity.plugins", "Plugins")().get(generator, **options)
    model.fit(frame)
    return model.generate(count=len(frame)).dataframe()


def _smartnoise(generator: str, options: dict[str, Any], frame: Any) -> Any:
    model = _part("snsynth", "Synthesizer").create(generator, **options)
    model.fit(frame)
    return model.sample(len(frame))


_MADE: Mapping[str, tuple[str, Callable[[str, dict[str, Any], Any], Any]]] = {
    "sdv": ("sdv", _sdv),
    "ctgan": ("ctgan", _ctgan),
    "synthcity": ("synthcity", _synthcity),
    "smartnoise": ("snsynth", _smartnoise),
}
