"""Reserved rows: drawn before anything is read, whole groups on one side, and read by nothing before their final."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import holdfast as hf
from holdfast.bounds.one_question import blaker
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout import metrics
from holdfast.holdout.reusable import Split

N = 200
HYPOTHESIS = settings(deadline=None, derandomize=True, max_examples=80)


# --- the split --------------------------------------------------------------------------------------------------------


@HYPOTHESIS
@given(
    st.integers(4, 300),
    st.lists(st.floats(0.05, 0.45), min_size=1, max_size=2),
    st.integers(0, 10**6),
)
def test_every_unit_is_on_one_side(n, parts, seed):
    try:
        split = Split.draw(n, parts, seed)
    except InvalidParameter as error:
        assert "too few" in str(error)  # noqa: PT017
        return
    sides = [split.explored, *split.reserved]
    assert sorted(np.concatenate(sides).tolist()) == list(range(n))
    assert all(side.size for side in sides)
    for part, rows in zip(parts, split.reserved, strict=True):
        assert abs(rows.size - part * n) <= 1
    again = Split.draw(n, parts, seed)
    assert all(np.array_equal(a, b) for a, b in zip(sides, [again.explored, *again.reserved], strict=True))


def test_each_row_is_as_likely_to_be_reserved_as_any_other():
    """The draw is from the seed alone; over seeds every row is reserved as often as its part says."""
    times = np.zeros(20)
    for seed in range(400):
        times[Split.draw(20, (0.25,), seed).reserved[0]] += 1
    assert times.min() >= binom.ppf(1e-8, 400, 0.25)
    assert times.max() <= binom.isf(1e-8, 400, 0.25)
    drawn = {tuple(Split.draw(50, (0.5,)).reserved[0]) for _ in range(5)}
    assert len(drawn) == 5  # without a seed, from the operating system


@pytest.mark.parametrize("reserve", [-0.1, 1.0, [0.5, 0.5], "half", [0.2, math.nan]])
def test_wrong_reserves_are_refused(reserve):
    with pytest.raises(InvalidParameter, match="reserve"):
        hf.ReusableHoldout(N, reserve=reserve)


def test_wrong_groups_are_refused():
    with pytest.raises(InvalidParameter, match="groups must have one label per row"):
        hf.ReusableHoldout(N, reserve=0.5, groups=[1, 2])
    with pytest.raises(InvalidParameter, match="too few"):
        hf.ReusableHoldout(N, reserve=0.5, groups=[1] * N)
    with pytest.raises(InvalidParameter, match="final must be above 0"):
        hf.ReusableHoldout(N, reserve=0.5, final=0.0)


# --- nothing reads reserved rows --------------------------------------------------------------------------------------


def poisoned(values: np.ndarray, sound: np.ndarray) -> np.ndarray:
    """Numbers where rows may be read, and what no reader takes elsewhere."""
    return np.where(np.isin(np.arange(len(values)), sound), values.astype(float), np.nan)


def holdout(**how) -> hf.ReusableHoldout:
    return hf.ReusableHoldout(N, questions=30, seed=5, **({"reserve": [0.3, 0.2]} | how))


def test_reserved_rows_are_read_by_nothing_before_their_final():
    """Every verb answers with NaN in all reserved rows, as it would with anything else there; so do streams."""
    run, twin = holdout(), holdout()
    split = run._split
    rng = np.random.default_rng(1)
    b, a = rng.random((2, N)) < 0.6
    for kind in ("bad", "other"):
        run_at = run if kind == "bad" else twin

        def rows(values: np.ndarray, kind: str = kind) -> np.ndarray:
            bad = poisoned(values, split.explored)
            return bad if kind == "bad" else np.where(np.isnan(bad), 0.123, bad)

        run_at.check(rows(b), 0.6)
        run_at.check(rows(b), 0.05, family="betting")
        run_at.check(rows(b), 0.5, spread=0.3)
        run_at.check(iter(np.array_split(rows(b), 7)), 0.9, family="kl")
        run_at.check_batch([rows(b), rows(a)], [0.6, 0.2])
        run_at.claim(rows(b), at_least=0.3)
        run_at.compare(rows(b), rows(a), margin=-0.5)
        run_at.compare(rows(b), rows(a), 0.0)
        run_at.best({"b": rows(b), "a": rows(a)})
        run_at.best({"b": rows(b), "a": rows(a)}, {"b": 0.5, "a": 0.6}, show="value")
    assert run.transcript == twin.transcript
    signs = [one.compare(b ^ extra, a ^ extra) for one, extra in ((holdout(), ~sound(split)), (holdout(), sound(None)))]
    assert signs[0] == signs[1]
    assert run.explored == split.explored.size == 100
    for wrong in (rows(b)[:-1], np.append(rows(b), 0.5)):
        with pytest.raises(InvalidParameter, match="200 in all"):
            run.check(wrong, 0.5)


def sound(split: Split | None) -> np.ndarray:
    """Which rows are explored; none of them where there is no split."""
    found = np.zeros(N, dtype=bool)
    if split is not None:
        found[split.explored] = True
    return found


def test_a_final_reads_the_rows_of_its_phase_alone():
    """And the next one those of its own; exact values are theirs, at a constant level, with nothing charged."""
    run = holdout()
    split = run._split
    b = np.random.default_rng(2).random(N) < 0.6
    run.check(poisoned(b, split.explored), 0.01)
    level = math.log(0.05 * 0.25)
    for reserved in split.reserved:
        result = run.final({"b": poisoned(b, reserved)}, binary=True)
        ones = int(b[reserved].sum())
        assert result.values["b"] == ones / reserved.size
        assert result.n == reserved.size
        assert result.interval["b"] == pytest.approx(tuple(blaker(ones, reserved.size, level)), abs=1e-9)
        assert len(result.revealed) == 1
        assert run.ended
        with pytest.raises(BudgetExhausted):
            run.check(b, 0.5)
        with pytest.raises(BudgetExhausted):
            run.close()
    with pytest.raises(BudgetExhausted, match="exact values were shown"):
        run.final({"b": b})


def test_a_run_that_was_closed_still_has_its_finals():
    """What was explored is out; the reserved rows owe it nothing."""
    run = holdout()
    b = np.random.default_rng(2).random(N) < 0.6
    run.check(b, 0.3)
    assert len(run.close()) == 1
    assert run.final({"b": b}).n == 60
    assert run.final({"b": b}).n == 40


def test_weights_of_ranks_come_from_rows_that_were_read_before():
    """Explored rows and earlier reserves, but never the rows that are tested or those of a later final."""
    rng = np.random.default_rng(3)
    models = {f"m{k}": rng.random(N) < 0.3 + 0.1 * k for k in range(5)}
    run = holdout()
    split = run._split
    before = split.explored
    for tested in split.reserved:
        allowed = np.concatenate([before, tested])
        columns = {name: poisoned(values, allowed) for name, values in models.items()}
        streams = {name: iter(np.array_split(values, 3)) for name, values in columns.items()}
        result = run.final(streams, claims="ranks", binary=True)
        assert set(result.ranks) == set(models)
        before = allowed
    missing = {name: poisoned(values, split.reserved[0]) for name, values in models.items()}
    with pytest.raises(InvalidParameter, match="candidates must"):
        holdout().final(missing, claims="ranks", binary=True)


def test_metrics_are_refused_where_rows_are_reserved():
    """They are computed from all rows, which nothing may read yet."""
    run = holdout()
    metric = metrics.mean([True, False] * (N // 2), "clopper-pearson")
    for ask in (
        lambda: run.check_metric(metric, 0.5, 0.4),
        lambda: run.claim(metric, at_least=0.2),
        lambda: run.best({"a": metric, "b": metric}),
        lambda: run.final({"a": metric}),
    ):
        with pytest.raises(QuestionRefused, match="reserved"):
            ask()
    assert run.asked == 0
    assert not run.ended


# --- a run is handed over ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grouped", [False, True])
def test_a_state_keeps_the_split_and_the_phase(grouped):
    groups = np.repeat(np.arange(40), 5) if grouped else None
    run = holdout(groups=groups)
    b = np.random.default_rng(2).random(N) < 0.6
    run.check(b, 0.3)

    def twin() -> hf.ReusableHoldout:
        return hf.ReusableHoldout.from_state(json.loads(json.dumps(run.state(secrets=True), allow_nan=False)))

    assert np.array_equal(twin()._split.explored, run._split.explored)
    assert all(np.array_equal(a, b) for a, b in zip(twin()._split.reserved, run._split.reserved, strict=True))
    assert twin().explored == run.explored
    assert twin().check(b, 0.5) == hf.ReusableHoldout.from_state(run.state()).check(b, 0.5)
    first = twin().final({"b": b})
    assert run.final({"b": b}).interval == first.interval
    second = twin()
    assert second.ended
    with pytest.raises(BudgetExhausted):
        second.check(b, 0.5)
    assert second.final({"b": b}).n == run._split.reserved[1].size
    assert "reserved" in repr(run)
    broken = run.state()
    broken["reserve"] = broken["reserve"] | {"sides": "00"}
    with pytest.raises(InvalidParameter, match=f"say for each of {run.units} units whether it is reserved"):
        hf.ReusableHoldout.from_state(broken)


# --- what a talkative exploration cannot break ------------------------------------------------------------------------


class ReserveExplored(hf.ReusableHoldout):
    """Wrong on purpose: questions before the final read the reserved rows too."""

    def __init__(self, *given, **named) -> None:
        super().__init__(*given, **named)
        self._split = Split(self._split.seed, self._split.parts, np.arange(self.n), self._split.reserved)
        self._n = self.n


def misses(kind: type[hf.ReusableHoldout], runs: int, seed: int) -> int:
    """In how many runs does the final miss 1/2, after the signs of forty noise columns were learned from bits?"""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(runs):
        columns = rng.random((40, N)) < 0.5
        run = kind(N, questions=40, reserve=0.5, seed=int(rng.integers(1 << 30)))
        up = np.array([run.best({"up": one, "down": ~one}).value == "up" for one in columns])
        vote = np.where(up[:, None], columns, ~columns).sum(axis=0) + rng.random(N) > 20.5
        low, high = run.final({"vote": vote}).interval["vote"]
        count += not low <= 0.5 <= high
    return count


def test_a_final_on_reserved_rows_holds_whatever_was_learned():
    runs = 60
    assert misses(hf.ReusableHoldout, runs, 1) <= binom.isf(1e-6, runs, 0.025)
    assert misses(ReserveExplored, runs, 1) > binom.isf(1e-6, runs, 0.025)
