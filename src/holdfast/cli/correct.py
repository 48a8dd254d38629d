"""`holdfast correct`: the level and the adjusted p-value of a test that was chosen after looking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from holdfast.bounds.registry import shown
from holdfast.cli import output
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, LedgerConflict

if TYPE_CHECKING:
    from holdfast.inference.after_looking.correction import Correction

_SPENT = (
    "A step that was run on these rows before the test, as its privacy cost (pure-dp:EPSILON, "
    "approx-dp:EPSILON,DELTA, zcdp:RHO or gdp:MU, for data sets that differ in one replaced row) or as the number of "
    "bits that it released (bits:BITS). Give the option once for each step, in order."
)


_NOTHING_SPENT = (
    "nothing was recorded as run before the test, so nothing was corrected: this holds only if the test was chosen "
    "without looking at these rows. Name what was run with --spent"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("correct")(correct)


def correct(
    n: int = typer.Option(..., "--n", help="The number of rows on which the steps and the test were run."),
    p: float = typer.Option(
        None,
        "--p",
        help="The ordinary (uncorrected) p-value of the test. Without it, only the level that the p-value must reach "
        "is shown.",
    ),
    spent: list[str] = typer.Option([], "--spent", metavar="COST", help=_SPENT),  # noqa: B008
    alpha: float = typer.Option(0.05, "--alpha", help="The significance level that the corrected test keeps."),
    nulls: str = typer.Option(
        "product",
        "--nulls",
        help="Under which null hypotheses the corrected test is valid: product (the rows are independent) or any "
        "(any joint distribution of the rows).",
    ),
    candidates: int = typer.Option(
        None,
        "--candidates",
        help="For comparison, also show the p-value after a Bonferroni correction for this many tests.",
    ),
    neighbours: str = typer.Option(
        "replace-one",
        "--neighbours",
        help="Which data sets are neighbours in the definition of privacy: replace-one (one row is replaced). The "
        "other definition, add-remove, is refused with the reason.",
    ),
    currency: str = typer.Option(
        "transfer",
        "--currency",
        help="The bound that is used: transfer (the steps may come in any order) or max-information (all private "
        "steps must come first; also shows the max-information).",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Correct the p-value of a test that was chosen after other analyses of the same rows. Each such analysis is given
    with --spent.
    """
    from holdfast.inference.after_looking.record import AfterLooking
    from holdfast.inference.after_looking.spent import parse

    arguments.choice("currency", currency, ("transfer", "max-information"))
    looking = AfterLooking(n, nulls=nulls, alpha=alpha)  # type: ignore[arg-type]
    for text in spent:
        looking.record(parse(text), neighbours=neighbours)
    others = {} if candidates is None else {"bonferroni": looking.bonferroni(candidates)}
    correction = looking.plan() if p is None else looking.correct(p)
    note = _order(looking, alpha, insist=currency == "max-information") if spent else _NOTHING_SPENT
    if as_json:
        output.print_json(correction.to_dict() | {"spent": [str(e) for e in looking.entries], "note": note} | others)
    else:
        _show(correction, [str(entry) for entry in looking.entries], others, p, note)
    if correction.hopeless:
        raise GuaranteeUnavailable(_why(correction))


def _order(looking: Any, alpha: float, insist: bool) -> str:
    """What to say about the order of the steps; raises where max-information was insisted on and is refused."""
    try:
        bound = looking.max_information(alpha / 2)
    except LedgerConflict as error:
        if insist:
            raise
        return (
            "these steps have no max-information in this order; the interleaved transfer bound, which has no order, "
            f"was used ({str(error).split(':', 1)[0]})"
        )
    except GuaranteeUnavailable:
        if insist:
            raise
        return ""
    return f"max-information {shown(bound.bits)} bits at beta {shown(bound.beta)}" if insist else ""


def _show(found: Correction, spent: list[str], others: dict[str, float], p: float | None, note: str) -> None:
    rows: list[tuple[str, object]] = []
    if p is not None:
        rows.append(("adjusted p", f"{shown(found.adjusted or 0.0)} (ordinary {shown(p)})"))
        verdict = "reject" if found.rejected else "do not reject"
        rows.append(("verdict", verdict if spent else f"{verdict}, if the test was chosen before looking"))
    if found.level.is_vacuous:
        rows.append(("corrected level", f"none: nothing can be rejected at {found.alpha:g}"))
    else:
        level = f"2**{found.level.log2_level:.1f}" if found.hopeless else shown(found.level.value)
        rows.append(
            (
                "corrected level" if spent else "level",
                f"reject at {found.alpha:g} when the ordinary p is at most {level}",
            )
        )
    if "bonferroni" in others:
        verdict = "" if p is None else " (reject)" if p <= others["bonferroni"] else " (do not reject)"
        rows.append(("Bonferroni", f"{shown(others['bonferroni'])}{verdict}"))
    rows.append(("spent, in order", "; ".join(spent) or "nothing"))
    if found.level.bits is not None and not found.level.is_vacuous:
        rows.append(("bits, beta", f"{shown(found.level.bits)}, {shown(found.level.beta or 0.0)}"))
    rows += [("route", found.route), ("guarantee", str(found.guarantee))]
    if note:
        rows.append(("note", note))
    output.facts("Correction after looking" if spent else "No correction: an ordinary test", rows)


def _why(found: Correction) -> str:
    if found.level.is_vacuous:
        return (
            f"no p-value rejects at {found.alpha:g} after what was run: the failure probability of the guarantee alone "
            "uses the level up. Spend less before the test, make delta smaller, or test on fresh rows"
        )
    return (
        f"to reject at {found.alpha:g} after what was run the p-value would have to be below 2**"
        f"{found.level.log2_level:.0f}, which no computed p-value is. Spend less before the test, or use fresh rows"
    )
