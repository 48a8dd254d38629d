"""The jobs of the workflows, each on named splits: ours by the verbs that users have, the alternative on the same rows.

The alternatives are what is valid without a holdout that can be reused: Bonferroni for a fixed list, the same on rows
that were kept apart for a contest, one question that was fixed in advance. Where the next question follows from answers
nothing else is valid; then the same list, had it been fixed in advance, stands next to ours to measure by.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from holdfast.bounds.one_question import clopper_pearson
from holdfast.holdout import ReusableHoldout
from holdfast.holdout.ranks import forecast_from, pair_statistics, rank, sign_p_values
from holdfast_papers.real_data import Right
from holdfast_papers.reuse.workflow_data import Contest, Shape, contest

CONFIDENCE = 0.95
BETA = 0.05
ROUNDS = 5
OTHER_ROWS = 1000
"""Rows next to the holdout that say which of two models is likely to be better."""
GUESS_ROWS = (1000, 3000)
"""Rows next to the holdout that guesses are the mean of."""
FALSE = "claims that are false"
"""How a job is called that counts these: there is none."""
ORACLE, MID_P = "weights from the true gaps", "mid p-values, which are not valid"
PART_OF_LEVEL = 200
SAME_LEVEL = f"each pair at a {PART_OF_LEVEL}th of the level, which is not valid"
ANY_SPLIT = "the split of the level that is best for each winner, chosen after the rows"
"""What is not to be had, and shows how much a method could gain at most."""
AS_MANY = "rows that Bonferroni would need for as many pairs"
MORE_APART = (0.6, 0.7, 0.8, 0.9)
"""Parts of a contest's rows that are kept apart to count the pairs that Bonferroni separates with more of them."""
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Job:
    """What one job came to on each split, ours and what stands next to it on the same rows.

    `valid` says whether what stands next to it would be valid for this job; `larger` whether more is better.
    """

    name: str
    ours: tuple[float, ...]
    beside: tuple[float, ...] | None = None
    valid: bool = True
    larger: bool = False

    @property
    def mean(self) -> float:
        """Ours, on average."""
        return fmean(self.ours)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(np.std(self.ours, ddof=1) / math.sqrt(len(self.ours))) if len(self.ours) > 1 else 0.0

    @property
    def alternative(self) -> float | None:
        """The best valid alternative, on average; None where there is none."""
        return fmean(self.beside) if self.beside is not None and self.valid else None

    @property
    def ratio(self) -> float | None:
        """Ours as a part of what stands next to it; None where nothing does."""
        if self.beside is None:
            return None
        beside = fmean(self.beside)
        return self.mean / beside if beside else 1.0 if not self.mean else math.inf


