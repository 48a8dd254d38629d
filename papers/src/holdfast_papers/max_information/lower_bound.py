"""`max-information-lower-bound`: a short look and a private look, each harmless, together return the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.bounds.currency import MaxInformation, compose
from holdfast.bounds.lower_bound import construction, gilbert_varshamov_redundancy, tight_threshold
from holdfast.errors import LedgerConflict
from holdfast_papers.binomial import ERROR, agrees, exceeds
from holdfast_papers.max_information.bch import bch
from holdfast_papers.max_information.codes import Code, random_words, rank
from holdfast_papers.max_information.golay import golay
from holdfast_papers.max_information.two_looks import Looks, golay_divergence, log2_agreement_p_values
from holdfast_papers.plots import log_axis
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

ALPHA = 0.05
_SLACK = 0.01  # failure probability spent on turning the first look's bits into max-information
_BATCH = 1000


@dataclass(frozen=True)
class Instance:
    """A code and its privacy, and the share of runs in which the rows came back, as recorded earlier."""

    code: Callable[[], Code]
    delta: float
    trials: int
    reported: float
    threshold: float | None = None
    label: str = ""


INSTANCES = (
    Instance(golay, 0.25, 40_000, 0.7503),
    Instance(lambda: bch(5, 3), 0.25, 40_000, 0.7450),
    Instance(lambda: bch(8, 10), 0.05, 10_000, 0.9473),
    Instance(lambda: bch(10, 16), 0.01, 10_000, 0.9920),
    Instance(lambda: bch(11, 16), 0.25, 4_000, 0.9220, threshold=4.0, label=", printed t and w"),
    Instance(lambda: bch(11, 25), 1e-3, 4_000, 0.9985),
    Instance(lambda: bch(12, 53), 1e-6, 4_000, 1.0000),
)
EPSILON = 0.5
_QUICK_TRIALS, _ALONE, _QUICK_ALONE = 400, 2_000, 100


@dataclass(frozen=True)
class Run:
    """Counts of one instance: how often the rows came back, and how often a true null was rejected."""

    label: str
    looks: Looks
    trials: int
    recovered: int
    alone_trials: int
    alone_said: int
    reported: float
    discoveries_both: int
    discoveries_alone: int
    discoveries_added: int


@experiment(
    "max-information-lower-bound",
    title="A short look, then a private look: each harmless, together they return the data",
    source="Rogers, Roth, Smith, Thakkar (2016), Theorem 3.9, Algorithms 1 and 2; Rogers' thesis, Theorem 4.4.1",
)
def run(settings: Settings) -> Outcome:
    """Attack fair bits with the two looks on real codes, and ask the order rule about it."""
    rng = np.random.default_rng(settings.seed)
    runs = []
    for i, instance in enumerate(INSTANCES):
        label = instance.code().name + instance.label
        settings.progress(i / len(INSTANCES), label)
        runs.append(_attack(instance, label, settings.quick, rng))
    settings.progress(1.0, "done")
    tables = (_attack_table(runs), _codes_table(runs), _composition_table(runs), _discoveries_table(runs))
    checks = (*(check for made in runs for check in _checks(made)), _privacy_check(runs[0].looks), _order_check(runs))
    return Outcome(tables, checks, _finding(runs), {"epsilon": EPSILON, "alpha": ALPHA}, lambda: _chart(runs))


def _attack(instance: Instance, label: str, quick: bool, rng: np.random.Generator) -> Run:
    code = instance.code()
    threshold = tight_threshold(EPSILON, instance.delta)[0] if instance.threshold is None else instance.threshold
    looks = Looks(code, EPSILON, instance.delta, threshold)
    trials, alone = (_QUICK_TRIALS, _QUICK_ALONE) if quick else (instance.trials, _ALONE)
    log2_p = log2_agreement_p_values(code.n)
    level, added = math.log2(ALPHA), _added(looks).log2_level(ALPHA)
    recovered = both = at_added = said_alone = discoveries_alone = 0
    for size in _batches(trials):
        rows = random_words(rng, size, code.n)
        words, said = looks.second(rows, looks.first(rows), rng)
        p_values = _p_values(log2_p, rows, words, said)
        recovered += int(((words == rows).all(axis=1) & said).sum())
        both += int((p_values <= level).sum())
        at_added += int((p_values <= added).sum())
    for size in _batches(alone):
        rows = random_words(rng, size, code.n)
        words, said = looks.second(rows, looks.first(random_words(rng, size, code.n)), rng)
        said_alone += int(said.sum())
        discoveries_alone += int((_p_values(log2_p, rows, words, said) <= level).sum())
    return Run(label, looks, trials, recovered, alone, said_alone, instance.reported, both, discoveries_alone, at_added)


def _p_values(log2_p: Any, rows: Any, words: Any, said: Any) -> Any:
    """log2 p-values on the rows of the test "agrees with the word that was said"; with the zero word after silence."""
    guess = np.where(said[:, None], words, 0)
    return log2_p[(guess == rows).sum(axis=1)]


def _batches(trials: int) -> list[int]:
    return [min(_BATCH, trials - start) for start in range(0, trials, _BATCH)]


def _first_bound(looks: Looks) -> MaxInformation:
    """The first look's bits as max-information over every distribution of the rows: description length, sharper
    form.
    """
    bits = looks.code.redundancy + math.log2(1 / (4 * _SLACK))
    return MaxInformation(bits, _SLACK, "any", "first look: description length")


def _second_bound(looks: Looks) -> MaxInformation:
    """Theorem 3.9, part 2: at `beta = 2 delta` the second look alone has at most `log2(1/(1 - 2 delta))` bits."""
    beta = 2 * looks.delta
    return MaxInformation(math.log2(1 / (1 - beta)), beta, "product", "second look: approximate privacy")


def _added(looks: Looks) -> MaxInformation:
    """The sum that must not be formed: the bounds of the two looks, as if order did not matter."""
    first, second = _first_bound(looks), _second_bound(looks)
    return MaxInformation(first.bits + second.bits, first.beta + second.beta, "product", "added against the rule")


def _attack_table(runs: list[Run]) -> Table:
    rows = [
        {
            "instance": made.label,
            "n": made.looks.code.n,
            "delta": made.looks.delta,
            "trials": made.trials,
            "recovered": round(made.recovered / made.trials, 4),
            "theory": round(made.looks.recovery, 6),
            "recorded": made.reported,
            "trials alone": made.alone_trials,
            "spoke alone": round(made.alone_said / made.alone_trials, 4),
            "theory alone": _digits(made.looks.unprompted),
        }
        for made in runs
    ]
    title = f"Two looks at n fair bits, epsilon = {EPSILON}: both looks return the rows; the second alone seldom speaks"
    return Table("attack", title, tuple(rows[0]), tuple(rows))


def _codes_table(runs: list[Run]) -> Table:
    rows = []
    for made in runs:
        looks, code = made.looks, made.looks.code
        printed = construction(looks.epsilon, looks.delta, code.n)
        rows.append(
            {
                "instance": made.label,
                "n": code.n,
                "threshold": round(looks.threshold, 4),
                "radius": code.radius,
                "distance": 2 * code.radius + 1,
                "parity bits": code.redundancy,
                "Gilbert-Varshamov": gilbert_varshamov_redundancy(code.n, 2 * code.radius + 1),
                "delta reached": _digits(looks.divergence),
                "paper's t": round(printed.distance, 1),
                "paper's r": round(printed.redundancy, 1),
            }
        )
    title = "The codes: parity bits are what the first look tells; the paper's r exceeds n except in its own row"
    return Table("codes", title, tuple(rows[0]), tuple(rows))


def _composition_table(runs: list[Run]) -> Table:
    rows = []
    for made in runs:
        first, second, added = _first_bound(made.looks), _second_bound(made.looks), _added(made.looks)
        rows.append(
            {
                "instance": made.label,
                "n": made.looks.code.n,
                "first look, bound": round(first.bits, 2),
                "second look, bound": _digits(second.bits),
                "second look, exact": _digits(made.looks.second_max_information(second.beta)),
                "beta": round(added.beta, 6),
                "sum of bounds": round(added.bits, 2),
                "both, exact": round(made.looks.both_max_information(added.beta), 2),
                "order rule": "refuses" if _refusal(made.looks) else "allows",
            }
        )
    return Table("composition", "Max-information in bits: apart, added up, and together", tuple(rows[0]), tuple(rows))


def _discoveries_table(runs: list[Run]) -> Table:
    rows = []
    for made in runs:
        level = _added(made.looks).log2_level(ALPHA)
        rows.append(
            {
                "instance": made.label,
                "log2 p-value once recovered": -made.looks.code.n,
                "second look alone": round(made.discoveries_alone / made.alone_trials, 4),
                "both looks": round(made.discoveries_both / made.trials, 4),
                "log2 level, bounds added": None if math.isinf(level) else round(level, 2),
                "both looks at that level": None
                if math.isinf(level)
                else round(made.discoveries_added / made.trials, 4),
            }
        )
    title = f"False discoveries of a true null at alpha = {ALPHA}: the test is chosen after the looks"
    return Table("false-discoveries", title, tuple(rows[0]), tuple(rows))


def _checks(made: Run) -> list[Check]:
    looks, name = made.looks, made.label
    theory, told = f"{looks.recovery:.6f}", rank(looks.code.remainders(np.eye(looks.code.n, dtype=np.uint8)))
    checks = [
        Check(
            f"{name}: the first look tells {looks.code.redundancy} bits",
            told == looks.code.redundancy,
            f"a linear map of rank {told}: 2^{told} equally likely answers out of 2^{looks.code.n} data sets",
        ),
        Check(
            f"{name}: the rows come back at the rate of theory",
            agrees(made.recovered, made.trials, looks.recovery),
            f"{made.recovered} of {made.trials}, theory {theory}; exact binomial test, error {ERROR:g}",
        ),
        Check(
            f"{name}: the second look alone speaks as rarely as theory says",
            agrees(made.alone_said, made.alone_trials, looks.unprompted),
            f"spoke {made.alone_said} of {made.alone_trials} times, theory {looks.unprompted:.4g}; error {ERROR:g}",
        ),
        Check(
            f"{name}: adding the two bounds would be wrong",
            looks.both_max_information(_added(looks).beta) > _added(looks).bits,
            f"sum {_added(looks).bits:.2f} bits, truth {looks.both_max_information(_added(looks).beta):.2f}",
        ),
    ]
    if not _added(looks).is_vacuous(ALPHA):
        checks.append(
            Check(
                f"{name}: a p-value corrected by the sum is a false discovery",
                exceeds(made.discoveries_added, made.trials, ALPHA),
                f"{made.discoveries_added} of {made.trials} at nominal {ALPHA}; exact binomial test, error {ERROR:g}",
            )
        )
    return checks


def _privacy_check(looks: Looks) -> Check:
    """Every pair of neighbours of the Golay instance, exactly."""
    worst = golay_divergence(looks)
    detail = f"largest hockey-stick divergence at epsilon {looks.epsilon:g} over all neighbours: {worst:.10f}"
    return Check("Golay: the second look is as private as it says", worst <= looks.delta, detail)


def _refusal(looks: Looks) -> str:
    try:
        compose(_first_bound(looks), _second_bound(looks))
    except LedgerConflict as conflict:
        return str(conflict)
    return ""


def _order_check(runs: list[Run]) -> Check:
    looks = runs[0].looks
    allowed = compose(_second_bound(looks), _first_bound(looks))  # private first is sound, and must stay possible
    refused = all(_refusal(made.looks) for made in runs)
    detail = f"refused: {_refusal(looks)}. The other order is allowed: {allowed}"
    return Check("the order rule refuses the first look before the second", refused, detail)


def _finding(runs: list[Run]) -> str:
    made = next(m for m in runs if m.looks.delta == 1e-3)
    code, added = made.looks.code, _added(made.looks)
    truth = made.looks.both_max_information(added.beta)
    return (
        f"On {code.n} fair bits the first look tells {code.redundancy} bits and the second is "
        f"(0.5, {made.looks.delta:g})-private; alone it says nothing. "
        f"Run after the first it returned all {code.n} bits in {made.recovered} of {made.trials} runs (theory "
        f"{made.looks.recovery:g}), and the test chosen from its answer has p-value 2^-{code.n} under a true null. "
        f"Adding the two bounds would claim {added.bits:.1f} bits where the truth is {truth:.2f}; "
        f"composition refuses that order and allows the other."
    )


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _chart(runs: list[Run]) -> Any:
    import altair as alt

    rows: list[dict[str, Any]] = []
    for made in runs:
        added = _added(made.looks)
        label = f"{made.label} (n={made.looks.code.n})"
        rows.append({"instance": label, "bits": added.bits, "what": "bounds added up (refused)"})
        truth = made.looks.both_max_information(added.beta)
        rows.append({"instance": label, "bits": truth, "what": "both looks, exact"})
    return (
        alt.Chart(alt.InlineData(values=rows), title="A short look, then a private look: max-information in bits")
        .mark_point(filled=True, size=110)  # bars have no meaning on a log scale
        .encode(
            x=alt.X(
                "bits:Q",
                scale=alt.Scale(type="log", domainMin=10),
                axis=log_axis(alt),
                title="max-information (bits, log scale)",
            ),
            y=alt.Y("instance:N", sort=[row["instance"] for row in rows[::2]], title=None),
            color=alt.Color("what:N", title=None, legend=alt.Legend(orient="bottom")),
            shape=alt.Shape("what:N", title=None),
        )
        .properties(width=520, height=220)
    )
