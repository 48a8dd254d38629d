"""`holdfast epsilon`: from a tolerance to the largest epsilon, or from an epsilon to the groups it protects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from holdfast.cli import output
from holdfast.cli.output import can_draw, draw
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

if TYPE_CHECKING:
    from holdfast.bounds.coherence import GroupSize, Mode, Population
    from holdfast.coherence.released import ReleasedCoherence


# --- Epsilon ----------------------------------------------------------------------------------------------------------


_GROUPS = {
    "What is promised": ("alpha", "beta", "mode", "finite", "lenses"),
    "Population and groups": ("n", "rows", "size", "groups", "group", "given"),
    "Ledger of a guard": ("ledger", "dataset"),
    "Output": ("plot", "as_json"),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("epsilon", cls=output.grouped(_GROUPS))(epsilon)


def epsilon(
    alpha: float = typer.Option(
        ...,
        "--alpha",
        help="The tolerated distance, between 0 and 2, between the predictions for the members of a group who are in "
        "the release and for those who are not. It is twice the proportion of members whose prediction may flip.",
    ),
    beta: float = typer.Option(
        0.05, "--beta", help="The probability with which the guarantee may fail, for all groups together."
    ),
    groups: int = typer.Option(
        None,
        "--groups",
        help="Number of groups that the guarantee covers together. [default: 1, or the number of --group options]",
    ),
    n: int = typer.Option(
        None,
        "--n",
        help="Number of rows of the audited data set, an even number. The release is made from half of these rows.",
    ),
    rows: int = typer.Option(
        None,
        "--rows",
        help="Number of rows from which the release is made. Give this or --n, which is twice this number.",
    ),
    size: int = typer.Option(
        None, "--size", help="Number of rows, out of --n, of the smallest group that must be protected."
    ),
    given: float = typer.Option(
        None, "--epsilon", help="Compute the inverse: show how large a group must be so that this epsilon protects it."
    ),
    group: list[str] = typer.Option(  # noqa: B008
        [],
        "--group",
        metavar="NAME=ROWS",
        help="With --epsilon or --ledger: a group and its number of rows; shows whether it is protected. May be "
        "repeated.",
    ),
    ledger: str = typer.Option(
        None,
        "--ledger",
        help="Show which groups the guard of this ledger protects: once at the privacy limit of its policy, and once "
        "at what it has spent so far.",
    ),
    dataset: str = typer.Option(
        None,
        "--dataset",
        help="With --ledger: which data set, if there are several (the first characters of its fingerprint).",
    ),
    mode: str = typer.Option(
        "sharp",
        "--mode",
        help="The form of the theorem that is used: sharp (the tightest, with unrounded constants), paper (as "
        "published) or corrected (as published, with slips corrected).",
    ),
    finite: bool = typer.Option(
        None,
        "--finite/--large",
        help="Treat the audited rows as the whole population (--finite), of which a random half is in the release, "
        "or as a sample of a large population (--large). [default: --finite if --mode is sharp, otherwise --large]",
        show_default=False,
    ),
    lenses: int = typer.Option(
        1,
        "--lenses",
        help="Number of lenses that the guarantee covers together. A lens is a set of features that a predictor "
        "may use.",
    ),
    plot: Path = typer.Option(  # noqa: B008
        None, "--plot", help="Draw epsilon against alpha to this file: .svg, .png, .html or .json."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Find the largest privacy epsilon for a release, such that predictions made from it are nearly the same for the
    members of a group who are in the release and for those who are not. The tolerance is --alpha. The exit status is 3
    if no epsilon is small enough.
    """
    from holdfast.bounds.coherence import MODES
    from holdfast.bounds.coherence.group_size import tightest_population
    from holdfast.core.arguments import choice, whole

    choice("--mode", mode, MODES)
    population: Population = tightest_population(mode) if finite is None else "finite" if finite else "large"
    picked = (cast("Mode", mode), population)
    for name, count in (("--groups", groups), ("--lenses", lenses)):
        if count is not None:
            whole(name, count, at_least=1)
    if ledger is not None:
        for name, value in {"--n": n, "--rows": rows, "--size": size, "--epsilon": given, "--plot": plot}.items():
            if value is not None:
                raise InvalidParameter(
                    f"{name} must be left out with --ledger: the ledger says how many rows there are and how much "
                    "privacy was spent"
                )

        sizes, count = _listed(group, groups)
        refusal = read_off(ledger, dataset, alpha, beta, count * lenses, sizes, picked, as_json)
        if refusal:
            raise GuaranteeUnavailable(refusal)
        return
    n = _rows(n, rows)
    if plot is not None:
        can_draw(plot)
    drawn = {} if plot is None else {"plot": str(plot)}
    if given is not None:
        refusal = _protected(given, alpha, beta, groups, n, size, group, picked, lenses, drawn, as_json)
    elif group:
        raise InvalidParameter(
            "--group must be given together with --epsilon or --ledger, which say whether the group is protected"
        )
    else:
        refusal = _largest(alpha, beta, groups or 1, n, size, picked, lenses, drawn, as_json)
    if plot is not None:
        _draw(plot, beta, (groups or max(1, len(group)), lenses), n, size, picked)
    if refusal:
        raise GuaranteeUnavailable(refusal)


