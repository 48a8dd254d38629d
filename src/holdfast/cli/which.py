"""`holdfast test which`: every test for a setting, with its predicted power."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.bounds.registry import shown
from holdfast.cli import count_input, output
from holdfast.cli.picture import can_draw, draw
from holdfast.cli.progress import progress_bar
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from holdfast.inference.private_tests.which_test import WhichTest


def which(
    n: int = typer.Option(..., "--n", help="Number of records."),
    d: int = typer.Option(None, "--d", help="Goodness of fit with this many cells, uniform null."),
    p0: str = typer.Option(None, "--p0", help="Goodness of fit with this null: 1/2,1/6,1/6,1/6."),
    p1: str = typer.Option(None, "--p1", help="The alternative; the one that is hardest to see if not given."),
    shape: str = typer.Option(None, "--shape", help="Independence in a table of this many rows and columns: 3,4."),
    table: str = typer.Option(None, "--table", help="Independence with these probabilities: '0.26,0.24;0.24,0.26'."),
    effect: float = typer.Option(0.1, "--effect", help="Cohen's w of the alternative: .1 small, .3 medium, .5 large."),
    rho: float = typer.Option(None, "--rho", help="The zCDP to spend."),
    epsilon: float = typer.Option(None, "--epsilon", help="The pure differential privacy to spend."),
    alpha: float = typer.Option(0.05, "--alpha", help="The level."),
    target: float = typer.Option(None, "--target", help="Also the records and the budget that this power needs."),
    plot: Path = typer.Option(None, "--plot", help="Draw power against records: .svg, .png, .html or .json."),  # noqa: B008
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Which test for me: every applicable test with its power, before a record is touched and anything is spent."""
    from holdfast.inference.private_tests import which_gof, which_independence

    if plot is not None:
        can_draw(plot)
    goodness = d is not None or p0 is not None
    if goodness == (shape is not None or table is not None):
        raise InvalidParameter("give --d or --p0 for goodness of fit, or --shape or --table for independence")
    count_input.one_budget(rho, epsilon)
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "alpha": alpha, "target": target, "effect": effect}
    with progress_bar("which test", shown=not as_json and target is not None) as progress:
        shared["progress"] = progress
        if goodness:
            null = None if p0 is None else count_input.numbers("--p0", p0)
            found = which_gof(n, d=d, p0=null, p1=None if p1 is None else count_input.numbers("--p1", p1), **shared)
        else:
            if p1 is not None:
                raise InvalidParameter("--p1 is for goodness of fit; give --table for independence")
            found = which_independence(
                n, shape=_shape(shape), p=None if table is None else count_input.rows("--table", table), **shared
            )
    if plot is not None:
        _draw(found, n, plot)
    if as_json:
        output.print_json(found.to_dict() | {"plot": None if plot is None else str(plot)})
    else:
        _show(found, plot)


def _shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = count_input.numbers("--shape", text.replace("x", ","))
    if len(found) != 2:
        raise InvalidParameter(f"--shape must be two numbers, rows and columns, got {text!r}")
    return found[0], found[1]  # type: ignore[return-value]


def _draw(found: WhichTest, n: int, plot: Path) -> None:
    from holdfast.inference.private_tests import power_chart

    ns = sorted({max(2, round(n * 2.0**k)) for k in (-4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4)})
    curves = {c.predicted.test: [c.predict(n=size) for size in ns] for c in found.candidates}
    draw(power_chart(curves, found.question), plot)


def _show(found: WhichTest, plot: Path | None) -> None:
    columns = ["test", "trust", "power", "level", "cost", "run it with"]
    if found.target is not None:
        columns[3:3] = [f"n for {found.target:g}", "budget for it"]
    rows = []
    for c in found.candidates:
        p = c.predicted
        row: list[object] = [
            p.test,
            c.trust,
            f"{p.power:.3f}",
            p.level,
            "not private" if p.cost is None else p.cost,
            c.call,
        ]
        if found.target is not None:
            row[3:3] = [c.n_needed or "", "" if c.budget_needed is None else shown(c.budget_needed)]
        rows.append(row)
    output.table(found.question, columns, rows)
    for name, why in found.left_out:
        output.say(f"{name} left out: {why}.")
    for warning in dict.fromkeys(w for c in found.candidates for w in c.predicted.warnings):
        output.say(f"Note: {warning}.")
    if plot is not None:
        output.say(f"The picture is in {plot}.")


__all__ = ["which"]
