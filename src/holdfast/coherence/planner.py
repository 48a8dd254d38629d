"""From a tolerance to the largest epsilon, and from an epsilon to the groups that it protects."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.bounds import coherence as bounds
from holdfast.bounds.coherence import LargestEpsilon, Mode, Population
from holdfast.bounds.coherence.group_size import even_rows, tightest_population, tolerance
from holdfast.bounds.numerics.exact import digits_down, digits_up
from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter

# --- Planner ----------------------------------------------------------------------------------------------------------

ROUTES: tuple[tuple[str, str, Mode, Population], ...] = (
    ("Theorem 7, sharp, finite population", "pure", "sharp", "finite"),
    ("Theorem 7, sharp", "pure", "sharp", "large"),
    ("Theorem 7, finite population", "pure", "paper", "finite"),
    ("Theorem 7, corrected", "pure", "corrected", "large"),
    ("Theorem 7, printed", "pure", "paper", "large"),
    ("Theorem 8, sharp", "approx", "sharp", "large"),
    ("Theorem 8, corrected", "approx", "corrected", "large"),
    ("Theorem 8, printed", "approx", "paper", "large"),
)
"""Every way to an epsilon: what it is called, pure or approximate privacy, mode, population."""


@dataclass(frozen=True)
class Route:
    """One theorem that gives an epsilon, and the epsilon that it allows.

    Examples
    --------
    >>> plan = plan_epsilon(0.2, math.exp(-30), 100, 5_000_000, 250_000)
    >>> plan.chosen.name, round(plan.chosen.epsilon, 6)
    ('Theorem 7, sharp, finite population', 0.040216)
    """

    name: str
    privacy: str
    mode: Mode
    population: Population
    found: LargestEpsilon

    @property
    def epsilon(self) -> float:
        """The largest epsilon that the theorem allows; 0 if it allows none."""
        return self.found.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        plain: dict[str, Any] = {
            "name": self.name,
            "privacy": self.privacy,
            "mode": self.mode,
            "population": self.population,
            "epsilon": self.epsilon,
            "feasible": self.found.feasible,
        }
        extra = {k: v for k, v in self.found.details.items() if k in ("delta_max", "log10_delta_max")}
        return plain | extra | ({"reason": self.found.reason} if self.found.reason else {})


@dataclass(frozen=True)
class EpsilonPlan:
    """The epsilon that each theorem allows for one tolerance. Within each kind of privacy the largest comes first.

    Examples
    --------
    >>> plan = plan_epsilon(0.2, math.exp(-30), 100, 5_000_000, 250_000)
    >>> plan.feasible, round(plan.epsilon, 6), plan.best.name
    (True, 0.040216, 'Theorem 7, sharp, finite population')
    """

    alpha: float
    beta: float
    groups: int
    n: int
    size: int
    mode: Mode
    population: Population
    routes: tuple[Route, ...]
    ceiling: float
    least: Mapping[str, float]

    @property
    def chosen(self) -> Route:
        """The result for pure privacy in the mode that was requested."""
        return next(r for r in self.routes if (r.privacy, r.mode, r.population) == ("pure", self.mode, self.population))

    @property
    def epsilon(self) -> float:
        """The largest epsilon in the mode that was requested; 0 if there is none."""
        return self.chosen.epsilon

    @property
    def feasible(self) -> bool:
        """Whether the mode that was requested allows any epsilon."""
        return self.chosen.found.feasible

    @property
    def best(self) -> Route:
        """The theorem with the largest epsilon, as a `Route`."""
        return max(self.routes, key=lambda route: route.epsilon)

    def title(self) -> str:
        """Return one line that describes the request."""
        called = "group" if self.groups == 1 else "groups"
        return (
            f"Largest epsilon: {self.groups:,} {called} of at least {self.size:,} of {self.n:,} rows, "
            f"alpha {self.alpha:g}, beta {self.beta:.3g}"
        )

    def words(self) -> list[str]:
        """Return the plan in sentences. The verdict comes first."""
        share = f"{100 * bounds.flipped_share(self.alpha):.3g}%"
        sentences = []
        if self.feasible:
            sentences.append(
                f"An epsilon-DP release about half of the {self.n:,} rows may use epsilon up to "
                f"{digits_down(self.epsilon, 6):.6g} ({self.chosen.name})."
            )
        else:
            sentences.append(f"No epsilon is allowed by {self.chosen.name}: {self.chosen.found.reason}.")
            sentences.append(self._would())
            return sentences
        sentences.append(
            f"The promise: with probability at least 1 - {self.beta:.3g}, no predictor made from the release separates "
            f"the released half of any of the {self.groups:,} groups from the other half by more than {self.alpha:g}, "
            f"as if {share} of the group had flipped from a certain no to a certain yes."
        )
        if self.best.epsilon > self.epsilon:
            sentences.append(f"{self.best.name} allows {digits_down(self.best.epsilon, 6):.6g}.")
        sentences.append(
            f"With groups of this share no amount of data allows more than {digits_up(self.ceiling, 6):.6g} "
            f"({self.chosen.name})."
        )
        sentences.append("Neighbours replace one row, and the release must not depend on the order of the rows.")
        return sentences

    def _would(self) -> str:
        """From which group size on some epsilon is allowed, as printed and at best."""
        if not self.least["sharp"] <= self.n:
            return f"No group of {self.n:,} rows is large enough for alpha = {self.alpha:g}, in any mode."
        sizes = {mode: f"{math.ceil(size):,}" for mode, size in self.least.items() if size <= self.n}
        printed = f", {sizes['paper']} as printed" if "paper" in sizes else ", none as printed"
        return f"Some epsilon is allowed for groups of more than {sizes['sharp']} rows (sharp mode{printed})."

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "alpha": self.alpha,
            "beta": self.beta,
            "groups": self.groups,
            "n": self.n,
            "size": self.size,
            "mode": self.mode,
            "population": self.population,
            "epsilon": self.epsilon,
            "feasible": self.feasible,
            "ceiling": self.ceiling,
            "least_size": dict(self.least),
            "methods": [route.to_dict() for route in self.routes],
            "words": self.words(),
        }

    def __str__(self) -> str:
        return "\n".join(self.words())


def plan_epsilon(
    alpha: float,
    beta: float,
    groups: int,
    n: int,
    size: int,
    mode: Mode = "sharp",
    population: Population | None = None,
    *,
    lenses: int = 1,
    predictors: int = 1,
) -> EpsilonPlan:
    """Compute the largest epsilon that a tolerance allows, by every theorem.

    `mode` and `population` choose the theorem whose result is the plan's `epsilon`.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance of predictions in [-1, 1], in (0, 2). Twice the share of a group that may flip
        from a certain no to a certain yes.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even: the release sees half of them. For a release about `N` rows, `2 N`.
    size : int
        Rows of the smallest protected group among the `n`.
    mode : str
        "sharp" (default), the tightest that is proved; "paper", as printed; or "corrected".
    population : str, optional
        "finite" with the factor of sampling half of a finite population (not in mode "corrected"), "large" as printed.
        None: "finite" in mode "sharp", otherwise "large".
    lenses, predictors : int
        How many of each the promise covers at once.

    Returns
    -------
    EpsilonPlan
        Cost: a few milliseconds; `python -m benchmarks coherence` measures it.

    Examples
    --------
    >>> plan = plan_epsilon(0.2, math.exp(-30), 100, 5_000_000, 250_000, "paper")
    >>> round(plan.epsilon, 10), round(plan.best.epsilon, 10)
    (0.0120906597, 0.0402159355)
    """
    alpha = arguments.real("alpha", alpha, above=0, below=2)
    arguments.choice("mode", mode, bounds.MODES)
    population = tightest_population(mode, population)
    arguments.choice("population", population, bounds.POPULATIONS)
    if (mode, population) == ("corrected", "finite"):
        raise InvalidParameter("population must be 'large' in mode 'corrected'; 'finite' needs mode 'paper' or 'sharp'")
    n = even_rows(n)
    size = arguments.whole("size", size, at_least=1, at_most=n)
    routes = []
    for name, privacy, each, over in ROUTES:
        if privacy == "pure":
            needed = bounds.pure_dp_epsilon(alpha, beta, groups, n, size, each, over, lenses, predictors)
        else:
            needed = bounds.approx_dp_epsilon(alpha, beta, groups, n, size, each, lenses, predictors)
        routes.append(Route(name, privacy, each, over, needed))
    ceiling = bounds.epsilon_ceiling(alpha, size / n, mode, population)
    counted = groups * lenses * predictors
    modes: dict[str, Mode] = {"paper": "paper", "sharp": "sharp"}
    least = {name: bounds.max_information_size(alpha, beta, counted, 0.0, n, each).size for name, each in modes.items()}
    return EpsilonPlan(alpha, float(beta), int(groups), n, size, mode, population, tuple(routes), ceiling, least)


@dataclass(frozen=True)
class ProtectedGroup:
    """One group: its size, and whether a release at the given epsilon protects it.

    Examples
    --------
    >>> deaf = protected_groups(0.01, 0.2, 0.05, {"deaf": 3500}, 5_000_000)[0]
    >>> deaf.name, deaf.protected, deaf.needed > deaf.size
    ('deaf', False, True)
    """

    name: str
    size: int
    needed: float
    protected: bool
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. `alpha` is the smallest tolerance that is kept for a group of this size, `inf` if there is
        none.
        """
        return {
            "name": self.name,
            "size": self.size,
            "needed": self.needed,
            "protected": self.protected,
            "smallest_alpha": self.alpha,
        }