class Collector:
    """Numbers by job as splits go by."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[list[float], list[float], bool, bool]] = {}

    def add(
        self, name: str, ours: float, beside: float | None = None, *, valid: bool = True, larger: bool = False
    ) -> None:
        """What one split came to."""
        mine, others, _, _ = self._found.setdefault(name, ([], [], valid, larger))
        mine.append(float(ours))
        if beside is not None:
            others.append(float(beside))

    def jobs(self) -> list[Job]:
        """All jobs, in the order in which they first came."""
        return [
            Job(name, tuple(ours), tuple(beside) or None, valid, larger)
            for name, (ours, beside, valid, larger) in self._found.items()
        ]


def half(interval: Sequence[float] | None) -> float:
    """Half of the width of an interval."""
    assert interval is not None
    return (interval[1] - interval[0]) / 2


def one_question(column: NDArray[np.bool_], level: float) -> float:
    """The half-width of the exact interval of a column that was fixed in advance."""
    return half(clopper_pearson(int(column.sum()), column.size, math.log(level)))


# --- A grid of candidates ---------------------------------------------------------------------------------------------


def grid_jobs(right: Right, n: int, splits: int, seed: int) -> list[Job]:
    """A fixed grid, the same candidates one by one, and rounds of search.

    Parameters
    ----------
    right : matrix of truth values
        One line per candidate. The rows that a split does not hold out say what is true.
    n : int
        Rows of the holdout.
    splits, seed : int
        How many holdouts are drawn, and from where.
    """
    found = Collector()
    for split in range(splits):
        order = np.random.default_rng([seed, n, split]).permutation(right.shape[1])
        _fixed_grid(found, right, order, n)
        for guess_rows in GUESS_ROWS:
            _one_by_one(found, right, order, n, guess_rows)
        if n >= GUESS_ROWS[0]:
            for guess_rows in GUESS_ROWS:
                _rounds(found, right, order, n, guess_rows)
    return found.jobs()


def grid_limits(right: Right, n: int, splits: int, seed: int) -> list[Job]:
    """The winner's half-width of a fixed grid if each split of the level over both limits were free, after the rows.

    A final fixes the split before the rows, by rows, candidates and level. The best split of each winner is not valid.
    All of the level is split, as if the loss of the choice needed none.
    """
    found = Collector()
    for split in range(splits):
        order = np.random.default_rng([seed, n, split]).permutation(right.shape[1])
        best = right[np.argmax(right[:, order[:n]].sum(axis=1)), order[:n]]
        ones, widths = int(best.sum()), []
        for part in np.linspace(0.1, 0.9, 33):
            lower = clopper_pearson(ones, n, math.log(BETA * part / len(right)), "lower").low
            widths.append((clopper_pearson(ones, n, math.log(BETA * (1 - part)), "upper").high - lower) / 2)
        found.add(ANY_SPLIT, min(widths), one_question(best, BETA / len(right)))
    return found.jobs()


def _named(right: Right, rows: Rows) -> dict[str, NDArray[np.bool_]]:
    return {f"{place}": line[rows] for place, line in enumerate(right)}


def _fixed_grid(found: Collector, right: Right, order: Rows, n: int) -> None:
    """One final of all candidates, against Bonferroni and against the plain choice of the best."""
    candidates, true = _named(right, order[:n]), right[:, order[n:]].mean(axis=1)
    result = ReusableHoldout(n, confidence=CONFIDENCE).final(candidates, claims="winner")
    best = int(np.argmax(right[:, order[:n]].sum(axis=1)))
    width = one_question(candidates[f"{best}"], BETA / len(right))
    found.add(f"fixed grid of {len(right)}: winner's half-width, n = {n:,}", half(result.winner_interval), width)
    lost = [float(true.max() - true[place]) for place in (int(result.winner), best)]
    found.add(f"fixed grid of {len(right)}: true accuracy lost by the choice, n = {n:,}", *lost)


def _one_by_one(found: Collector, right: Right, order: Rows, n: int, guess_rows: int) -> None:
    """Every candidate checked in turn against its score on other rows, and everything revealed at the end."""
    candidates, guesses = _named(right, order[:n]), right[:, order[n : n + guess_rows]].mean(axis=1)
    holdout = ReusableHoldout(n, questions=len(right), confidence=CONFIDENCE, final=0.0)
    for column, guess in zip(candidates.values(), guesses, strict=True):
        holdout.check(column, float(guess), guess_rows=guess_rows)
    failed = holdout.failed
    widths = [half(answer.interval) for answer in holdout.close()]
    batch = [one_question(column, BETA / len(right)) for column in candidates.values()]
    job = f"the same {len(right)} checked one by one, guesses from {guess_rows:,} rows"
    found.add(f"{job}: mean half-width at the end, n = {n:,}", fmean(widths), fmean(batch), valid=False)
    found.add(f"{job}: failures, n = {n:,}", failed)


def _rounds(found: Collector, right: Right, order: Rows, n: int, guess_rows: int) -> None:
    """Rounds of `best`, by guesses from other rows, and a final between the winners."""
    candidates, guesses = _named(right, order[:n]), right[:, order[n : n + guess_rows]].mean(axis=1)
    holdout = ReusableHoldout(n, confidence=CONFIDENCE, final=1.0)
    winners = {}
    for places in np.array_split(np.arange(len(right)), ROUNDS):
        names = [f"{place}" for place in places]
        expected = {name: float(guesses[int(name)]) for name in names}
        best = holdout.best({name: candidates[name] for name in names}, expected).value
        winners[best] = candidates[best]
    result = holdout.final(winners, claims="winner")
    width = one_question(candidates[result.winner], BETA / len(right))
    job = f"{ROUNDS} rounds of {len(right) // ROUNDS} by best, guesses from {guess_rows:,} rows, then final"
    found.add(f"{job}: winner's half-width, n = {n:,}", half(result.winner_interval), width, valid=False)


# --- Pairs of models --------------------------------------------------------------------------------------------------


def pair_jobs(right: Right, n: int, splits: int, seed: int) -> list[Job]:
    """All pairs of models: in one final, and one by one, in the order listed and with likely ones first.

    Every claim is counted against the order of the means of all rows; there must be no contradiction.
    """
    found = Collector()
    truth = right.mean(axis=1)
    pairs = list(combinations(range(len(right)), 2))
    for split in range(splits):
        order = np.random.default_rng([seed, split]).permutation(right.shape[1])
        rows, other = order[:n], order[n : n + OTHER_ROWS]
        apart = by_bonferroni(right[:, rows])
        _in_one_batch(found, right, rows, other, apart, truth)
        likely = pair_statistics(right[:, other].astype(np.float64))
        first = sorted(pairs, key=lambda pair: -abs(likely[pair]))
        for words, asked in (("in the order listed", pairs), ("likely ones first", first)):
            passed, wrong = _in_turn(right, rows, other, asked, likely, truth)
            job = f"{len(pairs)} pairs one by one, {words}"
            found.add(f"{job}: separated, n = {n:,}", passed, apart, valid=False, larger=True)
            found.add(f"{job}: {FALSE}, n = {n:,}", wrong)
    return found.jobs()


def by_bonferroni(right: Right, level: float = BETA) -> int:
    """How many pairs exact two-sided sign tests tell apart, each at its part of the level."""
    logs = _two_sided(right)
    return int((logs <= math.log(level / logs.size)).sum())


def by_holm(right: Right, level: float = BETA) -> int:
    """Of how many pairs Holm's method says that the two differ, by exact two-sided sign tests.

    It is valid for that whatever the dependence of the tests. Which of the two is better it does not prove: a pair that
    is read in the wrong direction is no false rejection to it.
    """
    logs = np.sort(_two_sided(right))
    held = logs <= np.log(level / np.arange(logs.size, 0, -1))
    return logs.size if held.all() else int(np.argmin(held))


def _two_sided(right: Right) -> NDArray[np.float64]:
    """`ln` of the p-value of the exact two-sided sign test of each pair."""
    columns = right.astype(np.float64)
    logs = sign_p_values(np.rint(columns @ (1 - columns).T).astype(np.int64))
    return np.asarray((np.minimum(logs, logs.T) + math.log(2))[np.triu_indices(len(right), 1)])


def _in_one_batch(
    found: Collector, right: Right, rows: Rows, other: Rows, apart: int, truth: NDArray[np.float64]
) -> None:
    """One final with ranks, with even weights and with weights from other rows."""
    count, n, differ = len(right) * (len(right) - 1) // 2, len(rows), by_holm(right[:, rows])
    for words, known in (("", None), (f", weights from {len(other):,} other rows", _named(right, other))):
        holdout = ReusableHoldout(n, confidence=CONFIDENCE)
        better = holdout.final(_named(right, rows), claims="ranks", other=known).better
        assert better is not None
        found.add(f"{count} pairs in one batch{words}: separated, n = {n:,}", len(better), apart, larger=True)
        job = f"{count} pairs in one batch{words}, next to pairs that differ by Holm's method"
        found.add(f"{job}: separated, n = {n:,}", len(better), differ, valid=False, larger=True)
        wrong = sum(truth[int(i)] <= truth[int(j)] for i, j in better)
        found.add(f"{count} pairs in one batch{words}: {FALSE}, n = {n:,}", wrong)


def _in_turn(
    right: Right,
    rows: Rows,
    other: Rows,
    asked: Sequence[tuple[int, int]],
    likely: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> tuple[int, int]:
    """How many comparisons pass, each in the direction that other rows suggest, and how many of these are false."""
    holdout = ReusableHoldout(len(rows), questions=len(asked), confidence=CONFIDENCE, final=0.0)
    passed = wrong = 0
    for i, j in asked:
        b, a = (i, j) if likely[i, j] >= 0 else (j, i)
        answer = holdout.compare(right[b, rows], right[a, rows], other=(right[b, other], right[a, other]))
        passed += bool(answer.passed)
        wrong += bool(answer.passed and truth[b] <= truth[a])
    return passed, wrong


# --- A contest --------------------------------------------------------------------------------------------------------


def contest_jobs(shape: Shape, reserve: float, splits: int, seed: int) -> list[Job]:
    """Teams that climb on plain scores of the explored rows, and a final with ranks on the reserved ones."""
    found = Collector()
    job = f"contest of {shape.teams} teams, {shape.rows:,} rows, {shape.submissions} submissions"
    for holdout, sides, played in _contests(shape, reserve, splits, seed):
        better = holdout.final(_named(played.right, np.arange(shape.rows)), claims="ranks").better
        assert better is not None
        apart = by_bonferroni(played.right[:, sides == 1])
        found.add(f"{job}: pairs separated, reserve {reserve:g}", len(better), apart, larger=True)
        wrong = sum(played.true[int(i)] <= played.true[int(j)] for i, j in better)
        found.add(f"{job}: {FALSE}, reserve {reserve:g}", wrong)
    return found.jobs()


def _contests(
    shape: Shape, reserve: float, splits: int, seed: int
) -> Iterator[tuple[ReusableHoldout, NDArray[np.uint8], Contest]]:
    """Contests that were played on the explored rows of a holdout: the holdout, the side of each row, the contest."""
    for split in range(splits):
        drawn = int(np.random.default_rng([seed, split]).integers(1 << 32))
        holdout = ReusableHoldout(shape.rows, confidence=CONFIDENCE, final=1.0, reserve=reserve, seed=drawn)
        sides = _sides(holdout)
        yield holdout, sides, contest(drawn, np.flatnonzero(sides == 0), shape)


def contest_limits(shape: Shape, reserve: float, splits: int, seed: int) -> list[Job]:
    """How many pairs the finals of `contest_jobs` would separate with more than anybody has, next to Bonferroni.

    With weights from the true gaps, in place of those that explored rows suggest. And with mid p-values, which leave
    out half of the probability of the observed count and are not valid: a sharper test would be about as small. And
    with one level for each pair, as if there were 200 in all: about what those at the edge have where much is claimed.
    """
    found = Collector()
    for _, sides, played in _contests(shape, reserve, splits, seed):
        tested, explored = played.right[:, sides == 1], played.right[:, sides == 0]
        n, apart = tested.shape[1], by_bonferroni(tested)
        wins = np.rint(tested.astype(np.float64) @ (~tested).T.astype(np.float64)).astype(np.int64)
        p, differ, level = sign_p_values(wins), wins + wins.T, math.log(BETA)
        gaps = played.true[:, None] - played.true[None, :]
        expected = np.divide(gaps * n, np.sqrt(differ), out=np.zeros_like(gaps), where=differ > 0)
        many = 1_000_000 * n  # rows that leave nothing uncertain
        known = forecast_from(expected * math.sqrt(many / n), n, many, level)
        found.add(ORACLE, rank(p, level, known).separated, apart, larger=True)
        usual = forecast_from(pair_statistics(explored.astype(np.float64)), n, explored.shape[1], level)
        found.add(MID_P, rank(_mid_p_values(wins, p), level, usual).separated, apart, larger=True)
        found.add(SAME_LEVEL, int((p <= level - math.log(PART_OF_LEVEL)).sum()), apart, larger=True)
    return found.jobs()


def contest_rows(shape: Shape, reserve: float, splits: int, seed: int) -> list[Job]:
    """How many rows Bonferroni would need kept apart for as many pairs as the finals of `contest_jobs` separate.

    Its pairs are counted with more and more rows kept apart, where teams climb on the fewer that are left. In between
    lies a straight line. Pairs are not alike in two contests, since few are near the edge in one and many in another.
    Rows are.
    """
    ours: list[int] = []
    rows: list[int] = []
    pairs: list[float] = []
    for part in (reserve, *(more for more in MORE_APART if more > reserve)):
        apart: list[int] = []
        kept = 0
        for holdout, sides, played in _contests(shape, part, splits, seed):
            kept = int((sides == 1).sum())
            apart.append(by_bonferroni(played.right[:, sides == 1]))
            if part == reserve:
                better = holdout.final(_named(played.right, np.arange(shape.rows)), claims="ranks").better
                assert better is not None
                ours.append(len(better))
        rows.append(kept)
        pairs.append(fmean(apart))
    return [Job(AS_MANY, (float(np.interp(fmean(ours), pairs, rows)),), (float(rows[0]),), larger=True)]


def _mid_p_values(wins: NDArray[np.int64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """`ln` of each p-value less half of the probability of the observed count."""
    differ = wins + wins.T
    at = np.exp(gammaln(differ + 1) - gammaln(wins + 1) - gammaln(wins.T + 1) - differ * math.log(2))
    return np.asarray(np.where(wins > wins.T, np.log(np.maximum(np.exp(logs) - at / 2, 1e-300)), logs))


def _sides(holdout: ReusableHoldout) -> NDArray[np.uint8]:
    """The side of each row: 0 for those that are explored, 1 for those that are reserved. Public, as the state is."""
    return np.frombuffer(bytes.fromhex(holdout.state()["reserve"]["sides"]), dtype=np.uint8)


# --- Many checks, then one final --------------------------------------------------------------------------------------


def checks_jobs(n: int, accuracy: float, questions: int, failures: Iterable[int]) -> list[Job]:
    """Checks of which the first few fail, near their guess, and then a final; and the same with half the rows reserved.

    Nothing here is drawn: the half-widths are those of any rows with this accuracy.
    """
    found = Collector()
    for failing, reserve in [*((failing, 0.0) for failing in failures), (max(failures), 0.5)]:
        holdout = ReusableHoldout(n, questions=questions, confidence=CONFIDENCE, reserve=reserve, seed=0)
        sides = _sides(holdout) if reserve else np.zeros(n, dtype=np.uint8)
        column = np.zeros(n, dtype=np.bool_)
        for side in (0, 1):
            rows = np.flatnonzero(sides == side)
            column[rows[: round(accuracy * len(rows))]] = True
        for place in range(questions):
            guess = accuracy
            if place < failing:  # a guess that is one and a half half-widths beyond what passes: the first cell
                guess += 2.5 * holdout.least_tolerance(accuracy, binary=True)
            passed = holdout.check(column, guess).passed
            assert passed == (place >= failing)
        width = half(holdout.final({"model": column}).winner_interval)
        words = "without a failure" if not failing else f"with {failing} failure{'s' if failing > 1 else ''}"
        words += ", half of the rows reserved" if reserve else ""
        job = f"{questions:,} checks {words}, then one final: half-width, n = {n:,}, accuracy {accuracy:g}"
        found.add(job, width, one_question(column, BETA))
    return found.jobs()


__all__ = [
    "Collector",
    "Job",
    "by_bonferroni",
    "by_holm",
    "checks_jobs",
    "contest_jobs",
    "contest_limits",
    "contest_rows",
    "grid_jobs",
    "grid_limits",
    "pair_jobs",
]
