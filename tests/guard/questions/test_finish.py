"""The verbs that explore and finish, in a guard: answers, refusals, repeats, replays, and who may end a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    HoldfastError,
    InvalidParameter,
    QuestionRefused,
)
from holdfast.guard import Board, Guard, Policy, best, check, claim, close, compare, final, mean, score, select
from holdfast.guard.ledger import open_store
from holdfast.guard.pipeline import Request
from holdfast.guard.policy import PRIVATE
from holdfast.guard.questions.base import Question
from tests.guard.questions.ends import CANDIDATES, POLICY, ROWS, N, adds_up, mean_of, opened
from tests.guard.strangers import ask_each


def _left(guard: Guard, analyst: str = "analyst") -> Any:
    return guard.remaining(analyst), guard.ledger.head().sequence


# --- Answers ----------------------------------------------------------------------------------------------------------


def test_a_final_shows_exact_values_and_what_is_claimed_about_them() -> None:
    every = opened().ask(final(CANDIDATES))
    assert every.value == {name: mean_of(name) for name in CANDIDATES}
    assert all(every.interval[name][0] <= mean_of(name) <= every.interval[name][1] for name in CANDIDATES)
    assert every.details["winner_interval"] == every.interval["best"]
    assert every.details["ranks"] is every.details["loss_at_most"] is None, "not claimed"
    winner = opened().ask(final(CANDIDATES, claims="winner"))
    assert (winner.details["winner"], winner.interval) == ("best", None)
    low, high = winner.details["winner_interval"]
    assert low <= mean_of("best") <= high
    assert high - low < every.interval["best"][1] - every.interval["best"][0], "an upper limit is not divided"
    assert 0 <= winner.details["loss_at_most"] < 0.02
    ranks = opened().ask(final(CANDIDATES, claims="ranks"))
    assert ranks.details["ranks"] == {"best": [1, 1], "good": [2, 2], "weak": [3, 3]}
    least = opened().ask(final(CANDIDATES, claims="winner", smaller_is_better=True))
    assert least.details["winner"] == "weak"
    numbers = opened().ask(final({"amount": "amount", "half": "amount / 2"}, low=0, high=10, claims="winner"))
    assert numbers.details["winner"] == "amount"
    assert numbers.value["amount"] == pytest.approx(float(np.mean(ROWS["amount"])), abs=1e-6)


def test_an_estimate_of_a_final_says_how_wide_it_can_be() -> None:
    for claims in ("intervals", "winner"):
        guard = opened()
        guard.ask(check("good", guess=round(mean_of("good"), 2)))
        widest = guard.estimate(final(CANDIDATES, claims=claims)).half_width
        low, high = guard.ask(final(CANDIDATES, claims=claims)).details["winner_interval"]
        assert widest is not None
        assert 0.75 * widest < (high - low) / 2 < widest, "at .8 a proportion is .8 times as wide as at one half"
    assert opened().estimate(final(CANDIDATES, claims="ranks")).half_width is None


def test_the_text_of_an_end_has_the_winner_and_what_is_revealed() -> None:
    guard = opened()
    guard.ask(check("good", guess=0.2))
    said = str(guard.ask(final(CANDIDATES, claims="winner")))
    assert said.startswith(f"“best” is best with {mean_of('best'):.3g}. The truth is between ")
    assert "1 earlier answer is shown with exact values." in said
    assert str(opened().ask(close())).startswith("The run has ended. ")


def test_exploring_and_then_a_final_that_reveals_it() -> None:
    guard = opened()
    passed = guard.ask(check("good", guess=round(mean_of("good"), 2)))
    failed = guard.ask(check("good", guess=0.2))
    assert (passed.passed, failed.passed) == (True, False)
    assert failed.widening > 0.2
    assert failed.final_widening > 2 * failed.widening
    assert f"later intervals are {failed.widening:.0%} wider, a final's {failed.final_widening:.0%}" in str(failed)
    assert failed.to_dict()["final_widening"] == failed.final_widening
    assert passed.widening == pytest.approx(0, abs=0.01)
    assert guard.ask(compare("best", "weak")).passed
    assert guard.ask(claim("best", at_least=0.5)).passed
    name = guard.ask(best(CANDIDATES, {"weak": 0.6, "good": 0.7, "best": 0.8}))
    assert (name.value, name.interval, name.passed) == ("best", None, None)
    shown = guard.ask(best(CANDIDATES, {"weak": 0.6, "good": 0.7, "best": 0.79}, show="value"))
    assert (shown.value, shown.passed) == ("best", True)
    assert guard.remaining()["total"]["questions"] == 15, "the name alone counts as no question"
    result = guard.ask(final({"best": "best"}))
    revealed = {line["sequence"]: line for line in result.details["revealed"]}
    assert set(revealed) == {one.sequence for one in (passed, failed, shown)} | {4, 5}
    for answer in (passed, failed):
        exact = revealed[answer.sequence]
        assert exact["value"] == mean_of("good")
        low, high = exact["interval"]
        assert answer.interval[0] - 1e-9 <= low <= mean_of("good") <= high <= answer.interval[1] + 1e-9
        assert high - low < 0.6 * (answer.interval[1] - answer.interval[0])
    assert revealed[shown.sequence]["value"] == "best"
    assert revealed[4]["value"] == pytest.approx(mean_of("best") - mean_of("weak"))
    store = guard.ledger
    assert [entry.body["message"]["finishes"] for entry in store.entries(2)].count(True) == 1


def test_what_is_shown_of_a_check_holds_what_a_reveal_shows_whatever_the_rows() -> None:
    """Condition 2 of Theorem E, by the guard's own bound question: every count of rows, each guess and side."""
    from holdfast.guard.guard_budget import GuardBudget
    from holdfast.guard.questions import Situation
    from holdfast.guard.state import GuardState, Progress

    schema, n = opened().ledger.look(GuardState.of).schema, 300
    situation = Situation(GuardBudget(n, POLICY), Progress())
    for guess, side in ((0.0, "both"), (0.03, "below"), (0.5, "both"), (0.97, "above"), (1.0, "both")):
        bound: Any = check("good", guess=guess, side=side).bind(schema, n, POLICY)
        for count in range(n + 1):
            measured = [(count * 2**30,)]
            settled = bound.settle(measured, situation)
            exact = bound.reveal(measured, n, settled.log_share)
            assert settled.interval[0] <= exact.interval[0] + 1e-12
            assert exact.interval[1] <= settled.interval[1] + 1e-12
            assert exact.interval[0] <= count / n <= exact.interval[1]


