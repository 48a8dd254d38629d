"""`holdfast epsilon`: from a tolerance to the largest epsilon, or from an epsilon to the groups it protects."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from holdfast.cli import output
from holdfast.cli.picture import can_draw, draw
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

if TYPE_CHECKING:
    from holdfast.bounds.coherence import Mode, Population


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("epsilon")(epsilon)


def epsilon(
    alpha: float = typer.Option(..., "--alpha", help="Tolerated distance in (0, 2): twice the share that may flip."),
    beta: float = typer.Option(0.05, "--beta", help="Failure probability of the whole experiment."),
    groups: int = typer.Option(None, "--groups", help="Groups protected at once.  [default: 1, or those listed]"),
    n: int = typer.Option(None, "--n", help="Rows of the audited data set, even; the release sees half of them."),
    rows: int = typer.Option(None, "--rows", help="Rows that the release sees, in place of --n (which is twice that)."),
    size: int = typer.Option(None, "--size", help="Rows of the smallest protected group among --n."),
    given: float = typer.Option(None, "--epsilon", help="Turn around: which groups does this epsilon protect?"),
    group: list[str] = typer.Option([], "--group", metavar="NAME=ROWS", help="With --epsilon or --ledger; repeat."),  # noqa: B008
    ledger: str = typer.Option(None, "--ledger", help="Which groups does what this ledger answered so far protect?"),
    dataset: str = typer.Option(
        None, "--dataset", help="With --ledger: the beginning of a fingerprint, among several."
    ),
    mode: str = typer.Option(
        "paper", "--mode", help="paper: as printed; corrected; or sharp: without rounded constants."
    ),
    finite: bool = typer.Option(False, "--finite", help="Use that the release saw half of a finite population."),
    lenses: int = typer.Option(1, "--lenses", help="Lenses covered at once."),
    plot: Path = typer.Option(None, "--plot", help="Draw epsilon against alpha: .svg, .png, .html or .json."),  # noqa: B008
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Turn a coherence tolerance into the largest epsilon; exit status 3 when none is allowed."""
    from holdfast.bounds.coherence import MODES
    from holdfast.check import choice, whole

    choice("--mode", mode, MODES)
    for name, count in (("--groups", groups), ("--lenses", lenses)):
        if count is not None:
            whole(name, count, at_least=1)
    if ledger is not None:
        for name, value in {"--n": n, "--rows": rows, "--size": size, "--epsilon": given, "--plot": plot}.items():
            if value is not None:
                raise InvalidParameter(
                    f"{name} has no place beside --ledger, which says how many rows and what was spent"
                )
        from holdfast.cli.epsilon_ledger import read_off

        sizes, count = _listed(group, groups)
        told: tuple[Mode, Population] = (cast("Mode", mode), "finite" if finite else "large")
        refusal = read_off(ledger, dataset, alpha, beta, count * lenses, sizes, told, as_json)
        if refusal:
            raise GuaranteeUnavailable(refusal)
        return
    n = _rows(n, rows)
    if plot is not None:
        can_draw(plot)
    population = "finite" if finite else "large"
    picked = (cast("Mode", mode), cast("Population", population))
    drawn = {} if plot is None else {"plot": str(plot)}
    if given is not None:
        refusal = _protected(given, alpha, beta, groups, n, size, group, picked, lenses, drawn, as_json)
    elif group:
        raise InvalidParameter("--group goes with --epsilon or --ledger: it lists groups that these may protect")
    else:
        refusal = _largest(alpha, beta, groups or 1, n, size, picked, lenses, drawn, as_json)
    if plot is not None:
        _draw(plot, beta, (groups or max(1, len(group)), lenses), n, size, picked)
    if refusal:
        raise GuaranteeUnavailable(refusal)


def _rows(n: int | None, rows: int | None) -> int:
    if (n is None) == (rows is None):
        raise InvalidParameter("give either --n, rows of the audited data set, or --rows, those that the release sees")
    return int(n) if n is not None else 2 * int(rows or 0)


