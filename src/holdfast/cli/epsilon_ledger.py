"""`holdfast epsilon --ledger`: what all that went through a guard promises about groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.cli import output

if TYPE_CHECKING:
    from holdfast.bounds.coherence import Mode, Population


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
    """Print which groups the answers so far protect; returns why none is, if none is."""
    from holdfast.bounds.exact import digits_up
    from holdfast.cli.guard_input import store_at
    from holdfast.guard.coherence import coherence_of
    from holdfast.guard.stewarding import find

    with store_at(where) as store:
        found = coherence_of(find(store, dataset), beta, groups, *picked)
    least, kept = found.size(alpha), {name: found.alpha(size) for name, size in sizes.items()}
    needed = f"at least {least.rows:,}" if least.rows is not None and not least.vacuous else "no size"
    verdict = (
        f"What the {found.rows:,} rows were asked so far protects groups of {needed} of {found.n:,} people at alpha = "
        f"{alpha:g} ({found.route}, {picked[0]} mode)."
    )
    refusal = None
    if least.vacuous or (kept and min(kept.values()) > alpha):
        refusal = verdict if least.vacuous else f"{verdict[:-1]}, and every listed group is smaller."
    if as_json:
        listed = [{"name": name, "size": sizes[name], "alpha": kept[name]} for name in sizes]
        plain = found.to_dict() | {"alpha": alpha, "size": least.to_dict(), "listed": listed}
        output.print_json(plain | {"feasible": refusal is None})
        return refusal
    spent = [f"{name} {amount:.6g}" for name, amount in found.spent.to_dict().items() if amount]
    output.say(f"Read off the ledger: {', '.join(spent) or 'nothing released'}.")
    if kept:
        cells = [
            (
                name,
                f"{sizes[name]:,}",
                "yes" if tolerance <= alpha else "no",
                f"{digits_up(tolerance, 3):.3g}" if tolerance < 2 else "none",
            )
            for name, tolerance in kept.items()
        ]
        title = f"Groups among {found.n:,} people, alpha {alpha:g}, beta {beta:.3g}"
        output.table(title, ("group", "people", "protected", "smallest alpha"), cells)
    if refusal is None:
        output.say(verdict)
    output.say(f"Holds if {found.assumption}.")
    return refusal


__all__ = ["read_off"]