def test_a_batch_is_charged_to_later_questions_only() -> None:
    wrong = [check("good", guess=guess) for guess in (0.1, 0.2, 0.3)]
    together, one_by_one = opened(), opened()
    batch = together.ask_all([*wrong, compare("best", "weak")])
    alone = [one_by_one.ask(question) for question in wrong]
    shares = [answer.guarantee.parameters["log_share"] for answer in batch]
    assert len(set(shares)) == 1, "each has the prior from before the batch"
    assert alone[2].guarantee.parameters["log_share"] < shares[2] - 5
    after = [guard.estimate(check("best", guess=0.8)).half_width for guard in (together, one_by_one)]
    assert after[0] == pytest.approx(after[1], rel=0.06), "what it showed is charged to what follows"
    fresh = opened().estimate(check("best", guess=0.8)).half_width
    assert fresh is not None
    assert after[0] is not None
    assert after[0] > 1.3 * fresh


def test_a_final_in_a_batch_is_refused() -> None:
    guard = opened()
    before = _left(guard)
    for questions in ([check("good", 0.7), final(CANDIDATES)], [{"kind": "close"}, check("good", 0.7)]):
        with pytest.raises(QuestionRefused, match="must be asked alone"):
            guard.ask_all(questions)
    assert _left(guard) == before