def _rows(n: int | None, rows: int | None) -> int:
    if (n is None) == (rows is None):
        raise InvalidParameter(
            "give either --n (the number of rows of the audited data set) or --rows (the number of rows from which "
            "the release is made), and not both"
        )
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
    from holdfast.bounds.numerics.exact import digits_down
    from holdfast.coherence.planner import plan_epsilon

    if size is None:
        raise InvalidParameter(
            "--size (the number of rows of the smallest group to protect) or --epsilon must be given"
        )
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
    from holdfast.bounds.numerics.exact import digits_up
    from holdfast.coherence.planner import protected_groups

    sizes, counted = _listed(listed, groups)
    least = bounds.pure_dp_size(alpha, beta, counted, n, given, *picked, lenses=lenses)
    groups_protected = protected_groups(given, alpha, beta, sizes, n, *picked, lenses=lenses) if sizes else ()
    needed = f"{least.rows:,} of {n:,} rows" if least.rows is not None and not least.vacuous else "no size"
    verdict = f"Epsilon {given:g} protects groups of at least {needed} at alpha = {alpha:g} ({picked[0]} mode)."
    refusal = None
    if least.vacuous:
        refusal = f"Epsilon {given:g} protects no group of {n:,} rows at alpha = {alpha:g} ({picked[0]} mode)."
    elif size is not None and size < least.size:
        refusal = f"{verdict[:-1]}, and {size:,} is less."
    elif groups_protected and not any(g.protected for g in groups_protected):
        refusal = f"{verdict[:-1]}, and every listed group is smaller."
    if as_json:
        plain: dict[str, Any] = {"epsilon": given, "alpha": alpha, "beta": beta, "groups": counted, "n": n}
        plain |= {
            "size": least.to_dict(),
            "protected": [g.to_dict() for g in groups_protected],
            "feasible": refusal is None,
        }
        output.print_json(plain | drawn)
        return refusal
    if groups_protected:
        cells = [
            (
                g.name,
                f"{g.size:,}",
                "yes" if g.protected else "no",
                f"{digits_up(g.alpha, 3):.3g}" if g.alpha < 2 else "none",
            )
            for g in groups_protected
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
        raise InvalidParameter("--group must have a different name for each group, and a name occurs twice")
    if sizes and groups is not None and groups != len(sizes):
        raise InvalidParameter(f"--groups must be the number of --group options, which is {len(sizes)}, got {groups}")
    return sizes, len(sizes) or groups or 1


def _pair(text: str) -> tuple[str, int]:
    name, mark, count = text.rpartition("=")
    digits = count.replace("_", "")
    if not mark or not name or not digits.isdecimal() or len(digits) > 18:
        raise InvalidParameter(f"--group must be NAME=ROWS, where ROWS is a whole number, got {text[:60]!r}")
    return name, int(digits)


def _draw(
    plot: Path, beta: float, many: tuple[int, int], n: int, size: int | None, picked: tuple[Mode, Population]
) -> None:
    from holdfast.coherence.planner import SHARES, frontier, frontier_plot

    sizes = sorted({max(1, round(share * n)) for share in SHARES} | ({size} if size else set()))
    groups, lenses = many
    rows = frontier(beta, groups * lenses, n, sizes, mode=picked[0], population=picked[1])  # both count alike
    through = f" through {lenses} lenses" if lenses > 1 else ""
    called = "group" if groups == 1 else "groups"
    title = f"Largest epsilon, {groups:,} {called}{through}, {n:,} rows, beta {beta:.3g}, {picked[0]} mode"
    draw(frontier_plot(rows, title), plot)


# --- Epsilon ledger ---------------------------------------------------------------------------------------------------
# `holdfast epsilon --ledger`: what all that went through a guard promises about groups.


def read_off(
    where: str,
    dataset: str | None,
    alpha: float,
    beta: float,
    groups: int,
    sizes: Mapping[str, int],
    picked: tuple[Mode, Population],
    as_json: bool,
) -> str | None:
    """Print which groups are protected, by the policy's cap and by what is spent; returns why none is, if none is."""
    from holdfast.bounds.numerics.exact import digits_up
    from holdfast.cli.ledgers import store_at
    from holdfast.guard.coherence import coherence_of
    from holdfast.guard.opening import naming
    from holdfast.guard.state import GuardState
    from holdfast.guard.stewarding import find

    with store_at(where) as store:
        chain = find(store, dataset)
        standing = chain.look(GuardState.of)
        for other in naming(store, chain.dataset):
            standing = standing.with_overlap(other, 1)
        standing.require_kept("nothing is guaranteed about groups")
        coherence = coherence_of(chain, beta, groups, *picked)
        so_far = coherence_of(chain, beta, groups, *picked, count="spent")
    least, alphas = coherence.size(alpha), {name: coherence.alpha(size) for name, size in sizes.items()}
    verdict = (
        f"By its cap, whatever was asked of the {coherence.rows:,} rows so far protects {_groups(least)} of "
        f"{coherence.n:,} people at alpha = {alpha:g} ({coherence.route}, {picked[0]} mode)."
    )
    spent_least = so_far.size(alpha)
    aside = (
        f"By what is spent so far it would be {_groups(spent_least)}; that holds only if the private questions were "
        "fixed in advance, and not chosen from answers."
    )
    refusal = None
    if least.vacuous or (alphas and min(alphas.values()) > alpha):
        refusal = verdict if least.vacuous else f"{verdict[:-1]}, and every listed group is smaller."
    if as_json:
        listed = [{"name": name, "size": sizes[name], "alpha": alphas[name]} for name in sizes]
        plain = coherence.to_dict() | {"alpha": alpha, "counted": "cap", "size": least.to_dict(), "listed": listed}
        plain["so_far"] = so_far.to_dict() | {"counted": "spent", "size": spent_least.to_dict()}
        output.print_json(plain | {"feasible": refusal is None})
        return refusal
    output.say(f"The cap: {_amounts(coherence)}. Spent so far: {_amounts(so_far)}.")
    if alphas:
        cells = [
            (
                name,
                f"{sizes[name]:,}",
                "yes" if tolerance <= alpha else "no",
                f"{digits_up(tolerance, 3):.3g}" if tolerance < 2 else "none",
            )
            for name, tolerance in alphas.items()
        ]
        title = f"Groups among {coherence.n:,} people, alpha {alpha:g}, beta {beta:.3g}"
        output.table(title, ("group", "people", "protected", "smallest alpha"), cells)
    if refusal is None:
        output.say(verdict)
    output.say(f"Holds if {coherence.assumption}.")
    output.say(aside)
    return refusal


def _groups(least: GroupSize) -> str:
    return f"groups of at least {least.rows:,}" if least.rows is not None and not least.vacuous else "groups of no size"


def _amounts(found: ReleasedCoherence) -> str:
    return ", ".join(f"{name} {amount:.6g}" for name, amount in found.spent.to_dict().items() if amount) or "nothing"