def protected_groups(
    epsilon: float,
    alpha: float,
    beta: float,
    sizes: Mapping[str, int],
    n: int,
    mode: Mode = "sharp",
    population: Population | None = None,
    *,
    lenses: int = 1,
    predictors: int = 1,
) -> tuple[ProtectedGroup, ...]:
    """Return which groups an `epsilon`-DP release protects at a tolerance, the largest group first.

    For each group the result also has the smallest tolerance that is kept for its size. The guarantee is for all listed
    groups together, including those that turn out to be too small.

    Parameters
    ----------
    epsilon : float
        The privacy parameter of the release, neighbours replace one row.
    alpha, beta : float
        Tolerance and failure probability.
    sizes : mapping
        Name of a group to its rows among the `n`.
    n : int
        Rows in the audited data set, even.
    mode, population : str
        As in `plan_epsilon`.
    lenses, predictors : int
        How many of each the promise covers at once.

    Examples
    --------
    >>> sizes = {"all": 1_000_000, "women": 510_000, "left-handed": 10_000}
    >>> found = protected_groups(0.01, 0.2, 0.01, sizes, 1_000_000, "paper")
    >>> [(g.name, g.protected, round(g.alpha, 3)) for g in found]
    [('all', True, 0.039), ('women', True, 0.055), ('left-handed', False, 0.394)]
    """
    if not isinstance(sizes, Mapping) or not sizes:
        raise InvalidParameter("sizes must be a mapping from at least one group name to its number of rows")
    n = even_rows(n)
    population = tightest_population(mode, population)
    checked = {str(k): arguments.whole(f"sizes[{k!r}]", v, at_least=0, at_most=n) for k, v in sizes.items()}
    least = bounds.pure_dp_size(
        tolerance(alpha, mode), beta, len(checked), n, epsilon, mode, population, lenses, predictors
    )
    protected = []
    for name, size in sorted(checked.items(), key=lambda item: (-item[1], item[0])):
        promised = math.inf
        if size:
            promised = bounds.pure_dp_alpha(beta, len(checked), n, size, epsilon, mode, population, lenses, predictors)
        protected.append(ProtectedGroup(name, size, least.size, size >= least.size, promised))
    return tuple(protected)