def test_a_final_that_strangers_come_before_is_answered() -> None:
    """What was answered while the rows were read counts for the level, and is revealed as it was answered."""
    from holdfast.guard import pipeline

    guard = opened()
    guard.ask(check("good", guess=0.7))
    batch = pipeline.check(guard.ledger, [Request(final(CANDIDATES), "analyst")], together=True)
    bound = batch.items[0].bound
    pipeline._read_history(guard.ledger, bound)
    (prepared,) = guard._rows.measure([bound])
    late = guard.ask(check("weak", guess=0.99), analyst="bob")
    assert late.passed is False
    answer = guard.ledger.submit(lambda transaction: pipeline.settle(transaction, bound, prepared)).entry.body["answer"]
    told = opened()
    told.ask(check("good", guess=0.7))
    told.ask(check("weak", guess=0.99), analyst="bob")
    whole = told.ask(final(CANDIDATES))
    assert answer["guarantee"] == whole.guarantee.to_dict(), "the level is that of the whole course"
    assert answer["interval"] == {name: list(ends) for name, ends in whole.interval.items()}
    first, second = answer["details"]["revealed"]
    assert first == whole.details["revealed"][0]
    assert (second["value"], second["interval"]) == (late.value, list(late.interval))
    assert whole.details["revealed"][1]["value"] != late.value, "with its columns read it is exact"


# --- The end ----------------------------------------------------------------------------------------------------------

MIXED = Policy(
    questions=20,
    privacy=PureDP(0.05),
    spend=PureDP(0.01),
    boards=[Board("b", key="id", label="good", metric="accuracy")],
)


@pytest.mark.parametrize("ending", [close(), final(CANDIDATES)], ids=["close", "final"])
def test_after_the_end_everything_is_refused(ending: Question) -> None:
    guard = opened(MIXED)
    guard.ask(check("good", guess=0.7))
    noisy = guard.ask(mean("weak"))
    first = guard.ask(ending, key="k")
    before = _left(guard)
    for question in (
        check("weak", guess=0.6),
        claim("weak", at_least=0.1),
        compare("best", "weak"),
        best(CANDIDATES),
        mean("good"),
        select({"weak": "weak", "good": "good"}),
        score("b", {0: True}, guess=0.5),
        final({"good": "good"}),
        Question.from_dict(Question.kinds()["test"].example),
    ):
        with pytest.raises((BudgetExhausted, InvalidParameter)):
            guard.ask(question)
        with pytest.raises((BudgetExhausted, InvalidParameter, QuestionRefused)):
            guard.ask_all([question, check("best", guess=0.8)])
        assert isinstance(ask_each(guard, [Request(question, "ann")])[0], (BudgetExhausted, InvalidParameter))
    if ending.kind == "final":
        with pytest.raises(BudgetExhausted, match="has shown exact values"):
            guard.ask(close())
    for further in (lambda: guard.level(0.05), lambda: guard.adjusted(0.01)):
        with pytest.raises(GuaranteeUnavailable, match="exact values"):
            further()
    assert _left(guard) == before
    assert before[0]["status"] == "ended"
    assert not guard.estimate(check("weak", guess=0.6)).admitted
    assert guard.ask(mean("weak")).value == noisy.value, "what was answered before comes back"
    again = guard.ask(ending, key="k")
    assert (again.repeated, again.value, again.details) == (True, first.value, first.details)
    assert guard.ask(ending).repeated


@pytest.mark.parametrize("slow", [False, True])
def test_the_ledger_of_every_verb_adds_up_and_goes_on_after_reopening(slow: bool, tmp_path: Any) -> None:
    place = tmp_path / "ledger.db"
    with open_store(place) as store:
        guard = opened(MIXED, store)
        guard._rows.slow_seconds = -1.0 if slow else 60.0
        for i, question in enumerate(
            (
                check("good", guess=0.7, guess_rows=500),
                check("good", guess=0.3, side="below", show="bit"),
                check("weak", guess=0.6, stake=0.2),
                compare("best", "good", risk=0.01),
                compare("best", "good", guess=0.1),
                claim("amount", at_least=2, low=0, high=10),
                best(CANDIDATES),
                best(CANDIDATES, {"weak": 0.9, "good": 0.7, "best": 0.2}, show="value"),
                mean("weak"),
            )
        ):
            guard.ask(question, key=f"k{i}")
        score_answer = guard.ask(score("b", dict(zip(range(N), ROWS["good"].tolist(), strict=True)), guess=0.9))
        assert adds_up(store)
    with open_store(place) as store:
        guard = opened(MIXED, store)
        guard._rows.slow_seconds = -1.0 if slow else 60.0
        done = guard.ask(final(CANDIDATES, claims="winner"), key="end")
        lines = {line["sequence"]: line for line in done.details["revealed"]}
        assert lines[score_answer.sequence]["value"] == 1.0, "a submission's score was kept"
        assert len(lines) == 8  # all that had a pass or a failure: not the name of a winner, not the noisy mean
        assert adds_up(store)
    with open_store(place) as store:
        guard = opened(MIXED, store)
        assert guard.ask(final(CANDIDATES, claims="winner"), key="end").details == done.details
        assert adds_up(store)


