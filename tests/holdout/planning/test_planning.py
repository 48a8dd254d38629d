"""Plans: the issue's figures, agreement with the holdout itself, inverses, monotone widths, honest flags."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast.core.strict_json import to_json
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.holdout import HoldoutPlan, ReusableHoldout, plan
from holdfast.holdout.planning.methods import (
    METHODS,
    PlannedRun,
    Use,
    least_rows,
    most_failures,
    most_questions,
    reaches,
)
from holdfast.inference import GaussianAnswers

SLOW = ("gaussian-answers", "thresholdout-tightened", "thresholdout-single")
QUICK = [name for name in METHODS if name not in SLOW]


@pytest.fixture(scope="module")
def issue() -> HoldoutPlan:
    return hf.plan(10_000, questions=1000, failures=10)


def test_figures_of_the_issue(issue: HoldoutPlan) -> None:
    row = issue["guess-and-check"]
    assert row.before_failures is not None
    assert row.before_failures <= 0.026
    assert row.half_width <= 0.075
    assert round(issue["non-adaptive"].half_width, 3) == 0.023
    sharp = hf.plan(10_000, questions=1000, failures=10, guess=0.95, binary=True)
    for name in ("guess-and-check-kl", "guess-and-check-binary"):
        assert sharp[name].extra["before_failures"] <= 0.6 * row.before_failures
        assert sharp[name].half_width <= 0.6 * row.half_width


def test_gaussian_answers_of_the_issue() -> None:
    found = plan(100_000, questions=1000, guess=False)
    assert round(found["gaussian-answers"].half_width, 4) == 0.0312
    assert found["gaussian-answers"].half_width == GaussianAnswers(100_000, 1000, 0.95).width.half_width
    assert found.recommended == "gaussian-answers"


def test_thresholdout_rows_of_the_specification() -> None:
    found = plan(None, questions=1000, failures=10, half_width=0.1)
    rows = {name: found[name].n_required for name in METHODS if name in {row.name for row in found.methods}}
    assert rows["thresholdout-paper"] == 17_341_106  # section 4.3
    assert rows["thresholdout-tightened"] == 1_733_865
    assert rows["thresholdout-single"] == 514_423
    assert found.recommended == "guess-and-check"


# what a plan says is what the holdout does


@pytest.mark.parametrize("failures", [0, 10])
def test_a_holdout_without_failures_has_the_planned_tolerance(failures: int) -> None:
    """Before any failure it is that of the last question, after passes only."""
    holdout = ReusableHoldout(100, questions=1000, failures=failures)
    holdout.check_batch([np.arange(100) % 2] * 999, [0.5] * 999)
    last = ReusableHoldout.from_state(holdout.state() | {"n": 10_000})
    planned = plan(10_000, questions=1000, failures=failures)["guess-and-check"]
    assert planned.before_failures == pytest.approx(last.least_tolerance(family="hoeffding"), rel=1e-6)
    sharp = plan(10_000, questions=1000, failures=failures, guess=0.95, binary=True)
    for name, family in (("guess-and-check-kl", "kl"), ("guess-and-check-binary", "clopper-pearson")):
        after = last.least_tolerance(0.95, family=family, binary=family == "clopper-pearson")
        before = sharp[name].extra["before_failures"]
        assert after * (1 - 1e-9) <= before <= 1.1 * after


MIDDLE = np.repeat([0.0, 1.0], 1000)


def nearly(holdout: ReusableHoldout, family: str = "hoeffding") -> float:
    """A guess that fails on these rows by as little as shows the cell next to what passes."""
    return 0.5 - 1.5 * holdout.least_tolerance(0.5, family=family)


@given(st.lists(st.booleans(), min_size=39, max_size=39), st.integers(0, 6), st.sampled_from([None, 0.2, 0.3, 0.49]))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_no_run_is_wider_than_planned(fails: list[bool], failures: int, tolerance: float | None) -> None:
    """Whichever questions fail by a little, the last question of 40 has a tolerance of at most the planned one."""
    holdout = ReusableHoldout(2000, questions=40, failures=failures)
    left = failures
    for fail in fails:
        fail, left = fail and left > 0, left - (fail and left > 0)
        wide = holdout.least_tolerance(family="hoeffding")
        allowed = wide + 1e-9 if fail else max(wide, tolerance or wide) + 1e-9
        answer = holdout.check(MIDDLE, nearly(holdout) if fail else 0.5, allowed, family="hoeffding")
        assert answer.passed is not fail
    planned = width("guess-and-check", 2000, Use(40, failures, 0.95))
    assert holdout.least_tolerance(family="hoeffding") <= planned * (1 + 1e-8)  # refusals have 2^-30 of the prior


@pytest.mark.parametrize(("family", "name"), [("hoeffding", "guess-and-check"), ("kl", "guess-and-check-kl")])
def test_planned_width_is_nearly_reached(family: str, name: str) -> None:
    """Failures that show the cell next to what passes are what was planned for; one that is far off costs more."""
    m, failures = 100, 10
    for guessed, most in ((nearly, 1 + 1e-6), (lambda holdout, family: 0.0, 1.35)):
        holdout = ReusableHoldout(2000, questions=m, failures=failures)
        for i in range(m - 1):
            guess = guessed(holdout, family) if i < failures else 0.5
            tolerance = holdout.least_tolerance(guess, family=family) * (1 + 1e-9) if i < failures else None
            answer = holdout.check(MIDDLE, guess, tolerance, family=family)
            assert answer.passed is (i >= failures)
        planned = width(name, 2000, Use(m, failures, 0.95, guess=0.5))
        assert 0.99 * planned <= holdout.least_tolerance(0.5, family=family) <= most * planned
    assert holdout.least_tolerance(0.5, family=family) > 1.05 * planned


def test_corrected_values_are_as_near_as_planned() -> None:
    m, failures = 30, 4
    holdout = ReusableHoldout(2000, questions=m, failures=failures)
    for i in range(m):
        guess = 0.5 if i < m - failures else 0.5 - 3 * holdout.least_tolerance(0.5, family="hoeffding")
        answer = holdout.check(MIDDLE, guess, family="hoeffding")
    assert holdout.failed == failures
    assert answer.value is not None
    assert answer.half_width is not None
    corrected = METHODS["guess-and-check"].width(2000, Use(m, failures, 0.95)).extra["corrected"]
    assert answer.half_width <= corrected * (1 + 1e-9)


def width(name: str, n: int, use: Use) -> float:
    return METHODS[name].width(n, use).half_width


# widths move the right way


@pytest.mark.parametrize("name", QUICK)
@given(
    st.integers(10, 10**8),
    st.integers(1, 10**6),
    st.integers(0, 200),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
    st.sampled_from([None, 0.3, 0.95]),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_monotone(name: str, n: int, questions: int, failures: int, confidence: float, guess: float | None) -> None:
    use = Use(questions, min(failures, questions), confidence, guess, binary=True)
    if not METHODS[name].applies(use):
        return
    # exact binomial limits move in steps of one count
    slack = 1 + 1e-9 + (3 / n / max(width(name, n, use), 1e-9) if name == "guess-and-check-binary" else 0.0)
    here = width(name, n, use)
    assert width(name, 2 * n, use) <= here * slack
    assert width(name, n, use.asking(2 * questions)) * slack >= here
    if use.failures < questions:
        assert width(name, n, use.failing(use.failures + 1)) * slack >= here
    surer = Use(questions, use.failures, 1 - (1 - confidence) / 10, guess, binary=True)
    assert width(name, n, surer) * slack >= here


@pytest.mark.parametrize("name", SLOW)
def test_monotone_for_the_slow_ones(name: str) -> None:
    use = Use(1000, 10, 0.95)
    here = width(name, 10**7, use)
    assert width(name, 2 * 10**7, use) < here
    assert width(name, 10**7, use.asking(2000)) > here
    assert width(name, 10**7, use.failing(11)) >= here
    assert width(name, 10**7, Use(1000, 10, 0.99)) > here


# inverses are inverses


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize(("questions", "failures", "tau"), [(1000, 10, 0.1), (7, 2, 0.03)])
def test_least_rows(name: str, questions: int, failures: int, tau: float) -> None:
    method, use = METHODS[name], Use(questions, failures, 0.95, 0.9, binary=True)
    n = least_rows(method, use, tau)
    assert n is not None
    assert method.width(n, use).half_width <= tau * (1 + 1e-9)
    assert reaches(method, n, use, tau)
    # a searched schedule is smooth to 2e-3 of its width, which is about one over the root of the rows
    fewer = n - 1 if name != "gaussian-answers" else int(n * (1 - 8e-3))
    assert method.width(fewer, use).half_width > tau * (1 - 1e-9)
    assert not reaches(method, fewer, use, tau)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_most_questions_and_failures(name: str) -> None:
    method, use, tau = METHODS[name], Use(200, 5, 0.95, 0.9, binary=True), 0.1
    n = least_rows(method, use, tau)
    assert n is not None
    m = most_questions(method, n, use, tau)
    assert m >= 200
    assert method.width(n, use.asking(m)).half_width <= tau * (1 + 1e-9)
    step = 1 if m < 10**5 else m >> 10  # a schedule's own search is good to a relative 1e-5 there
    if m < 10**15:
        assert method.width(n, use.asking(m + step)).half_width > tau
    f = most_failures(method, n, use, tau)
    assert f is not None
    assert f >= 5
    assert method.width(n, use.failing(f)).half_width <= tau * (1 + 1e-9)
    if f < use.questions:
        assert method.width(n, use.failing(f + 1)).half_width > tau


def test_nothing_fits() -> None:
    method, use = METHODS["guess-and-check"], Use(200, 5, 0.95)
    assert most_questions(method, 10, use, 0.01) == 0
    assert most_failures(method, 10, use, 0.01) is None
    assert least_rows(METHODS["thresholdout-paper"], Use(10**9, 10**9, 0.95), 1e-5) is None


# flags and advice are honest


@pytest.mark.parametrize(
    ("n", "failures", "guess", "half_width"),
    [
        *((n, 50, guess, tau) for n in (60, 40_000) for guess, tau in ((None, None), (False, 0.2))),
        *((3000, 1, guess, tau) for guess, tau in ((None, None), (False, None), (0.05, 0.2), (False, 0.2))),
        *((n, failures, False, None) for n, failures in ((1, 0), (3000, 50), (40_000, 0))),
        *((n, failures, 0.05, 0.2) for n, failures in ((1, 0), (3000, 0), (3000, 50), (40_000, 50))),
    ],
)
def test_recommendation(n: int, failures: int, guess: Any, half_width: float | None) -> None:
    found = plan(n, 50, failures, guess=guess, half_width=half_width, binary=True)
    able = [row for row in found.methods if found.usable(row) and not row.vacuous]
    if half_width is not None:
        able = [row for row in able if row.half_width <= half_width]
    assert found.feasible is bool(able)
    if not able:
        assert found.recommended is None
        return
    assert found.recommended is not None
    best = found[found.recommended]
    assert best in able
    for row in able:
        if row.answers == best.answers:
            assert best.half_width <= row.half_width * (1 + 1e-8)
    if any(row.answers == "values" for row in able):
        assert best.answers == "values"
    if guess is False:
        assert "a guess" not in best.needs


def test_flags(issue: HoldoutPlan) -> None:
    for row in issue.methods:
        assert row.vacuous is (not row.half_width < 0.5)
        assert row.certified is (not row.reference)
        if row.vacuous:
            assert row.n_required is not None
            use = Use(1000, 10, 0.95)
            assert METHODS[row.name].width(row.n_required, use).half_width < 0.5
    assert [row.name for row in issue.methods if row.reference] == ["non-adaptive"]
    widths = [row.half_width for row in issue.methods if not row.reference]
    assert widths == sorted(widths)


def test_printed_constants_that_win_are_not_certified() -> None:
    """From tens of thousands of overfits on, the printed branch beats the proved one; the plan says so."""
    rows = 10**12
    found = METHODS["thresholdout-paper"].width(rows, Use(10**6, 10**6, 0.95))
    assert not found.certified
    assert METHODS["thresholdout-exact"].width(rows, Use(10**6, 10**6, 0.95)).certified


def test_words(issue: HoldoutPlan) -> None:
    said = "\n".join(issue.words())
    assert "Use guess-and-check (ReusableHoldout)" in said
    assert "The paper's Thresholdout gives no guarantee at this size" in said
    asked = "\n".join(plan(10_000, 1000, 10, half_width=0.1).words())
    assert "it would need 17 million rows for 0.1" in asked
    none = plan(10_000, 1000, 10, half_width=0.01)
    assert not none.feasible
    assert none.words()[0].startswith("No certified method gives a half-width of 0.01 with 10,000 rows.")
    row = none["guess-and-check"]
    assert f"{row.n_required:,} rows" in none.words()[0]
    assert plan(5, 1000, 10).words()[0].startswith("No certified method gives a guarantee with 5 rows.")


def test_range_scales_lengths(issue: HoldoutPlan) -> None:
    wide = plan(10_000, 1000, 10, low=-5.0, high=15.0)
    for row in issue.methods:
        assert wide[row.name].half_width == pytest.approx(20 * row.half_width, rel=1e-12)
        assert wide[row.name].vacuous is row.vacuous
    asked = plan(None, 1000, 10, half_width=0.05, guess=0.95)
    same = plan(None, 1000, 10, half_width=1.0, low=-5.0, high=15.0, guess=14.0)
    assert [row.n_required for row in asked.methods] == [row.n_required for row in same.methods]


@pytest.mark.parametrize(
    ("n", "questions", "failures", "guess"),
    [(1, 1, 0, None), (1, 1, 1, 0.0), (10**15, 10**15, 10**15, None), (100, 10**6, 10**6, 1.0), (10**15, 10, 3, 0.5)],
)
def test_extremes_are_numbers(n: int, questions: int, failures: int, guess: float | None) -> None:
    found = plan(n, questions, failures, guess=guess, binary=True)
    assert all(row.half_width > 0 for row in found.methods)
    assert str(found)


# forms


def test_plain_data(issue: HoldoutPlan) -> None:
    said = json.loads(to_json(issue.to_dict()))
    assert said["recommended"] == "guess-and-check"
    for row in said["methods"]:
        assert {"name", "half_width", "certified", "vacuous", "n_required", "theorem", "needs", "says"} <= set(row)
        assert row["theorem"] in hf.bounds.catalogue()
    assert said["asked"]["n"] == 10_000


def test_prints(issue: HoldoutPlan) -> None:
    text = str(issue)
    assert text.splitlines()[0] == "10,000 rows, 1,000 questions, 10 failures, confidence 0.95"
    assert "The limit is 0.023" in text
    page = issue._repr_html_()
    assert page.count("<tr>") == len(issue.methods)  # a heading, and every method but the limit
    assert "<table>" in page
    with pytest.raises(KeyError, match="is not a method of this plan"):
        issue["nothing"]


def test_curve_and_plot(issue: HoldoutPlan) -> None:
    seen: list[float] = []
    rows = issue.curve([10, 1000], progress=lambda share, what: seen.append(share))
    assert seen[-1] == 1.0
    at = {(row["method"], row["questions"]): row["half_width"] for row in rows}
    for row in issue.methods:
        assert at[row.name, 1000] == pytest.approx(row.half_width, rel=1e-12)
    chart = issue.plot([10, 1000]).to_dict()
    assert chart["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"
    assert "dashed" in chart["title"]["subtitle"]
    with pytest.raises(InvalidParameter, match="the plan needs n"):
        plan(None, 10, 1, half_width=0.1).curve([10])


def test_plot_without_its_extra(issue: HoldoutPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(HoldfastError, match=r"holdfast\[plots\]"):
        issue.plot([10])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "n must be a whole number, at least 1"),
        ({"n": None}, "neither n nor half_width was given"),
        ({"questions": 0}, "questions must be a whole number"),
        ({"questions": 5, "failures": 6}, "failures must be a whole number, at least 0 and at most 5"),
        ({"confidence": 1}, r"confidence must be a number in \(0, 1\), got 1"),
        ({"confidence": 1 - 1e-17}, "confidence"),
        ({"half_width": 0.5}, r"half_width must be a number in \[1e-09, 0.5\)"),
        ({"half_width": math.nan}, "half_width must be a number"),
        ({"low": 1.0, "high": 1.0}, "low must be below high"),
        ({"guess": 1.5}, r"guess must be a number in \[0, 1\], got 1.5"),
        ({"binary": 1}, "binary must be True or False"),
    ],
)
def test_wrong_input(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        plan(**({"n": 1000, "questions": 10} | wrong))


def test_numbers_of_rows_and_questions_end_at_ten_to_the_fifteen() -> None:
    small = plan(1000, 10, 1)
    for questions in ([0], [10**15 + 1], [10, -1]):
        with pytest.raises(InvalidParameter, match="questions"):
            small.curve(questions)
    for n, questions in ((10**15 + 1, 10), (0, 10), (1000, 0), (1000, 10**15 + 1)):
        with pytest.raises(InvalidParameter, match="must be"):
            plan(n, questions, 1)


def test_the_worst_number_of_failures_leaves_the_smallest_share() -> None:
    for m in (1, 2, 3, 5, 12, 30, 60, 400):
        for failures in {0, 1, m // 2, m - 1, m}:
            run = PlannedRun(10, Use(m, failures, 0.95, None, False), "hoeffding")
            shares = [run.log_share(f) for f in range(min(failures, m - 1) + 1)]
            assert run.log_share(run.worst) == min(shares)