TABLE_1: tuple[tuple[float, float], ...] = (
    (0.1, 0.003),
    (0.2, 0.01),
    (0.3, 0.02),
    (0.4, 0.025),
    (0.8, 0.056),
    (0.9, 0.065),
    (1.3, 0.09),
    (1.4, 0.1),
)
"""Tolerance and epsilon as the paper's Table 1 prints them, for 5 million rows, 100 groups of 5%, beta = exp(-30)."""


def table_1() -> list[dict[str, float]]:
    """Reproduce Table 1 of the paper: the group size that each published epsilon needs, and the largest epsilon by each
    theorem.

    The published epsilons are allowed, but larger ones are allowed too.

    Examples
    --------
    >>> row = table_1()[1]
    >>> row["alpha"], row["printed"], round(row["size needed"], 2), round(row["paper"], 10)
    (0.2, 0.01, 190445.03, 0.0120906597)
    """
    beta, groups, n, size = math.exp(-30), 100, 5_000_000, 250_000
    rows = []
    for alpha, printed in TABLE_1:
        pure = {
            label: bounds.pure_dp_epsilon(alpha, beta, groups, n, size, mode, population).epsilon
            for label, mode, population in _TABLE_COLUMNS
        }
        approx = bounds.approx_dp_epsilon(alpha, beta, groups, n, size, "paper")
        rows.append(
            {
                "alpha": alpha,
                "printed": printed,
                "size needed": bounds.pure_dp_size(alpha, beta, groups, n, printed, "paper").size,
                **pure,
                "Theorem 8": approx.epsilon,
                "Theorem 8 delta": float(approx.details["delta_max"]),
            }
        )
    return rows


