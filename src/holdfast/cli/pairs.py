"""`holdfast test all-pairs`: independence of every pair of columns of a file at one total budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast import check
from holdfast.bounds.registry import shown
from holdfast.cli import count_input, output
from holdfast.cli.progress import progress_bar
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from holdfast.inference.private_tests.all_pairs import AllPairs


def all_pairs(
    files: list[Path] = typer.Argument(..., help="CSV or Parquet files with the same columns, read one after another."),  # noqa: B008
    categories: Path = typer.Option(  # noqa: B008
        ..., "--categories", help='JSON: columns and their declared categories, {"sex": ["Female", "Male"], ...}.'
    ),
    other: str = typer.Option(
        None,
        "--other",
        help="The category that missing and undeclared values count in, in each column that declares it; a column "
        "that does not refuses them.",
    ),
    rho: float = typer.Option(..., "--rho", help="The zCDP that all pairs together may spend."),
    method: str = typer.Option("projected", "--method", help="As in `independence`, for Gaussian noise."),
    alpha: float = typer.Option(0.05, "--alpha", help="The level of all pairs together, by Holm's method."),
    merge: float = typer.Option(0.1, "--merge", help="The part of rho that finds rare categories to merge; 0: none."),
    top: int = typer.Option(20, "--top", help="How many pairs to print; --json prints all."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Test the independence of every pair of columns, the whole run at one rho, p-values corrected by Holm's method."""
    from holdfast.inference.private_tests import all_pairs as run

    check.whole("top", top, at_least=1)
    declared = count_input.declared(categories)
    rest = {} if other is None else {name: other for name, known in declared.items() if other in known}
    if other is not None and not rest:
        raise InvalidParameter(f"--other must be a declared category of some column, got {other!r}")
    with progress_bar("all pairs", shown=not as_json) as progress:
        progress(0.0, "reading")
        frame = count_input.columns(files, list(declared))
        options: dict[str, Any] = {"method": method, "alpha": alpha, "merge": merge, "other": rest}
        found = run(frame, declared, rho, progress=progress, **options)
    if as_json:
        output.print_json(found.to_dict())
    else:
        _show(found, top, rho)


def _show(found: AllPairs, top: int, rho: float) -> None:
    tested = "1 pair" if len(found.pairs) == 1 else f"{len(found.pairs)} pairs"
    title = f"{tested} of {len(found.categories)} columns, {found.n} records, rho {rho:g} in all"
    rows = []
    for pair in found.pairs[:top]:
        statistic = "" if pair.result.statistic is None else shown(pair.result.statistic)
        effect = "" if pair.effect is None else f"{pair.effect:.3f}"
        verdict = "dependent" if pair.reject else "inconclusive" if pair.result.inconclusive else "not rejected"
        degrees = pair.result.details.get("degrees", "")
        rows.append((pair.first, pair.second, effect, statistic, degrees, shown(pair.adjusted), verdict))
    columns = ("first", "second", "Cramer's V", "statistic", "degrees", "adjusted p", "verdict")
    output.table(title, columns, rows)
    output.say(
        f"{found.rejected} dependent, {found.inconclusive} inconclusive at {found.alpha:g}; {found.correction}, so "
        f"any false rejection at all has probability {found.alpha:g} at most, as far as limit laws hold in their tails."
    )
    merged = sum(found.categories.values())
    output.say(
        f"Spent rho {shown(found.spent['rho'])}: {shown(found.rho_pair)} a pair, the rest to find rare categories; "
        f"{merged} categories are left."
    )


__all__ = ["all_pairs"]