def test_a_crash_before_the_answer_is_durable_shows_nothing_and_a_retry_ends_the_run_once(tmp_path: Any) -> None:
    from holdfast.guard.ledger import faults

    class Pulled(BaseException):
        pass

    for number, (name, ending) in enumerate(
        (name, ending)
        for name in ("guard.measured", "guard.reserved", "guard.settled")
        for ending in (close(), final(CANDIDATES))
    ):
        store = open_store(tmp_path / f"{number}.db")
        guard = opened(POLICY, store)
        guard._rows.slow_seconds = -1.0 if name == "guard.reserved" else 60.0
        guard.ask(check("good", guess=0.7))

        def pull(reached: str, name: str = name) -> None:
            if reached == name:
                raise Pulled

        faults.set_hook(pull)
        try:
            with pytest.raises(Pulled):
                guard.ask(ending, key="end")
        finally:
            faults.set_hook(None)
        done = guard.ask(ending, key="end")
        assert done.repeated is (name == "guard.settled")
        assert len(done.details["revealed"]) == 1
        with pytest.raises(BudgetExhausted):
            guard.ask(check("weak", guess=0.6))
        answered = [entry for entry in guard.ledger.entries() if entry.kind == "answered"]
        assert len(answered) == 2
        assert adds_up(store)
        store.close()


# --- Who, and where not -----------------------------------------------------------------------------------------------


def test_an_analyst_does_not_end_the_run_of_all() -> None:
    guard = opened()
    ann, boss = guard.for_analyst("ann"), guard.for_analyst("sue", steward=True)
    ann.ask(check("good", guess=0.7))
    before = _left(guard, "ann")
    for ending in (close(), final(CANDIDATES), {"kind": "close"}):
        with pytest.raises(QuestionRefused, match="only a steward"):
            ann.ask(ending)
        with pytest.raises(QuestionRefused):
            ann.ask_all([ending])
    assert _left(guard, "ann") == before
    assert len(boss.ask(close()).details["revealed"]) == 1
    with pytest.raises(BudgetExhausted):
        ann.ask(check("weak", guess=0.6))


def test_a_steward_whom_the_policy_does_not_name_ends_the_run() -> None:
    store = open_store()
    guard = opened(Policy(questions=20, privacy=PureDP(0.05), spend=PureDP(0.01), analysts={"ann": 0.5}), store)
    guard.ask(check("good", guess=0.7), analyst="ann")
    for question in (check("good", guess=0.7), mean("good"), best(CANDIDATES)):
        with pytest.raises(InvalidParameter, match="a name that the policy lists"):
            guard.ask(question, analyst="sue")
    done = guard.ask(final(CANDIDATES), analyst="sue", key="k")
    assert len(done.details["revealed"]) == 1
    assert done.remaining["yours"] == {"questions": 0}
    assert guard.ask(final(CANDIDATES), analyst="sue", key="k").repeated
    assert adds_up(store)


def test_where_histories_are_separate_each_ends_their_own() -> None:
    guard = opened(Policy(questions=20, histories="separate", analysts={"ann": 0.5, "bob": 0.5}))
    ann, bob = guard.for_analyst("ann"), guard.for_analyst("bob")
    ann.ask(check("good", guess=0.7))
    bob.ask(check("weak", guess=0.6))
    assert len(ann.ask(final(CANDIDATES)).details["revealed"]) == 1
    with pytest.raises(BudgetExhausted):
        ann.ask(check("weak", guess=0.6))
    assert bob.ask(check("good", guess=0.7)).passed
    assert len(bob.ask(close()).details["revealed"]) == 2