_TABLE_COLUMNS: Sequence[tuple[str, Mode, Population]] = (
    ("paper", "paper", "large"),
    ("paper, finite", "paper", "finite"),
    ("sharp", "sharp", "large"),
    ("sharp, finite", "sharp", "finite"),
)


# --- Frontier ---------------------------------------------------------------------------------------------------------
# The frontier: tolerance against the largest epsilon, one line for each group size.

ALPHAS = (0.05, 0.07, 0.1, 0.14, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4)
SHARES = (0.01, 0.05, 0.2, 1.0)


def frontier(
    beta: float,
    groups: int,
    n: int,
    sizes: Sequence[int] | None = None,
    alphas: Sequence[float] = ALPHAS,
    mode: Mode = "sharp",
    population: Population | None = None,
) -> list[dict[str, Any]]:
    """Return the largest epsilon for every tolerance and group size; 0 where there is none.

    Parameters
    ----------
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even.
    sizes : list of int, optional
        Group sizes; 1%, 5%, 20% and all of the rows by default.
    alphas : list of float
        Tolerances in (0, 2).
    mode, population : str
        As in `plan_epsilon`.

    Returns
    -------
    list of dict
        `alpha`, `size`, `share`, `epsilon`, `ceiling`. Cost: about 10 milliseconds a point in sharp mode.

    Examples
    --------
    >>> rows = frontier(0.01, 20, 1_000_000, [50_000], [0.1, 0.2])
    >>> [(row["alpha"], round(row["epsilon"], 4)) for row in rows]
    [(0.1, 0.0147), (0.2, 0.0389)]
    """
    n = even_rows(n)
    if sizes is None:
        sizes = [max(1, round(share * n)) for share in SHARES]
    points = arguments.reals("alphas", alphas, above=0, below=2)
    if isinstance(sizes, (str, bytes)) or not len(sizes):
        raise InvalidParameter("sizes must be a list of at least one number of rows")
    rows = []
    for i, size in enumerate(sizes):
        rows_in = arguments.whole(f"sizes[{i}]", size, at_least=1, at_most=n)
        for alpha in points:
            needed = bounds.pure_dp_epsilon(alpha, beta, groups, n, rows_in, mode, population)
            ceiling = bounds.epsilon_ceiling(alpha, rows_in / n, mode, population)
            share = rows_in / n
            rows.append(
                {"alpha": alpha, "size": rows_in, "share": share, "epsilon": needed.epsilon, "ceiling": ceiling}
            )
    return rows


def frontier_plot(rows: Sequence[dict[str, Any]], title: str) -> Any:
    """Return an Altair chart of `frontier`: a line for each group size, the limit of endless data dashed."""
    with named_extras():
        alt: Any = importlib.import_module("altair")
    drawn = [
        row | {"groups of": f"{row['size']:,} rows ({100 * row['share']:.3g}%)"} for row in rows if row["epsilon"] > 0
    ]
    order = list(dict.fromkeys(f"{row['size']:,} rows ({100 * row['share']:.3g}%)" for row in rows))
    base = alt.Chart(alt.Data(values=drawn)).encode(
        x=alt.X("alpha:Q", scale=alt.Scale(type="log", nice=False), title="tolerated distance alpha"),
        color=alt.Color("groups of:N", sort=order, legend=alt.Legend(orient="bottom", columns=2, labelLimit=0)),
    )
    axis = alt.Y("epsilon:Q", scale=alt.Scale(type="log"), title="largest epsilon")
    line = base.mark_line(point=True).encode(
        y=axis,
        strokeDash=alt.StrokeDash("groups of:N", sort=order, legend=None),
        tooltip=["groups of:N", "alpha:Q", "epsilon:Q", "ceiling:Q"],
    )
    limit = base.mark_line(opacity=0.5, strokeDash=[1, 3]).encode(y=alt.Y("ceiling:Q"))
    subtitle = "dotted: what no amount of data exceeds; group sizes without an epsilon are not drawn"
    return (line + limit).properties(width=560, height=360, title=alt.Title(title, subtitle=subtitle))


__all__ = [
    "ROUTES",
    "TABLE_1",
    "EpsilonPlan",
    "ProtectedGroup",
    "Route",
    "plan_epsilon",
    "protected_groups",
    "table_1",
]
