"""`holdfast correlated`: what a declared dependence between records means: influence, quilt, noise, sample sizes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from holdfast.cli import output
from holdfast.cli.output import progress_bar
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

if TYPE_CHECKING:
    from holdfast.bounds.correlated import RunPlan
    from holdfast.correlated.model import Quilt, Surcharge
    from holdfast.correlated.model_file import Column
    from holdfast.correlated.model_overview import Holdout, Overview, Privacy


_GROUPS = {
    "Privacy and dependence": ("epsilon", "epsilon_dp", "sensitivity", "surcharge", "record"),
    "Answers": ("questions", "failures", "confidence", "tau", "budget"),
    "Output": ("as_json",),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("correlated", cls=output.grouped(_GROUPS))(correlated)


def correlated(
    model: Path = typer.Argument(  # noqa: B008
        ...,
        metavar="MODEL",
        help="A JSON or TOML file that describes how the records depend on each other (docs/correlated.md gives the "
        "format).",
    ),
    epsilon: float = typer.Option(
        None,
        "--epsilon",
        help="The level of Bayesian differential privacy to reach, for which noise is computed. [default: 1]",
    ),
    epsilon_dp: float = typer.Option(
        None,
        "--epsilon-dp",
        help="Compute the inverse: show which level of Bayesian differential privacy an ordinary differentially "
        "private answer with this epsilon has for these dependent records.",
    ),
    sensitivity: float = typer.Option(
        1.0, "--sensitivity", help="The sensitivity of the query: by how much changing one record can change its value."
    ),
    surcharge: str = typer.Option(
        "sharp",
        "--surcharge",
        help="The factor by which the influence between records counts in the privacy level: sharp (the smallest "
        "proved factor), corrected (two) or paper (four).",
    ),
    record: str = typer.Option(
        None,
        "--record",
        help="Show the Markov quilt of this record: a set of records that separates it from the rest. Give its "
        "number (from 0) or its name.",
    ),
    questions: int = typer.Option(
        100, "--questions", help="For a holdout of these records: the total number of questions, fixed in advance."
    ),
    confidence: float = typer.Option(
        0.95,
        "--confidence",
        help="For a holdout of these records: the probability with which all certified intervals together "
        "contain the population values.",
    ),
    failures: int = typer.Option(
        10,
        "--failures",
        help="For a holdout of these records: the number of failed checks (guesses that the holdout corrects) to "
        "plan for.",
    ),
    tau: float = typer.Option(
        None,
        "--tau",
        help="The largest error that an answer of the holdout may have. Shows how many records this needs.",
    ),
    budget: int = typer.Option(
        None,
        "--budget",
        help="With --tau: how many times Thresholdout (Algorithm 1 of the paper) may replace a training value by a "
        "holdout value. [default: 10]",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Compute the noise scale and the effective sample size for records that depend on each other, such as a time
    series. The exit status is 3 if the records are too few, or too dependent, for what was asked.
    """
    from holdfast.correlated.model import check_surcharge
    from holdfast.correlated.model_file import read_model
    from holdfast.correlated.model_overview import overview

    check_surcharge(surcharge)
    for name, level in (("--epsilon", epsilon), ("--epsilon-dp", epsilon_dp)):
        if level is not None:
            arguments.real(name, level, above=0)
    if epsilon is not None and epsilon_dp is not None:
        raise InvalidParameter(
            "--epsilon (the Bayesian level to reach) and --epsilon-dp (the ordinary level that was used) cannot be "
            "given together; give one of them"
        )
    if budget is not None and tau is None:
        raise InvalidParameter(
            f"--budget must be given together with --tau, the accuracy to reach, got --budget {budget}"
        )
    with progress_bar("model", shown=not as_json) as progress:
        progress(0.0, "reading")
        declared = read_model(model, _columns(model.parent))
        progress(0.2, "searching quilts")
        effects = overview(
            declared,
            epsilon_bdp=epsilon,
            epsilon_dp=epsilon_dp,
            sensitivity=sensitivity,
            surcharge=cast("Surcharge", surcharge),
            record=int(record) if record is not None and record.isdecimal() else record,
            questions=questions,
            confidence=confidence,
            failures=failures,
            tau=tau,
            budget=min(10, questions) if budget is None else budget,
        )
    if as_json:
        output.print_json(effects.to_dict())
    else:
        _print(effects)
    if effects.refusal:
        raise GuaranteeUnavailable(effects.refusal)


def _columns(folder: Path) -> Column:
    """Columns of CSV or Parquet files; relative paths start where the model file lies."""
    from holdfast.cli.count_input import columns

    def read(file: str, name: str) -> list[Any]:
        return columns([folder / file], [name])[name]

    return read