def test_no_exact_values_where_checks_are_promised_privacy() -> None:
    policy = Policy(
        questions=20, privacy=PureDP(0.5), holdout="thresholdout", threshold=0.1, overfits=3, holdout_spend=PureDP(0.4)
    )
    assert not {"final", "close"} & set(policy.kinds or ())
    assert policy.final == 0.0, "nothing is kept for a final that cannot be asked"
    guard = opened(policy)
    for ending in (close(), final(CANDIDATES)):
        with pytest.raises(QuestionRefused, match="does not allow a"):
            guard.ask(ending)
    with pytest.raises(InvalidParameter, match="kinds"):
        Policy(**policy.to_dict() | {"kinds": ("check", "final"), "privacy": PureDP(0.5), "holdout_spend": PureDP(0.4)})
    only_means = opened(Policy(answers="means", questions=20))
    with pytest.raises(QuestionRefused):
        only_means.ask(close())


def test_nothing_is_kept_for_a_final_that_the_policy_does_not_allow() -> None:
    assert Policy(kinds=("check", "close")).final == 0.0
    assert Policy(kinds=("check", "final")).final == 0.5
    assert Policy(kinds=("check",), final=0.5).final == 0.5, "a steward may take a final away later"
    with pytest.raises(QuestionRefused, match="does not allow a final"):
        opened(Policy(kinds=("check",))).ask(final(CANDIDATES))
    with pytest.raises(QuestionRefused, match="keeps no part"):
        opened(Policy(final=0.0)).ask(final(CANDIDATES))
    assert opened(Policy(final=0.0)).ask(close()).details["revealed"] == []


WRONG: list[tuple[Any, type[HoldfastError]]] = [
    (final({}), InvalidParameter),
    (final({"a": "nobody"}), InvalidParameter),
    (final({"a": "good", "b": "amount"}, low=0, high=10), InvalidParameter),
    (final(CANDIDATES, claims="everything"), InvalidParameter),
    (final({f"a{k}": f"amount + {k}" for k in range(61)}, low=0, high=10, claims="ranks"), InvalidParameter),
    (final({"a\nb": "good"}), InvalidParameter),
    (best({"a": "good"}), InvalidParameter),
    (best(CANDIDATES, {"none": 0.5}), InvalidParameter),
    (best(CANDIDATES, {"weak": 0.5}, show="value"), InvalidParameter),
    (best(CANDIDATES, {"weak": float("nan")}), InvalidParameter),
    (best(CANDIDATES, show="all"), InvalidParameter),
    (check("good", guess=1.5), InvalidParameter),
    (check("good", guess=0.5, risk=2), InvalidParameter),
    (check("good", guess=0.5, stake=0), InvalidParameter),
    (check("good", guess=0.5, stake=0.9), BudgetExhausted),
    (check("good", guess=0.5, side="left"), InvalidParameter),
    (check("good", guess=0.5, guess_rows=0), InvalidParameter),
    (check("good", guess=0.5, tolerance=1e-9), InvalidParameter),
    (compare("good", "amount", low=0, high=10), InvalidParameter),
    (compare("good", "weak", margin=0.1, guess=0.1), InvalidParameter),
    (compare("good", "weak", margin=3), InvalidParameter),
    (claim("good"), InvalidParameter),
    (claim("good", at_least=0.1, at_most=0.2), InvalidParameter),
    ({"kind": "close", "more": 1}, InvalidParameter),
]


@pytest.mark.parametrize(("question", "error"), WRONG, ids=range(len(WRONG)))
def test_wrong_input_spends_nothing(question: Any, error: type[HoldfastError]) -> None:
    guard = opened()
    before = _left(guard)
    for ask in (lambda: guard.ask(question), lambda: guard.ask_all([question])):
        with pytest.raises(error):
            ask()
    assert isinstance(ask_each(guard, [Request(question, "analyst")])[0], error)
    assert _left(guard) == before
    assert guard.ask(check("good", guess=0.7)).guarantee.parameters["log_share"] == pytest.approx(
        np.log(0.05 / 40), abs=1e-6
    )


