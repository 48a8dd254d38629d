"""`real-reuse-cifar10`: thirty published models as questions on the test set that all of them were tuned against.

Two truths, because one would mislead. CIFAR-10.1 is fresh but its images are harder: every model loses 4 to 15 points
there, which is a shift of the distribution and not reuse, so on it only orders and differences are compared. For
accuracies the old test set is split: some rows are the holdout, rows that no answer depends on are the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from holdfast.holdout import ReusableHoldout
from holdfast.mechanisms.answer import Answer
from holdfast_papers.binomial import exceeds
from holdfast_papers.plots import colour_below
from holdfast_papers.real_data import CIFAR, Cifar, Right, load_cifar
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

CONFIDENCE = 0.95
PUBLIC = 1_000
"""Rows of the old test set that anyone may look at: where guesses come from."""

Guesses = Callable[[int, Sequence[Answer]], float]
"""The host's guess of a model's accuracy, given its number and the answers before it."""

SIZES = (100, 250, 1_000, 4_000)
"""Holdout rows in the splits."""


@dataclass(frozen=True)
class Pair:
    """Whether the host certified that `better` beats `worse`, and by how much it does on holdout and fresh set."""

    better: int
    worse: int
    certified: bool
    held: float
    fresh: float


@dataclass(frozen=True)
class Split:
    """One random split: what was believed of the model that looked best, and what it is worth on unseen rows."""

    rows: int
    naive: float
    naive_true: float
    told: float
    told_true: float
    half_width: float
    missed: int
    asked: int


@experiment(
    "real-reuse-cifar10",
    title="30 published CIFAR-10 models replayed as questions on the old test set, with fresh images as truth",
    source="Recht, Roelofs, Schmidt and Shankar (2019), predictions of the CIFAR-10.1 repository",
    data=(CIFAR,),
)
def run(settings: Settings) -> Outcome:
    """Replay the models, compare orders with the fresh set, and split the old set for a truth without shift."""
    data = load_cifar()
    settings.progress(0.0, "replay on the old test set")
    order = np.random.default_rng([settings.seed, 0]).permutation(data.old.shape[1])
    public, held = data.old[:, order[:PUBLIC]], data.old[:, order[PUBLIC:]]
    told = {"public rows": replay(held, public_guesses(public)), "last told": replay(held, last_told)}
    pairs = compare_all(public, held, data.fresh)
    splits: list[Split] = []
    count = 5 if settings.quick else 50
    for i, rows in enumerate(SIZES):
        settings.progress((i + 1) / (len(SIZES) + 1), f"splits with {rows} holdout rows")
        rng = np.random.default_rng([settings.seed, rows])
        splits += [split(data.old, rows, rng) for _ in range(count)]
    settings.progress(1.0, "done")
    checks = (*_model_checks(data), *_pair_checks(pairs), *_split_checks(splits))
    tables = (_models_table(data, told), _pairs_table(pairs), _splits_table(splits))
    parameters = {
        "models": len(data.models),
        "public rows": PUBLIC,
        "holdout rows": held.shape[1],
        "fresh rows": data.fresh.shape[1],
        "splits of each size": count,
        "confidence": CONFIDENCE,
    }
    return Outcome(tables, checks, _finding(data, pairs, splits), parameters, lambda: _chart(data))


def public_guesses(public: Right) -> Guesses:
    """A host with some public rows guesses that a model is as good as it is there."""
    accuracy = public.mean(axis=1)
    return lambda i, answers: float(accuracy[i])


def last_told(i: int, answers: Sequence[Answer]) -> float:
    """A host with no other data guesses that a new model is what the last one was told to be; the first, a coin."""
    values = [answer.value for answer in answers if answer.value is not None]
    return values[-1] if values else 0.5


def replay(held: Right, guesses: Guesses) -> list[Answer]:
    """Ask for the accuracy of every model in the order of the file, which is alphabetical; dates are not known."""
    holdout = ReusableHoldout(held.shape[1], questions=len(held), confidence=CONFIDENCE)
    answers: list[Answer] = []
    for i, rows in enumerate(held):
        answers.append(holdout.check(rows, guess=guesses(i, answers)))
    return answers


def compare_all(public: Right, held: Right, fresh: Right) -> list[Pair]:
    """Ask of every pair whether the model that is better on the public rows is better in the population.

    Direction, order and spread come from the public rows, so every question is fixed but for the answers before it.
    The clearest pairs come first: until the first failure each question is as good as if it were one of a fixed list.
    """
    asked = []
    for a, b in combinations(range(len(held)), 2):
        gap = float(public[a].mean() - public[b].mean())
        better, worse = (a, b) if gap >= 0 else (b, a)
        spread = math.sqrt(max(float(np.mean(public[a] != public[b])), 1 / public.shape[1]))
        asked.append((-abs(gap) / spread, better, worse, spread))
    holdout = ReusableHoldout(held.shape[1], questions=len(asked), confidence=CONFIDENCE)
    pairs = []
    for _, better, worse, spread in sorted(asked):
        answer = holdout.compare(held[better], held[worse], margin=0.0, spread=spread)
        seen, true = (float(rows[better].mean() - rows[worse].mean()) for rows in (held, fresh))
        pairs.append(Pair(better, worse, bool(answer.passed), seen, true))
    return pairs


def split(old: Right, rows: int, rng: np.random.Generator) -> Split:
    """Split the old test set into public rows, a holdout and the rest, and ask for every model once.

    Guesses are accuracies on the public rows. The truth is the accuracy on the rest, where `missed` allows for the
    rest's own sampling error at one in a million.
    """
    order = rng.permutation(old.shape[1])
    public, held, rest = old[:, order[:PUBLIC]], old[:, order[PUBLIC : PUBLIC + rows]], old[:, order[PUBLIC + rows :]]
    truth = rest.mean(axis=1)
    answers = replay(held, public_guesses(public))
    told = np.array([np.nan if a.value is None else a.value for a in answers])
    limits = np.array([a.interval or (0.0, 1.0) for a in answers])
    error = -float(ndtri(1e-6 / 2)) * np.sqrt(truth * (1 - truth) / rest.shape[1])
    missed = int(np.count_nonzero((truth + error < limits[:, 0]) | (truth - error > limits[:, 1])))
    first, best = int(np.argmax(held.mean(axis=1))), int(np.nanargmax(told))
    half = float((limits[best, 1] - limits[best, 0]) / 2)
    naive = float(held[first].mean())
    return Split(rows, naive, float(truth[first]), float(told[best]), float(truth[best]), half, missed, len(answers))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Place of each value, 1 for the largest."""
    places = np.empty(len(values), dtype=np.intp)
    places[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return places


def _rank_correlation(data: Cifar) -> float:
    a, b = (_ranks(rows.mean(axis=1)) for rows in (data.old, data.fresh))
    return float(np.corrcoef(a, b)[0, 1])


def _drop_against_accuracy(data: Cifar) -> float:
    """Correlation of the loss on fresh images with the accuracy on the old ones."""
    old, fresh = data.old.mean(axis=1), data.fresh.mean(axis=1)
    return float(np.corrcoef(old, old - fresh)[0, 1])


def _model_checks(data: Cifar) -> list[Check]:
    old, fresh = data.old.mean(axis=1), data.fresh.mean(axis=1)
    correlation, trend = _rank_correlation(data), _drop_against_accuracy(data)
    return [
        Check(
            "every model is worse on the fresh images",
            bool((fresh < old).all()),
            f"by {(old - fresh).min():.1%} or more",
        ),
        Check("the order survives", correlation > 0.95, f"rank correlation {correlation:.3f}"),
        Check("the best models lose least, which reuse cannot explain", trend < -0.9, f"correlation {trend:.2f}"),
    ]


def _pair_checks(pairs: Sequence[Pair]) -> list[Check]:
    """Fresh images are shifted and few, so the certificate does not speak of them; nearly all orders hold anyway."""
    certified = [pair for pair in pairs if pair.certified]
    reversed_ = sum(pair.fresh < 0 for pair in certified)
    wrong = sum(pair.held <= 0 for pair in certified)
    return [
        Check("certified orders are the holdout's own", wrong == 0, f"{wrong} of {len(certified)}"),
        Check("many pairs are certified", len(certified) > len(pairs) / 3, f"{len(certified)} of {len(pairs)}"),
        Check(
            "certified orders hold on the fresh images",
            reversed_ <= len(certified) / 100,
            f"{reversed_} of {len(certified)} reversed",
        ),
    ]


def _split_checks(splits: Sequence[Split]) -> list[Check]:
    checks = []
    for rows in SIZES:
        here = [s for s in splits if s.rows == rows]
        bad = sum(s.missed > 0 for s in here)
        checks.append(
            Check(
                f"{rows} holdout rows: the intervals hold",
                not exceeds(bad, len(here), 1 - CONFIDENCE),
                f"{bad} of {len(here)} splits with an interval off the unseen rows",
            )
        )
    return checks


def _models_table(data: Cifar, told: dict[str, list[Answer]]) -> Table:
    old, fresh = data.old.mean(axis=1), data.fresh.mean(axis=1)
    places = _ranks(old), _ranks(fresh)
    rows = []
    for i in np.argsort(-old, kind="stable"):
        row: dict[str, Any] = {"model": data.models[i], "old": round(float(old[i]), 4)}
        for host, answers in told.items():
            row[f"told, guess: {host}"] = f"{answers[i].value:.4f}±{answers[i].half_width:.4f}"
        row |= {"fresh": round(float(fresh[i]), 4), "loss": round(float(old[i] - fresh[i]), 4)}
        rows.append(row | {"place, old": int(places[0][i]), "place, fresh": int(places[1][i])})
    title = "Accuracy on the old test set, as a certified host would have told it, and on CIFAR-10.1 (shifted)"
    return Table("models", title, tuple(rows[0]), tuple(rows))


def _pairs_table(pairs: Sequence[Pair]) -> Table:
    rows = []
    for name, chosen in (
        ("every pair, order of the old test set", pairs),
        ("certified pairs", [pair for pair in pairs if pair.certified]),
        ("the other pairs", [pair for pair in pairs if not pair.certified]),
    ):
        same = [np.sign(pair.held) * pair.fresh for pair in chosen]
        rows.append(
            {
                "pairs": name,
                "count": len(chosen),
                "same order on fresh": int(np.count_nonzero(np.array(same) > 0)),
                "tied": int(np.count_nonzero(np.array(same) == 0)),
                "reversed": int(np.count_nonzero(np.array(same) < 0)),
            }
        )
    return Table("pairs", "Which of two models is better: old test set against CIFAR-10.1", tuple(rows[0]), tuple(rows))


def _splits_table(splits: Sequence[Split]) -> Table:
    rows = []
    for size in SIZES:
        here = [s for s in splits if s.rows == size]

        def mean(field: str, here: list[Split] = here) -> float:
            return round(float(np.mean([getattr(s, field) for s in here])), 4)

        rows.append(
            {
                "holdout rows": size,
                "naive, best of 30": mean("naive"),
                "truth of it": mean("naive_true"),
                "too high by": round(mean("naive") - mean("naive_true"), 4),
                "certified, best of 30": mean("told"),
                "half-width": mean("half_width"),
                "truth of that": mean("told_true"),
                "intervals off": sum(s.missed for s in here),
                "intervals": sum(s.asked for s in here),
            }
        )
    title = f"Splits of the old test set, truth on rows never looked at; means of {len(splits) // len(SIZES)} splits"
    return Table("splits", title, tuple(rows[0]), tuple(rows))


def _finding(data: Cifar, pairs: Sequence[Pair], splits: Sequence[Split]) -> str:
    certified = sum(pair.certified for pair in pairs)
    reversed_ = sum(np.sign(pair.held) * pair.fresh < 0 for pair in pairs)
    kept = sum(pair.certified and pair.fresh > 0 for pair in pairs)
    first, last = ([s for s in splits if s.rows == rows] for rows in (SIZES[0], SIZES[-1]))
    small, large = (float(np.mean([s.naive - s.naive_true for s in here])) for here in (first, last))
    return (
        f"All {len(data.models)} models lose {(data.old.mean(axis=1) - data.fresh.mean(axis=1)).min():.1%} to "
        f"{(data.old.mean(axis=1) - data.fresh.mean(axis=1)).max():.1%} on CIFAR-10.1, and the best lose least "
        f"(correlation {_drop_against_accuracy(data):.2f}): a shift, not reuse. Orders carry over: of {len(pairs)} "
        f"pairs {reversed_} are reversed; the holdout certifies {certified}, of which {kept} hold on the fresh images. "
        f"On splits of the old test set, where there is no shift, the best of 30 looks {small:.2%} too good on "
        f"{SIZES[0]} rows and {large:.2%} on {SIZES[-1]:,}."
    )


def _chart(data: Cifar) -> Any:
    import altair as alt

    old, fresh = data.old.mean(axis=1), data.fresh.mean(axis=1)
    points = [
        {"model": model, "old": float(a), "accuracy": float(b), "what": "model on CIFAR-10.1"}
        for model, a, b in zip(data.models, old, fresh, strict=True)
    ]
    line = [{"old": x, "accuracy": x, "what": "the same accuracy"} for x in (0.8, 1.0)]
    x = alt.X("old:Q", scale=alt.Scale(domain=[0.8, 1.0]), title="accuracy on the old test set")
    y = alt.Y("accuracy:Q", scale=alt.Scale(domain=[0.65, 1.0]), title="accuracy on fresh images")
    colour = colour_below(alt, "what:N", ["model on CIFAR-10.1", "the same accuracy"])
    dots = alt.Chart(alt.InlineData(values=points)).mark_point(filled=True, size=50).encode(x=x, y=y, color=colour)
    diagonal = alt.Chart(alt.InlineData(values=line)).mark_line().encode(x=x, y=y, color=colour)
    title = "Thirty published models: a shift for all, in the same order"
    return (diagonal + dots).properties(width=420, height=360, title=title)


__all__ = ["Pair", "Split", "compare_all", "last_told", "public_guesses", "replay", "run", "split"]