def _print(found: Overview) -> None:
    output.facts("Declared", [("model", found.description), ("records", f"{found.n:,}")])
    print()
    if found.privacy is not None:
        output.facts("Releases with Laplace noise", _privacy(found, found.privacy))
    else:
        output.say(f"Releases: {found.missing['privacy']}.")
    print()
    if found.holdout is not None:
        output.facts("Certified holdout", _holdout(found.holdout, found.tau))
    else:
        output.say(f"Certified holdout: {found.missing['holdout']}.")
    if found.tau is not None:
        print()
        if found.run is not None:
            output.facts(f"Algorithm 1, every answer within {found.tau:g}", _run(found.run, found.n))
        else:
            output.say(f"{found.missing['algorithm 1']}.")
    for note in found.notes:
        output.say(f"Note: {note}.")
    output.say("All of this is relative to the declared model, which no data can certify.")


def _privacy(model: Overview, found: Privacy) -> list[tuple[str, object]]:
    sensitivity = found.sensitivity
    if found.quilt is None:
        return [
            ("Bayesian DP level", f"{found.epsilon_bdp:.6g}"),
            ("a sum moves by", f"{found.shift:.6g} when one record moves by 1, the others following"),
            ("noise scale", f"{found.noise_scale:.6g} for an equally weighted sum of sensitivity {sensitivity:g}"),
            ("", f"{sensitivity / found.epsilon_bdp:.6g} if records were independent"),
        ]
    assert found.epsilon_dp is not None
    return [
        ("Bayesian DP level", f"{found.epsilon_bdp:.6g}"),
        ("DP level", f"{found.epsilon_dp:.6g} (surcharge {found.surcharge})"),
        (f"quilt of record {model.name(found.quilt.record)}", _quilt(model, found.quilt)),
        ("influence", f"{found.quilt.influence:.6g} nats"),
        ("noise scale", f"{found.noise_scale:.6g} for sensitivity {sensitivity:g}"),
        ("", f"{sensitivity / found.epsilon_bdp:.6g} if records were independent"),
        ("", f"{sensitivity * model.n / found.epsilon_bdp:.6g} if all were one block"),
    ]


def _quilt(model: Overview, quilt: Quilt) -> str:
    together = f"{quilt.size:,} records count together" if quilt.size > 1 else "the record counts alone"
    if not quilt.quilt:
        return f"empty; {together}"
    inside = ", ".join(map(model.name, quilt.quilt[:8])) + (", ..." if len(quilt.quilt) > 8 else "")
    return f"{{{inside}}}; {together}"


def _holdout(found: Holdout, tau: float | None) -> list[tuple[str, object]]:
    worth = f"{found.effective_n:,.6g} independent record{'s' * (found.effective_n > 1)} ({found.rule})"
    rows: list[tuple[str, object]] = [("worth", worth)]
    if found.half_width >= 0.5:
        rows.append(("half-width", f"0.5 or more at {found.questions:,} questions: nothing is said about a share"))
    else:
        rows += [
            ("half-width", f"{found.half_width:.4g} while nothing fails, {found.questions:,} questions"),
            ("", f"{found.after_failures:.4g} at the last question after {found.failures:,} failures"),
        ]
    rows.append(("confidence", f"{100 * found.confidence:g}% for all answers together"))
    if tau is not None and found.needed is not None and found.records is not None:
        if math.isfinite(found.records):
            words = f"about {found.records:,.0f} records, worth {found.needed:,.0f}"
        elif math.isfinite(found.needed):
            words = "no number of records: more of one block are worth no more"
        else:
            words = "more than 10^18 independent records"
        rows.append((f"for {tau:g}", words))
    return rows


def _run(plan: RunPlan, n: int) -> list[tuple[str, object]]:
    if not plan.feasible:
        return [("needs", "no number of records is enough"), ("because", plan.reason)]
    rows: list[tuple[str, object]] = [
        ("needs", f"{plan.n:,} records" + (f", {n:,} are declared" if plan.n > n else "")),
        ("runs with", f"threshold {plan.threshold:.6g}, sigma {plan.sigma:.6g}, {plan.budget:,} overrulings"),
        ("costs", f"epsilon {plan.epsilon_dp:.4g} (DP), {plan.epsilon_bdp:.4g} (Bayesian)"),
        ("quilt", f"{plan.quilt.size:,} count together, influence {plan.quilt.influence:.4g}"),
        ("worth", f"{plan.effective_n:,.6g} records, one colour of {plan.quilt.classes:,}"),
    ]
    return rows + ([("note", plan.note)] if plan.note else [])
