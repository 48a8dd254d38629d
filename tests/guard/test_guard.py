"""The guard as its users meet it: asking, repeating, retrying, running out, pausing, opening again."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast import guard as ask
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.core.checkpoint import at_checkpoints
from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    InvalidParameter,
    LedgerConflict,
    QuestionRefused,
)
from holdfast.guard import Guard, Policy, pipeline

N = 4000


def rows(seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 90, N),
        "income": np.where(rng.random(N) < 0.05, np.nan, rng.lognormal(10, 1, N)),
        "sex": rng.choice(["f", "m"], N),
    }


@pytest.fixture
def sample() -> hf.data.Sample:
    return hf.data.table(rows())


def mixed(**options: Any) -> Policy:
    return Policy(**({"privacy": PureDP(0.1), "spend": PureDP(0.01)} | options))


def test_answers_are_near_the_truth_and_say_what_they_rest_on(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(privacy=PureDP(40.0), spend=PureDP(10.0)))
    data = rows()
    answer = guard.ask(hf.mean("income", 0, 100_000, 7000))
    clipped = np.clip(np.where(np.isnan(data["income"]), 7000, data["income"]), 0, 100_000)
    assert answer.value == pytest.approx(clipped.mean(), rel=0.01)
    assert answer.cost == PureDP(10.0)
    assert answer.guarantee.theorem == "transfer.interleaved"
    assert answer.remaining["total"]["epsilon"] == 30.0
    condition = guard.ask(hf.mean("age < 40 and sex = 'f'"))
    assert condition.value == pytest.approx(((data["age"] < 40) & (data["sex"] == "f")).mean(), abs=0.01)


def test_looks(sample: hf.data.Sample) -> None:
    guard, data = Guard.open(None, sample, Policy(questions=50)), rows()
    young = (data["age"] < 40).mean()
    passed = guard.ask(ask.check("age < 40", guess=float(np.round(young, 2))))
    assert passed.passed
    assert passed.cost is None
    failed = guard.ask(ask.check("age < 40", guess=0.9))
    assert not failed.passed
    assert failed.interval[0] <= young <= failed.interval[1]
    bit = guard.ask(ask.check("age < 40", guess=0.95, show="bit"))
    assert (bit.passed, bit.value, bit.interval) == (False, None, None)
    assert guard.ask(ask.claim("age", at_least=40, low=0, high=100)).interval == [40.0, 100.0]
    assert guard.ask(ask.validate("age >= 18", 0.9)).passed
    assert guard.ask(ask.compare("age < 60", "age < 40", margin=0.1)).passed
    assert not guard.ask(ask.compare("age < 40", "age < 60", margin=0.1)).passed


def test_selection_finds_the_best_by_far(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed(privacy=PureDP(1.0)))
    answer = guard.ask(ask.select({"few": "age < 20", "most": "age > 20", "some": "age > 60"}, spend=PureDP(0.5)))
    assert answer.value == "most"
    assert answer.interval is None
    assert 0 < answer.details["short_of_the_best_by_at_most"] < 0.05


def test_a_repeated_question_is_free_in_any_spelling_and_where_it_is_shared_for_anybody(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed(repeats="everyone"))
    first = guard.ask(hf.mean("age<40 and sex='f'"), analyst="ann")
    before = guard.remaining("bo")
    again = guard.ask(hf.mean("( age < 40.0 ) AND sex = 'f'"), analyst="bo")
    assert again.repeated
    assert not first.repeated
    assert (again.value, again.interval, again.sequence) == (first.value, first.interval, first.sequence)
    assert guard.remaining("bo") == before
    dearer = guard.ask(hf.mean("age<40 and sex='f'", spend=PureDP(0.02)))  # its value may be the same, by chance
    assert not dearer.repeated
    assert dearer.sequence > first.sequence


def test_a_key_stands_for_one_question(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    first = guard.ask(hf.mean("age < 40"), key="k1")
    assert guard.ask(hf.mean("age < 40"), key="k1").sequence == first.sequence
    with pytest.raises(LedgerConflict, match="key 'k1' was already used for another question"):
        guard.ask(hf.mean("age < 41"), key="k1")
    assert guard.ask(hf.mean("age < 41"), key="k1", analyst="another").sequence > first.sequence


def test_the_budget_is_spent_to_its_limit_and_not_past_it(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    for i in range(10):
        guard.ask(hf.mean(f"age < {20 + i}"))
    assert guard.remaining()["total"]["epsilon"] == 0.0
    head = guard.ledger.head()
    with pytest.raises(
        BudgetExhausted,
        match=r"all analysts together: the basic filter refuses a cost of .*: spent so far epsilon=0\.1",
    ):
        guard.ask(hf.mean("age < 50"))
    assert guard.ledger.head() == head
    refused = guard.estimate(hf.mean("age < 50"))
    assert not refused.admitted
    assert "refuses" in refused.reason
    assert guard.ask(ask.check("age < 40", guess=0.3)).sequence == head.sequence + 1  # looks are paid in shares


def test_an_analyst_has_a_share_and_the_whole_is_kept(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed(analysts={"ann": 0.3, "bo": 1.0}, questions=10))
    for i in range(3):
        guard.ask(hf.mean(f"age < {20 + i}"), analyst="ann")
    with pytest.raises(BudgetExhausted, match="analyst 'ann' may ask 3 questions"):
        guard.ask(hf.mean("age < 50"), analyst="ann")
    for i in range(7):
        guard.ask(hf.mean(f"age < {30 + i}"), analyst="bo")
    with pytest.raises(BudgetExhausted, match="all analysts together"):
        guard.ask(hf.mean("age < 60"), analyst="bo")
    with pytest.raises(InvalidParameter, match="analyst must be a name that the policy lists"):
        guard.ask(hf.mean("age < 60"), analyst="eve")


def test_a_batch_is_answered_whole_or_not_at_all(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    head = guard.ledger.head()
    with pytest.raises(BudgetExhausted):
        guard.ask_all([hf.mean(f"age < {20 + i}") for i in range(11)])
    assert guard.ledger.head() == head
    answers = guard.ask_all([hf.mean(f"age < {20 + i}") for i in [0, 1, 0, 2]])
    assert answers[0].sequence == answers[2].sequence
    assert guard.remaining()["total"]["epsilon"] == 0.07
    assert guard.ask_all([]) == []


def test_a_batch_that_does_not_fit_is_refused_before_all_of_it_was_checked(
    sample: hf.data.Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = Guard.open(None, sample, Policy(questions=30))
    checked = []

    real = pipeline.bind

    def bind(request: Any, state: Any) -> Any:
        checked.append(request)
        return real(request, state)

    monkeypatch.setattr(pipeline, "bind", bind)
    head = guard.ledger.head()
    with pytest.raises(BudgetExhausted):
        guard.ask_all([ask.check(f"age < {20 + i / 64}", guess=0.5) for i in range(1000)])
    assert 30 < len(checked) < 60
    assert guard.ledger.head() == head
    # Those that were asked before are free, however many they are.
    first = [ask.check(f"age < {20 + i / 64}", guess=0.5) for i in range(25)]
    guard.ask_all(first)
    again = guard.ask_all([*first * 4, *(ask.check(f"age < {40 + i / 64}", guess=0.5) for i in range(5))])
    assert [one.repeated for one in again] == [True] * 100 + [False] * 5


def test_checking_stops_where_nobody_waits_for_it_and_nothing_is_spent(sample: hf.data.Sample) -> None:
    """A server ends the thread of a request that has timed out: at the next candidate, or the next question."""
    guard = Guard.open(None, sample, mixed())
    head = guard.ledger.head()
    select = ask.select({f"c{i}": f"not (age < {i})" for i in range(1000)})
    for work in (
        lambda: guard.estimate(select),
        lambda: guard.ask(select),
        lambda: guard.ask_all([hf.mean(f"age < {20 + i}") for i in range(10)]),
    ):
        passed = 0

        def gone() -> None:
            nonlocal passed
            passed += 1
            if passed == 5:
                raise TimeoutError

        with pytest.raises(TimeoutError), at_checkpoints(gone):
            work()
        assert passed == 5
    assert guard.ledger.head() == head


def test_estimates_agree_with_what_happens(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed(privacy=PureDP(0.02)))
    question = hf.mean("income", 0, 100_000, default=0)
    expected = guard.estimate(question)
    assert expected.admitted
    assert expected.half_width is not None
    answer = guard.ask(question)
    assert answer.half_width is not None
    assert answer.half_width <= expected.half_width * (1 + 1e-9)
    assert expected.remaining == answer.remaining
    assert guard.estimate(question).repeated


def test_the_failure_after_the_last_planned_one_ends_the_run(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(questions=20, failures=1))
    assert guard.ask(ask.check("age < 40", guess=0.9)).value is not None
    last = guard.ask(ask.check("age < 41", guess=0.9))
    assert (last.passed, last.value, last.interval) == (False, None, None)
    with pytest.raises(BudgetExhausted, match="the policy allows 1 failed checks"):
        guard.ask(ask.check("age < 42", guess=0.9))


def test_means_alone_use_the_narrowest_plan(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(answers="means", questions=3))
    answer = guard.ask(hf.mean("age < 40"))
    assert answer.guarantee.theorem == "interval.sign-comparison"
    assert answer.half_width == pytest.approx(guard.estimate(hf.mean("age<41")).half_width, rel=0.5)
    guard.ask_all([hf.mean("age < 41"), hf.mean("age < 42")])
    with pytest.raises(BudgetExhausted, match="may ask 3 questions"):
        guard.ask(hf.mean("age < 43"))
    with pytest.raises(QuestionRefused, match=r"does not allow a histogram; it allows check, claim, compare, mean$"):
        guard.ask(ask.histogram("age", edges=[20, 40]))


def test_who_asks_for_noise_without_a_privacy_cap_is_told_what_is_missing(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(questions=3))
    with pytest.raises(QuestionRefused, match=r"it allows check, .*; noise needs `privacy` in a policy"):
        guard.ask(hf.mean("age < 43"))


def test_an_odometer_refuses_nothing_and_widens(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(privacy=PureDP(0.01), accounting="odometer", spend=PureDP(0.01)))
    first = guard.ask(hf.mean("age < 50"))  # about a half: no noise takes an interval to an end of the range
    for i in range(4):
        last = guard.ask(hf.mean(f"age < {51 + i}"))
    assert last.remaining["total"]["spent"] == {"kind": "pure-dp", "epsilon": 0.05}
    assert last.half_width > first.half_width


def test_pausing_closing_and_overriding_are_recorded(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    guard.ask(hf.mean("age < 40"))
    guard.pause("lunch")
    with pytest.raises(QuestionRefused, match="this guard is paused for now"):
        guard.ask(hf.mean("age < 41"))
    assert guard.ask(hf.mean("age < 40")).repeated  # what was released stays released
    guard.resume()
    guard.override(mixed(privacy=PureDP(0.2)), reason="the board agreed")
    later = guard.ask(hf.mean("age < 41"))
    assert not later.guarantee.certified
    assert later.remaining["total"]["epsilon"] == 0.18
    with pytest.raises(InvalidParameter, match="policy must have a privacy budget of at least what was spent already"):
        guard.override(mixed(privacy=PureDP(0.015)), reason="too small")
    guard.close("done")
    with pytest.raises(QuestionRefused, match="this guard is closed"):
        guard.ask(hf.mean("age < 42"))
    with pytest.raises(LedgerConflict, match="closed forever"):
        guard.resume()
    kinds = [entry.kind for entry in guard.ledger.entries()]
    assert kinds == ["opened", "answered", "paused", "resumed", "override", "answered", "closed"]


def test_an_override_cannot_make_answers_uncounted(sample: hf.data.Sample) -> None:
    """What was shown is counted by looks, or by the plan of means; a policy without them would forget it."""
    looks = Guard.open(None, sample, mixed())
    looks.ask(ask.check("age < 40", guess=0.99))
    assert looks.level(0.05) < 0.05
    for policy in (mixed(kinds=("mean", "select")), Policy(questions=5), mixed(accounting="odometer")):
        with pytest.raises(InvalidParameter, match="policy must"):
            looks.override(policy, "to forget")
    assert looks.level(0.05) < 0.05  # a refused override changes nothing
    means = Guard.open(None, sample, Policy(answers="means", questions=10))
    with pytest.raises(InvalidParameter, match="policy must have the same value of answers"):
        means.override(Policy(questions=10), "to forget")
    looks.override(mixed(), "the same again")
    for bare in (looks.level, looks.adjusted):
        with pytest.raises(GuaranteeUnavailable, match="a steward replaced the policy"):
            bare(0.01)


def test_an_expired_guard_answers_nothing(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed(expires="2020-01-01"))
    with pytest.raises(QuestionRefused, match="expired at 2020-01-01"):
        guard.ask(hf.mean("age < 40"))


def test_a_rename_a_reload_and_another_order_meet_the_same_budget(tmp_path: Path) -> None:
    import polars as pl

    ledger, frame = tmp_path / "ledger.db", pl.DataFrame(rows())
    with_first = Guard.open(ledger, hf.data.table(frame), mixed())
    with_first.ask(hf.mean("age < 40"))
    with_first.shut()
    path = tmp_path / "people.parquet"
    frame.sample(fraction=1.0, shuffle=True, seed=3).select("sex", "income", "age").write_parquet(path)
    again = Guard.open(ledger, hf.data.table(path))
    assert again.remaining()["total"]["epsilon"] == 0.09
    assert again.ask(hf.mean("age < 40")).repeated
    with pytest.raises(LedgerConflict, match="has a guard with another policy"):
        Guard.open(ledger, hf.data.table(path), mixed(privacy=PureDP(5.0)))
    again.shut()


def test_samples_that_share_rows_are_found_by_their_key(tmp_path: Path) -> None:
    store = hf.guard.ledger.open_store(None)
    people = rows() | {"person": np.arange(N)}
    Guard.open(store, hf.data.table(people, row_key="person"), mixed())
    others = rows(2) | {"person": np.arange(N) + N - 40}
    with pytest.raises(
        LedgerConflict, match="shares rows with other data sets that have a guard in this store, 1 in all"
    ):
        Guard.open(store, hf.data.table(others, row_key="person"), mixed())
    allowed = Guard.open(store, hf.data.table(others, row_key="person"), mixed(), allow_overlap="two studies")
    assert next(iter(allowed.ledger.entries())).body["allowed_because"] == "two studies"
    apart = rows(3) | {"person": np.arange(N) + 10 * N}
    Guard.open(store, hf.data.table(apart, row_key="person"), mixed())


@pytest.mark.parametrize(
    ("question", "error", "said"),
    [
        (hf.mean("age"), InvalidParameter, "low and high must be given for a number"),
        (hf.mean("sex", 0, 1), InvalidParameter, "got a text"),
        (hf.mean("height > 3"), InvalidParameter, "columns of the schema"),
        (hf.mean("age > 3", 0, 5), InvalidParameter, "left out for a condition"),
        (
            hf.mean("age > 3", spend=ZCDP(0.1)),
            InvalidParameter,
            "spend must be a PureDP if the privacy budget is a PureDP",
        ),
        (hf.mean("(select 1)"), InvalidParameter, "expression"),
        (ask.check("age > 3", guess=1.5), InvalidParameter, "guess"),
        (ask.claim("age > 3"), InvalidParameter, "at_least or at_most must be given"),
        (ask.validate("age", at_least=0.5), InvalidParameter, "condition must be true or false in each row"),
        (ask.histogram("age"), InvalidParameter, "categories or edges must be given"),
        (ask.select({"a": "age > 3"}), InvalidParameter, "candidates must be a mapping from"),
        ({"kind": "median"}, InvalidParameter, "kind must be one of"),
        ({"kind": "mean", "colour": 3}, InvalidParameter, "a mean has expression"),
        ([], InvalidParameter, "a question must be a mapping"),
    ],
)
def test_wrong_questions_touch_nothing(
    sample: hf.data.Sample, question: Any, error: type[Exception], said: str
) -> None:
    guard = Guard.open(None, sample, mixed())
    head = guard.ledger.head()
    with pytest.raises(error, match=said):
        guard.ask(question)
    assert guard.ledger.head() == head


def test_questions_travel_as_plain_data(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    for question in (
        hf.mean("age", 0, 100, spend=PureDP(0.02)),
        ask.check("age < 40", guess=0.3, tolerance=0.2),
        ask.claim("age", at_most=80, low=0, high=100),
        ask.compare("age < 40", "age < 30", guess=0.1, tolerance=0.3),
        ask.validate("age > 17", 0.5),
        ask.select({"a": "age < 30", "b": "age > 30"}),
    ):
        first = guard.ask(question)
        assert guard.ask(question.to_dict()).sequence == first.sequence
        stored = ask.GuardedAnswer.stored(first.released(), first.sequence, False, first.receipt)
        assert stored == first


def test_nothing_secret_is_shown_or_pickled(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    guard.ask(hf.mean("age < 40"))
    assert "Guard(" in repr(guard)
    for kept in (guard, sample):
        with pytest.raises(TypeError):
            pickle.dumps(kept)


def test_the_policy_must_be_given_once(sample: hf.data.Sample) -> None:
    with pytest.raises(InvalidParameter, match="policy must be given: this data set has no guard yet"):
        Guard.open(None, sample)
    store = hf.guard.ledger.open_store(None)
    Guard.open(store, sample, mixed().to_dict())
    assert Guard.open(store, sample).policy == mixed()


def test_who_opens_second_finds_the_policy_of_who_was_first(sample: hf.data.Sample) -> None:
    """Two processes may both see an empty ledger; the one that comes second to the lock must not begin it again."""
    from holdfast.guard.opening import _Search
    from holdfast.guard.state import GuardState

    store = hf.guard.ledger.open_store(None)
    guard = Guard.open(store, sample, mixed())
    guard.ask(hf.mean("age < 40"))
    late = GuardState(mixed(privacy=PureDP(5.0)), sample.schema, sample.n)
    second = _Search(store, sample, guard.dataset, None, None)
    assert guard.ledger.submit(lambda transaction: second._open(transaction, late))
    assert guard.policy == mixed()
    assert guard.remaining()["total"]["epsilon"] == 0.09
    assert [entry.kind for entry in guard.ledger.entries()] == ["opened", "answered"]


def test_after_the_failure_past_the_cap_the_guard_says_that_it_has_ended(tmp_path: Path) -> None:
    guard = Guard.open(tmp_path / "ledger.db", hf.data.table(rows()), Policy(questions=10, failures=1))
    assert guard.remaining() == {
        "status": "open",
        "yours": {"questions": 10},
        "total": {"questions": 10, "failures": 1},
    }
    first = guard.ask(ask.check("age < 40", guess=0.9))
    assert first.remaining["total"] == {"questions": 9, "failures": 0}
    assert guard.describe()["status"] == "open"
    guard.ask(ask.check("age < 50", guess=0.9))
    assert guard.remaining()["status"] == "ended"
    assert guard.remaining()["total"] == {"questions": 0, "failures": 0}
    assert guard.describe()["status"] == "ended"
    assert guard.describe()["remaining"]["failures"] == 0
    with pytest.raises(BudgetExhausted, match="only `final` and `close`, which end the run, can still be asked"):
        guard.ask(ask.check("age < 60", guess=0.5))
    guard.override(Policy(questions=10, failures=5), "more failures were allowed")
    assert guard.remaining()["status"] == "open"
    guard.close()
    assert guard.remaining()["status"] == "closed"
    guard.shut()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (lambda sample: (sample, None, mixed()), "ledger must be a path.*got a sample; the order is Guard.open"),
        (lambda sample: (None, None, mixed()), "sample must be what hf.data.table returns, got None; the order is"),
        (lambda sample: (None, mixed(), sample), "sample must be what hf.data.table returns, got a Policy; the order"),
        (lambda _: (None, "adult.csv", mixed()), r"got a str; write hf.data.table\('adult.csv'\)"),
        (lambda _: (None, {"a": [1, 2]}, mixed()), r"got a dict; write hf.data.table\(...\)"),
        (lambda sample: (None, [sample, "b.csv"], mixed()), r"got a str; write hf.data.table\('b.csv'\)"),
        (lambda sample: (None, sample, 0.1), "policy must be a Policy or its mapping, got a float"),
    ],
)
def test_what_is_no_ledger_sample_or_policy(sample: hf.data.Sample, arguments: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Guard.open(*arguments(sample))


def test_rows_that_the_ledger_does_not_know_are_told_from_those_that_it_does(tmp_path: Path) -> None:
    ledger = tmp_path / "a.db"
    rows = {"label": [True, False] * 50, "prediction": [True] * 100}
    Guard.open(ledger, hf.data.table(rows), mixed()).shut()
    changed = hf.data.table(rows | {"prediction": [False] * 100})
    words = r"it has a guard of 100 rows \(label, prediction\), and none of these 100 rows \(label, prediction\)"
    with pytest.raises(InvalidParameter, match=words) as caught:
        Guard.open(ledger, changed)
    assert caught.value.parameter == "sample"
    Guard.open(ledger, hf.data.table(rows)).shut()


@pytest.mark.parametrize("more", [{}, {"tolerance": 0.04}, {"side": "above"}, {"show": "bit"}, {"risk": 0.2}])
def test_an_estimate_says_when_a_guess_passes_and_what_a_failure_costs(more: dict[str, Any]) -> None:
    """To the row: the counts that pass are those that were said to."""

    def answer_of(right: int) -> Any:
        rows = hf.data.table({"right": [True] * right + [False] * (2_000 - right)})
        guard = Guard.open(None, rows, Policy(questions=100))
        asked = hf.guard.check("right", guess=0.8, **more)
        return guard.estimate(asked), guard.ask(asked)

    told, _ = answer_of(1_600)
    assert told.passes_within is not None
    least, greatest = (round(end * 2_000) for end in told.passes_within)
    assert least < 1_600 < greatest
    answers = [answer_of(right)[1] for right in (least - 1, least, greatest, greatest + 1)]
    assert [one.passed for one in answers] == [False, True, True, False]
    price, near = told.failure_price, answers[-1]
    assert price is not None
    if near.interval is None or near.interval[0] >= 0.8:  # in the cell next to what passes, not in the inner one
        assert (near.widening, near.final_widening) == pytest.approx((price.questions, price.final), rel=1e-6)
    assert told.to_dict()["failure_price"] == {"widening": price.questions, "final_widening": price.final}


def test_an_estimate_of_numbers_and_of_some_rows() -> None:
    rows = hf.data.table({"x": [0.0, 1.0, 0.5, 0.3] * 500, "y": [True, False] * 1_000})
    guard = Guard.open(None, rows, Policy(questions=100))
    told = guard.estimate(hf.guard.check("x", guess=0.45, low=0, high=1))
    assert told.passes_within is not None
    assert told.passes_within[0] < 0.45 < told.passes_within[1]
    assert told.passes_within[1] - told.passes_within[0] < 2 * told.half_width  # type: ignore[operator]
    among = guard.estimate(hf.guard.check("x", guess=0.45, low=0, high=1, where="y"))
    assert among.passes_within is None, "how many rows meet the condition is secret"
    assert among.failure_price is not None
    assert guard.estimate(hf.guard.claim("x", at_least=0.4, low=0, high=1)).failure_price is None
