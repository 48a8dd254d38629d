"""The frontier: tolerance against the largest epsilon, one line for each group size."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from holdfast import check
from holdfast.bounds import coherence as bounds
from holdfast.bounds.coherence import Mode, Population
from holdfast.bounds.coherence.ratio import even_rows
from holdfast.errors import InvalidParameter
from holdfast.extras import named_extras

ALPHAS = (0.05, 0.07, 0.1, 0.14, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4)
SHARES = (0.01, 0.05, 0.2, 1.0)


def frontier(
    beta: float,
    groups: int,
    n: int,
    sizes: Sequence[int] | None = None,
    alphas: Sequence[float] = ALPHAS,
    mode: Mode = "paper",
    population: Population = "large",
) -> list[dict[str, Any]]:
    """The largest epsilon for every tolerance and group size; 0 where there is none.

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
    [(0.1, 0.0), (0.2, 0.0114)]
    """
    n = even_rows(n)
    if sizes is None:
        sizes = [max(1, round(share * n)) for share in SHARES]
    points = check.reals("alphas", alphas, above=0, below=2)
    if isinstance(sizes, (str, bytes)) or not len(sizes):
        raise InvalidParameter("sizes must be a list of at least one number of rows")
    rows = []
    for i, size in enumerate(sizes):
        rows_in = check.whole(f"sizes[{i}]", size, at_least=1, at_most=n)
        for alpha in points:
            found = bounds.pure_dp_epsilon(alpha, beta, groups, n, rows_in, mode, population)
            ceiling = bounds.epsilon_ceiling(alpha, rows_in / n, mode, population)
            share = rows_in / n
            rows.append({"alpha": alpha, "size": rows_in, "share": share, "epsilon": found.epsilon, "ceiling": ceiling})
    return rows


def frontier_plot(rows: Sequence[dict[str, Any]], title: str) -> Any:
    """An Altair chart of `frontier`: a line for each group size, the limit of endless data dashed."""
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


__all__ = ["ALPHAS", "SHARES", "frontier", "frontier_plot"]