def _largest(
    alpha: float,
    beta: float,
    groups: int,
    n: int,
    size: int | None,
    picked: tuple[Mode, Population],
    lenses: int,
    drawn: dict[str, str],
    as_json: bool,
) -> str | None:
    from holdfast.bounds.exact import digits_down
    from holdfast.coherence.planner import plan_epsilon

    if size is None:
        raise InvalidParameter("--size is missing: rows of the smallest protected group; or give --epsilon")
    plan = plan_epsilon(alpha, beta, groups, n, size, *picked, lenses=lenses)
    if as_json:
        output.print_json(plan.to_dict() | drawn)
    else:
        cells = []
        for route in plan.routes:
            shown = f"{digits_down(route.epsilon, 6):.6g}" if route.found.feasible else "none"
            power = route.found.details.get("log10_delta_max")
            delta = "0" if route.privacy == "pure" else "" if power is None else f"10^{math.floor(10 * power) / 10:.1f}"
            cells.append((route.name, shown, delta, "asked" if route is plan.chosen else ""))
        output.table(plan.title(), ("by", "largest epsilon", "delta at most", ""), cells)
        for sentence in plan.words()[0 if plan.feasible else 1 :]:
            output.say(sentence)
        if drawn:
            output.say(f"Plot in {drawn['plot']}")
    return None if plan.feasible else plan.words()[0]


def _protected(
    given: float,
    alpha: float,
    beta: float,
    groups: int | None,
    n: int,
    size: int | None,
    listed: list[str],
    picked: tuple[Mode, Population],
    lenses: int,
    drawn: dict[str, str],
    as_json: bool,
) -> str | None:
    from holdfast.bounds import coherence as bounds
    from holdfast.bounds.exact import digits_up
    from holdfast.coherence.planner import protected_groups

    sizes, counted = _listed(listed, groups)
    least = bounds.pure_dp_size(alpha, beta, counted, n, given, *picked, lenses=lenses)
    found = protected_groups(given, alpha, beta, sizes, n, *picked, lenses=lenses) if sizes else ()
    needed = f"{least.rows:,} of {n:,} rows" if least.rows is not None and not least.vacuous else "no size"
    verdict = f"Epsilon {given:g} protects groups of at least {needed} at alpha = {alpha:g} ({picked[0]} mode)."
    refusal = None
    if least.vacuous:
        refusal = f"Epsilon {given:g} protects no group of {n:,} rows at alpha = {alpha:g} ({picked[0]} mode)."
    elif size is not None and size < least.size:
        refusal = f"{verdict[:-1]}, and {size:,} is less."
    elif found and not any(g.protected for g in found):
        refusal = f"{verdict[:-1]}, and every listed group is smaller."
    if as_json:
        plain: dict[str, Any] = {"epsilon": given, "alpha": alpha, "beta": beta, "groups": counted, "n": n}
        plain |= {"size": least.to_dict(), "protected": [g.to_dict() for g in found], "feasible": refusal is None}
        output.print_json(plain | drawn)
        return refusal
    if found:
        cells = [
            (
                g.name,
                f"{g.size:,}",
                "yes" if g.protected else "no",
                f"{digits_up(g.alpha, 3):.3g}" if g.alpha < 2 else "none",
            )
            for g in found
        ]
        title = f"Groups protected at epsilon {given:g}, alpha {alpha:g}, beta {beta:.3g}"
        output.table(title, ("group", "rows", "protected", "smallest alpha"), cells)
    if refusal is None:
        output.say(verdict)
    if drawn:
        output.say(f"Plot in {drawn['plot']}")
    return refusal


def _listed(given: list[str], groups: int | None) -> tuple[dict[str, int], int]:
    """Groups with their sizes, and how many are protected at once."""
    sizes = dict(_pair(text) for text in given)
    if len(sizes) < len(given):
        raise InvalidParameter("--group must name each group once")
    if sizes and groups is not None and groups != len(sizes):
        raise InvalidParameter(f"--groups must be the number of groups listed, {len(sizes)}, got {groups}")
    return sizes, len(sizes) or groups or 1


def _pair(text: str) -> tuple[str, int]:
    name, mark, count = text.rpartition("=")
    digits = count.replace("_", "")
    if not mark or not name or not digits.isdecimal() or len(digits) > 18:
        raise InvalidParameter(f"--group must be NAME=ROWS, got {text[:60]!r}")
    return name, int(digits)


def _draw(
    plot: Path, beta: float, many: tuple[int, int], n: int, size: int | None, picked: tuple[Mode, Population]
) -> None:
    from holdfast.coherence.frontier import SHARES, frontier, frontier_plot

    sizes = sorted({max(1, round(share * n)) for share in SHARES} | ({size} if size else set()))
    groups, lenses = many
    rows = frontier(beta, groups * lenses, n, sizes, mode=picked[0], population=picked[1])  # both count alike
    through = f" through {lenses} lenses" if lenses > 1 else ""
    called = "group" if groups == 1 else "groups"
    title = f"Largest epsilon, {groups:,} {called}{through}, {n:,} rows, beta {beta:.3g}, {picked[0]} mode"
    draw(frontier_plot(rows, title), plot)