def test_a_stake_is_refused_where_spendings_go_by_the_number_alone() -> None:
    guard = opened(Policy(questions=20, privacy=ZCDP(1e-5), spend=ZCDP(1e-6)))
    before = _left(guard)
    for question in (
        check("good", guess=0.7, stake=0.1),
        compare("best", "weak", stake=0.1),
        claim("good", at_least=0.1, stake=0.1),
    ):
        with pytest.raises(InvalidParameter, match="stake must be left out"):
            guard.ask(question)
    assert _left(guard) == before


def test_every_private_kind_is_known_to_the_tests_above() -> None:
    assert set(PRIVATE) == {"mean", "histogram", "select", "test", "top"}


# --- Every kind is asked again for its exact value --------------------------------------------------------------------

STAYS_AS_SHOWN = {
    "quantile": "its counts around the guess do not tell the exact quantile",
    "score": "its predictions are not stored; its exact score is kept as a secret",
    "final": "it shows exact values itself",
    "close": "it shows nothing of its own",
    "choose": "it reads no row",
    "contest_final": "it shows exact values itself",
}


def _is_noiseless(kind: type[Question]) -> bool:
    return not kind.is_private(kind.example)


@pytest.mark.parametrize("name", [name for name, kind in Question.kinds().items() if _is_noiseless(kind)])
def test_a_noiseless_kind_is_made_again_from_its_stored_form(name: str) -> None:
    """Else the end of a run would show its answers without exact values, and nothing would say so."""
    kind = Question.kinds()[name]
    if name in STAYS_AS_SHOWN:
        assert kind.asked_again.__func__ is Question.asked_again.__func__  # type: ignore[attr-defined]
        return
    n = 4000
    sample = hf.data.table(
        {
            "age": [18 + i % 60 for i in range(n)],
            "income": [1000 + 20 * (i % 200) for i in range(n)],
            "arm": ["drug" if i % 2 else "none" for i in range(n)],
        }
    )
    policy = Policy(questions=10)
    example = kind.example | ({"show": "value"} if name == "best" else {})  # a name alone has no exact value
    bound = Question.from_dict(example).bind(sample.schema, n, policy)
    again = kind.asked_again(bound.question)
    assert again is not None
    assert again.bind(sample.schema, n, policy).digest == bound.digest


@pytest.mark.parametrize(
    ("claims", "stored"),
    [
        (["winner", "ranks"], {"winner": 0.5, "ranks": 0.5}),
        ({"ranks": 3, "intervals": 1}, {"intervals": 0.25, "ranks": 0.75}),
        (["ranks"], "ranks"),
        ({"winner": 9, "loss": 1}, "winner"),
    ],
)
def test_a_final_takes_several_claims_as_the_library_does(claims: Any, stored: Any) -> None:
    guard = opened()
    result = guard.ask(final(CANDIDATES, claims=claims))
    details = result.details
    split = stored if isinstance(stored, dict) else {stored: 1}
    assert details["claims"] == stored
    assert (details["ranks"] is not None) == ("ranks" in split)
    assert (result.interval is not None) == ("intervals" in split)
    assert guard.ask(final(CANDIDATES, claims=stored)).repeated, "the same claims in another spelling"
    numbers = opened().ask(final({"amount": "amount", "half": "amount / 2"}, claims=claims, low=0, high=10))
    assert (numbers.details["ranks"] is not None) == ("ranks" in split)


def test_weights_of_claims_are_written_and_read_as_on_the_command_line() -> None:
    from holdfast.guard.questions.fields import Place

    (declared,) = [one for one in final.fields() if one.name == "claims"]
    place = Place("--claims")
    for text, value in (
        ("winner", "winner"),
        ("winner,ranks", ["winner", "ranks"]),
        ("winner=1,ranks=2", {"winner": 1.0, "ranks": 2.0}),
    ):
        assert declared.input.read([text], place) == value
        assert declared.input.write(value) == [text]
    for wrong in ("winner=x", "winner=0,ranks=1", "nothing", "winner,nothing"):
        with pytest.raises(InvalidParameter, match="claims"):
            opened().ask(final(CANDIDATES, claims=declared.input.read([wrong], place)))
