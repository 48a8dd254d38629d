"""Contests: what the exploring phase shows by each rule, a full budget, and the final on reserved rows."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.bounds.one_question import blaker
from holdfast.core.strict_json import to_json
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import Board, Guard, Policy, check, choose, contest, contest_final, pipeline, score
from holdfast.guard.ledger import open_store
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.pipeline import Request
from holdfast.guard.questions import contest_final as contest_final_module
from holdfast.holdout.ranks import rank, sign_p_values
from tests.guard.questions.ends import adds_up

N = 3000
_RNG = np.random.default_rng(22)
LABELS = _RNG.random(N) < 0.5
ROWS: dict[str, Any] = {"id": np.arange(N), "y": LABELS, "size": _RNG.random(N) * 10}


def board(rule: str = "open", **more: Any) -> Board:
    return Board("b", key="id", label="y", metric="accuracy", **{"rule": rule} | more)


def opened(where: Any = None, policy: Policy | None = None, **more: Any) -> Guard:
    plan: dict[str, Any] = {"boards": [board()], "reserve": 0.5, "final": 1.0} | more
    return Guard.open(where, hf.data.table(ROWS, engine="numpy"), policy or Policy(**plan))


def right_on(part: float, seed: int) -> dict[int, bool]:
    """Predictions that are right on about this part of the rows."""
    right = np.random.default_rng(seed).random(N) < part
    return dict(enumerate(np.where(right, LABELS, ~LABELS).tolist()))


def rows_of(guard: Guard, phase: int | None = None) -> np.ndarray[Any, Any]:
    """The keys of the explored rows, or of a reserve."""
    explored = guard._rows.sample
    part = explored if phase is None else explored.reserves[phase]
    return np.array(sorted(part.fold(["id"], set, lambda before, batch: before | set(batch["id"][0].tolist()))))


def accuracy(predicted: dict[int, bool], keys: Any) -> float:
    return float(np.mean([predicted[int(key)] == LABELS[int(key)] for key in keys]))


def test_an_open_board_shows_plain_scores_of_the_explored_rows_and_certifies_nothing() -> None:
    guard = opened()
    sent = {"ann": right_on(0.8, 1), "bob": right_on(0.6, 2)}
    for who, predicted in sent.items():
        answer = guard.ask(score("b", predicted), analyst=who)
        assert answer.value == pytest.approx(accuracy(predicted, rows_of(guard)), abs=1e-12)
        assert answer.interval is None
        assert not answer.guarantee.certified
        assert "certifies nothing" in answer.guarantee.assumption
    places = guard.leaderboard("b").places
    assert [place.analyst for place in places] == ["ann", "bob"]
    assert all(place.rank is None and not place.certified for place in places)
    assert "not certified" in str(guard.leaderboard("b"))


def test_a_plain_score_costs_later_questions_what_it_could_have_shown() -> None:
    """One of n + 1 scores: a check afterwards has a share that is as much smaller."""
    guard = opened(policy=Policy(boards=[board()], reserve=0.5, questions=10))
    n = len(rows_of(guard))

    def share() -> float:
        answer = guard.ask(check("y", guess=0.5, tolerance=0.3))
        return float(answer.guarantee.parameters["log_share"])

    guard.ask(score("b", right_on(0.6, 3)))
    fresh = Guard.open(None, hf.data.table(ROWS, engine="numpy"), guard.policy)
    before = fresh.ask(check("y", guess=0.5, tolerance=0.3)).guarantee.parameters["log_share"]
    assert share() == pytest.approx(before - np.log(n + 1), abs=0.01)


def test_the_final_shows_exact_values_intervals_and_ranks_on_the_reserve_alone(tmp_path: Path) -> None:
    sent = {name: right_on(part, seed) for seed, (name, part) in enumerate({"a": 0.9, "b": 0.75, "c": 0.74}.items())}
    with open_store(tmp_path / "ledger.db", new_key=tmp_path / "key") as store:
        guard = opened(store)
        for who, predicted in sent.items():
            guard.ask(score("b", predicted, name=f"of {who}"), analyst=who)
        result = guard.ask(contest_final("b"), analyst="host", key="end")
        reserve = rows_of(guard, 0)
        assert result.details["n"] == len(reserve)
        assert result.value == {who: accuracy(predicted, reserve) for who, predicted in sent.items()}
        assert result.details["ranks"]["a"] == [1, 1]
        assert {("a", "b"), ("a", "c")} <= set(map(tuple, result.details["better"]))
        level = np.log(0.05 * 0.1 / 3)
        ones = round(result.value["b"] * len(reserve))
        assert result.interval["b"] == pytest.approx(list(blaker(ones, len(reserve), level)), abs=1e-9)
        assert [one["name"] for one in result.details["finalists"]] == ["of a", "of b", "of c"]
        assert guard.ask(contest_final("b"), analyst="host", key="end").repeated
        with pytest.raises(BudgetExhausted, match="has shown exact values"):
            guard.ask(score("b", right_on(0.5, 9)), analyst="d")
        assert adds_up(store)


def test_the_comparisons_are_those_of_weighted_holm_on_the_reserve() -> None:
    """With equal weights it claims a subset or as many; each claim is one that a sign test supports."""
    guard = opened()
    sent = {f"t{i:02}": right_on(0.5 + 0.02 * i, 40 + i) for i in range(12)}
    for who, predicted in sent.items():
        guard.ask(score("b", predicted), analyst=who)
    result = guard.ask(contest_final("b"))
    keys = rows_of(guard, 0)
    right = np.array([[predicted[int(key)] == LABELS[int(key)] for key in keys] for predicted in sent.values()])
    wins = right.astype(int) @ (1 - right.astype(int)).T
    even = rank(sign_p_values(wins), np.log(0.05 * 0.9))
    assert len(result.details["better"]) >= 0.95 * len(even.better)
    for high, low in result.details["better"]:
        i, j = list(sent).index(high), list(sent).index(low)
        assert wins[i, j] > wins[j, i]
    winner = result.details["winner"]
    against = result.details["against_winner"]
    other = "t00"
    i, j = list(sent).index(winner), 0
    assert against[other] == [wins[i, j], wins[j, i]]


def test_participants_choose_and_the_latest_choice_counts() -> None:
    guard = opened()
    first, second = (guard.ask(score("b", right_on(part, 5), name=str(part)), analyst="ann") for part in (0.9, 0.6))
    guard.ask(score("b", right_on(0.7, 6), name="bob's"), analyst="bob")
    entered = [guard.ask(choose("b", [one.sequence]), analyst="ann") for one in (second, first, second)]
    assert [one.repeated for one in entered] == [False, False, False]
    again = guard.ask(choose("b", [second.sequence]), analyst="ann", key="k")
    assert guard.ask(choose("b", [second.sequence]), analyst="ann", key="k").sequence == again.sequence
    for wrong in ([first.sequence], [99], [1]):
        with pytest.raises(InvalidParameter, match="entry numbers of your own"):
            guard.ask(choose("b", wrong), analyst="bob")
    result = guard.ask(contest_final("b"))
    assert {one["label"]: one["name"] for one in result.details["finalists"]} == {"ann": "0.6", "bob": "bob's"}
    both = opened()
    sent = [both.ask(score("b", right_on(part, 5)), analyst="ann").sequence for part in (0.9, 0.6)]
    both.ask(choose("b", sent), analyst="ann")
    labels = [one["label"] for one in both.ask(contest_final("b")).details["finalists"]]
    assert labels == [f"ann: entry {one}" for one in sent]


@pytest.mark.parametrize(("default", "name"), [("best", "good"), ("latest", "later")])
def test_who_chose_nothing_takes_part_with_the_best_or_the_latest(default: str, name: str) -> None:
    guard = opened()
    for called, part in (("bad", 0.5), ("good", 0.9), ("later", 0.6)):
        guard.ask(score("b", right_on(part, 5), name=called), analyst="ann")
    (finalist,) = guard.ask(contest_final("b", default)).details["finalists"]
    assert finalist["name"] == name


def test_a_full_budget_stops_showing_scores_and_never_taking_submissions(tmp_path: Path) -> None:
    """Failures, then questions, then the part of beta: each submission after that is entered, and is in the final."""
    with open_store(tmp_path / "ledger.db") as store:
        guard = opened(store, final=0.5, boards=[board("checked")], questions=30, failures=1)
        shown = [guard.ask(score("b", right_on(0.5, i), guess=0.99), analyst=f"t{i}") for i in range(2)]
        assert [one.value is None for one in shown] == [False, True]
        late = guard.ask(score("b", right_on(0.8, 7), guess=0.8, name="late"), analyst="late", key="mine")
        assert (late.value, late.interval, late.details["shown"]) == (None, None, False)
        assert guard.ask(score("b", right_on(0.8, 7), guess=0.8), analyst="late", key="mine").repeated
        with pytest.raises(BudgetExhausted):
            guard.ask(check("y", guess=0.5))
        result = guard.ask(contest_final("b"))
        assert result.details["winner"] == "late"
        assert adds_up(store)
    few = opened(final=0.5, boards=[board("checked")], questions=1)
    few.ask(score("b", right_on(0.6, 1), guess=0.6), analyst="a")
    assert few.ask(score("b", right_on(0.8, 2), guess=0.8), analyst="b").details == {
        "board": "b",
        "metric": "accuracy",
        "shown": False,
    }
    with pytest.raises(InvalidParameter, match="final must be below 1 for the board 'b', whose rule is checked"):
        opened(boards=[board("checked")], final=1.0)


def test_without_a_reserve_a_full_budget_refuses_as_before() -> None:
    guard = opened(final=0.5, reserve=0.0, boards=[board("checked")], questions=1)
    guard.ask(score("b", right_on(0.6, 1), guess=0.6))
    with pytest.raises(BudgetExhausted):
        guard.ask(score("b", right_on(0.8, 2), guess=0.8))


def test_two_phases_each_on_their_own_reserve() -> None:
    guard = opened(reserve=[0.3, 0.3])
    guard.ask(score("b", right_on(0.7, 1), name="early"), analyst="ann")
    first = guard.ask(contest_final("b"), key="1")
    assert (first.details["phase"], first.details["phases"]) == (1, 2)
    late = guard.ask(score("b", right_on(0.9, 2), name="late"), analyst="ann")
    assert late.details["shown"] is False, "exact values were shown: no more scores, but it is taken"
    guard.ask(choose("b", [late.sequence]), analyst="ann")
    second = guard.ask(contest_final("b", phase=2), key="2")
    assert guard.ask(contest_final("b")).sequence == first.sequence, "the same final again is free"
    assert second.details["n"] == len(rows_of(guard, 1))
    assert second.value == {"ann": accuracy(right_on(0.9, 2), rows_of(guard, 1))}
    with pytest.raises(BudgetExhausted):
        guard.ask(score("b", right_on(0.9, 3)), analyst="ann")


def test_the_baseline_is_the_claim_of_a_first_submission() -> None:
    ladder = opened(final=0.5, boards=[board("ladder", baseline=0.5)], questions=50)
    first = ladder.ask(score("b", right_on(0.5, 1)), analyst="ann")
    assert (first.passed, first.value, first.details["claimed"]) == (True, 0.5, 0.5)
    assert ladder.describe()["progress"]["failed"] == 0
    checked = opened(final=0.5, boards=[board("checked", baseline=0.5)], questions=50)
    assert checked.ask(score("b", right_on(0.5, 1)), analyst="ann").passed
    with pytest.raises(InvalidParameter, match="baseline"):
        board("open", baseline=0.5)


@pytest.mark.parametrize("metric", ["f1", "auc", "brier", "log-loss"])
def test_other_metrics_have_a_final_too(metric: str) -> None:
    one = Board("b", key="id", label="y", metric=metric, rule="open")  # type: ignore[arg-type]
    guard = opened(boards=[one])
    rng = np.random.default_rng(4)
    for who, strength in {"ann": 0.45, "bob": 0.05}.items():
        if metric == "f1":
            sent: Any = right_on(0.5 + strength, 8)
        else:
            signal = strength * np.where(LABELS, 1, -1) * rng.random(N)
            sent = dict(enumerate(np.clip(0.5 + signal + 0.2 * rng.normal(size=N), 0.01, 0.99).tolist()))
        assert guard.ask(score("b", sent), analyst=who).value is not None
    result = guard.ask(contest_final("b"))
    assert result.details["winner"] == "ann"
    assert result.details["better"] == [["ann", "bob"]]
    low, high = result.interval["ann"]
    assert low <= result.value["ann"] <= high


def test_known_rows_assume_less_and_claim_less() -> None:
    sent = {f"t{i}": right_on(0.5 + 0.04 * i, i) for i in range(8)}
    counts = []
    for known in (False, True):
        guard = opened(boards=[board(known_rows=known)])
        for who, predicted in sent.items():
            guard.ask(score("b", predicted), analyst=who)
        result = guard.ask(contest_final("b"))
        counts.append(len(result.details["better"]))
        assert ("one population" in result.guarantee.assumption) != known
    assert 0 < counts[1] <= counts[0]


def test_two_boards_do_not_share_a_reserve_and_a_ledger_that_has_them_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The final of one would end the contest of the other."""
    boards = [board(), Board("other", key="id", label="y", metric="accuracy", rule="open")]
    with pytest.raises(InvalidParameter, match="boards must have one entry if rows are reserved for a final, got 2"):
        opened(boards=boards)
    one = opened()
    with pytest.raises(InvalidParameter, match="boards must have one entry if rows are reserved for a final, got"):
        one.override(Policy(boards=boards, reserve=0.5, final=1.0), "another board")
    both = Policy(boards=boards, reserve=[0.3, 0.3], final=1.0)
    with open_store(tmp_path / "ledger.db") as store:
        with monkeypatch.context() as patch:
            patch.setattr(Policy, "require_contest", lambda _: None)
            guard = opened(store, policy=both)
        guard.ask(score("b", right_on(0.8, 1)), analyst="ann")
        guard.ask(contest_final("b"), analyst="host")
        again = opened(store, policy=both)
        assert [one.name for one in again.policy.boards or ()] == ["b", "other"]
        assert again.contest("other").phase == 2
        assert adds_up(store)
    ladder = Policy(boards=[board("ladder")], reserve=0.5, final=0.9, questions=5).to_dict() | {"final": 1.0}
    assert Policy.stored(ladder).final == 1


def test_what_does_not_fit_a_contest_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="reserve must be above 0 for the board 'b'"):
        Policy(boards=[board()])
    guard = opened()
    with pytest.raises(QuestionRefused, match="nobody submitted"):
        guard.ask(contest_final("b"))
    with pytest.raises(InvalidParameter, match="with the rule open"):
        guard.ask(score("b", right_on(0.5, 1), guess=0.5))
    with pytest.raises(QuestionRefused, match="only a steward"):
        guard.for_analyst("ann").ask(contest_final("b"))
    plain = opened(reserve=0.0, boards=[board("checked")], final=0.5)
    for question in (contest_final("b"), choose("b", [2])):
        with pytest.raises(QuestionRefused):
            plain.ask(question)


def test_nobody_can_put_off_a_final_by_what_they_send_while_it_is_computed(tmp_path: Path) -> None:
    """Whatever is submitted and chosen meanwhile, the final is that of the moment when it was asked for."""
    with open_store(tmp_path / "ledger.db") as store:
        guard = opened(store, reserve=[0.3, 0.3])
        mine = [guard.ask(score("b", right_on(part, 1)), analyst="ann").sequence for part in (0.8, 0.6)]
        guard.ask(score("b", right_on(0.7, 2)), analyst="bob")
        batch = pipeline.check(guard.ledger, [Request(contest_final("b"), "host")], together=True)
        bound = batch.items[0].bound
        pipeline._read_history(guard.ledger, bound)
        (prepared,) = guard._rows.measure([bound])
        for number in mine * 2:
            guard.ask(choose("b", [number]), analyst="ann")
        late = guard.ask(score("b", right_on(0.9, 3)), analyst="cy").sequence
        entry = guard.ledger.submit(lambda transaction: pipeline.settle(transaction, bound, prepared)).entry
        details = entry.body["answer"]["details"]
        assert [one["label"] for one in details["finalists"]] == ["ann", "bob"]
        assert details["finalists"][0]["sequence"] == mine[0], "the best shown, as nothing was chosen"
        assert details["late"] == 5
        second = guard.ask(contest_final("b", phase=2), analyst="host")
        assert {one["sequence"] for one in second.details["finalists"]} >= {mine[1], late}
        assert adds_up(store)


def test_only_one_of_two_finals_of_a_phase_is_shown() -> None:
    """Two that differ, such as by who chose nothing, would read the same reserved rows twice."""
    guard = opened(reserve=[0.3, 0.3])
    for part in (0.8, 0.6):
        guard.ask(score("b", right_on(part, 1)), analyst="ann")
    batch = pipeline.check(guard.ledger, [Request(contest_final("b"), "host")], together=True)
    bound = batch.items[0].bound
    pipeline._read_history(guard.ledger, bound)
    (prepared,) = guard._rows.measure([bound])
    guard.ask(contest_final("b", "latest"), analyst="host")
    head = guard.ledger.head()
    with pytest.raises(LedgerConflict, match="somebody else ended the run"):
        guard.ledger.submit(lambda transaction: pipeline.settle(transaction, bound, prepared))
    assert guard.ledger.head() == head


def test_what_a_final_reveals_is_the_stewards_alone(tmp_path: Path) -> None:
    """Exact explored scores of which the ladder said less, and other people's checks, are in nothing that is public."""
    with open_store(tmp_path / "ledger.db", new_key=True) as store:
        guard = opened(store, final=0.5, boards=[board("ladder", baseline=0.5)], questions=50)
        guard.ask(check("y", guess=0.5), analyst="dan")
        sent = {part: right_on(part, 5) for part in (0.9, 0.62)}
        for part in sent:
            guard.ask(score("b", sent[part]), analyst="ann")
        answer = guard.ask(contest_final("b"), analyst="host")
        hidden = accuracy(sent[0.62], rows_of(guard))
        exact = {one["sequence"]: one["value"] for one in guard.revealed()}
        assert exact[4] == pytest.approx(hidden, abs=1e-12)
        assert 2 in exact, "the check"
        (result,) = guard.contest().results
        assert result.receipt is not None
        assert Receipt.from_dict(result.receipt).is_signed()
        everything = [to_json(answer.to_dict()), result.to_json(), result.to_html(), result.to_csv()]
        everything += [entry.text for entry in guard.ledger.entries(answer.sequence)]
        for text in everything:
            assert repr(hidden)[:8] not in text
            assert '"revealed"' not in text
        assert answer.details["reveals"] == len(exact)
        assert adds_up(store)


def test_a_result_that_an_earlier_version_wrote_with_what_it_revealed_shows_no_receipt(tmp_path: Path) -> None:
    from holdfast.guard.contest import result_of
    from holdfast.guard.ledger.entry import Entry, Head
    from holdfast.guard.questions.contest_final import ContestFinal
    from holdfast.guard.state import GuardState

    with open_store(tmp_path / "ledger.db", new_key=True) as store:
        guard = opened(store)
        guard.ask(score("b", right_on(0.8, 1)), analyst="ann")
        guard.ask(contest_final("b"), analyst="host")
        (entry,) = guard.ledger.entries(3)
        body = entry.body
        details = body["answer"]["details"]
        del details["reveals"], details["late"]
        details["revealed"] = [{"sequence": 2, "value": 0.123456, "interval": None}]
        earlier = Entry.following(Head(), dataset=entry.dataset, time=entry.time, kind="answered", body=body)
        found = result_of(earlier, guard.ledger.look(GuardState.of), guard.ledger)
        assert found.receipt is None
        assert "0.123456" not in found.to_json()
        assert "1 earlier answer" in ContestFinal.answer_words({}, body["answer"])


def test_a_result_of_a_thousand_teams_is_a_small_page_that_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    teams = [f"team {i:04}" for i in range(1000)]
    places = tuple(
        contest.ContestPlace(one, one, "", i + 2, 0.5, (0.4, 0.6), (1, 1000), 999 - i, 0.5)
        for i, one in enumerate(teams)
    )
    better = tuple(itertools.combinations(teams, 2))
    result = contest.ContestResult(
        "b", "accuracy", True, 1, 1, 1000, 0.95, places, better, True, "", "", "d", 9, "h", {}, {"public_key": "0" * 64}
    )
    page = result.to_html()
    assert len(page) < 500_000
    assert "499500 of 499500 pairs are told apart" in page
    assert "certainly better than all others" in page
    assert "receipt is in the JSON form" in page
    assert contest.ContestResult.from_dict(json.loads(result.to_json())) == result
    monkeypatch.setattr(contest, "_page", lambda _: pytest.fail("it is kept"))
    assert result.to_html() == page


def test_a_contest_is_read_again_without_reading_its_entries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = opened()
    for i in range(5):
        guard.ask(score("b", right_on(0.7, i)), analyst=f"t{i}")
    guard.ask(contest_final("b"), analyst="host")
    before = guard.contest()
    monkeypatch.setattr(contest_final_module, "_read", lambda *_: pytest.fail("it is kept"))
    monkeypatch.setattr(contest, "_result", lambda *_: pytest.fail("it is kept"))
    assert guard.contest() == before


def test_a_board_says_how_many_submissions_each_participant_chooses() -> None:
    two, three = opened(), opened(boards=[board(finalists=3)])
    for guard, most in ((two, 2), (three, 3)):
        sent = [guard.ask(score("b", right_on(0.7, i)), analyst="ann").sequence for i in range(4)]
        head = guard.ledger.head()
        with pytest.raises(InvalidParameter, match=f"submissions must be at most {most}"):
            guard.ask(choose("b", sent), analyst="ann")
        assert guard.ledger.head() == head
        assert guard.ask(choose("b", [sent[0], sent[0], *sent[1:most]]), analyst="ann").value == sent[:most]
        assert len(guard.contest().finalists) == most
    earlier = {name: value for name, value in board().to_dict().items() if name != "finalists"}
    assert Board.from_dict(earlier) == board()
    with pytest.raises(InvalidParameter, match="finalists"):
        board(finalists=11)


def test_where_too_many_were_chosen_each_takes_part_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = opened()
    for i in range(3):
        sent = [guard.ask(score("b", right_on(part, i)), analyst=f"t{i}").sequence for part in (0.9, 0.6)]
        guard.ask(choose("b", sent[::-1]), analyst=f"t{i}")
    assert guard.contest().warnings == ()
    monkeypatch.setattr(contest, "MOST_FINALISTS", 7)
    assert "6 submissions take part, of at most 7" in guard.contest().warnings[0]
    for module in (contest, contest_final_module):
        monkeypatch.setattr(module, "MOST_FINALISTS", 5)
    assert "takes part with the first one" in guard.contest().warnings[0]
    taken = guard.ask(contest_final("b"), analyst="host").details["finalists"]
    assert [one["label"] for one in taken] == ["t0", "t1", "t2"]
    assert [one["sequence"] for one in taken] == [3, 6, 9], "the one that was named first, though it was shown worse"


def test_more_participants_than_a_final_compares_are_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = opened()
    for i in range(3):
        guard.ask(score("b", right_on(0.7, i)), analyst=f"t{i}")
    monkeypatch.setattr(contest, "MOST_FINALISTS", 3)
    assert "3 participants take part" in guard.contest().warnings[0]
    monkeypatch.setattr(contest_final_module, "MOST_FINALISTS", 2)
    head = guard.ledger.head()
    with pytest.raises(QuestionRefused, match="at most 2 participants, got 3; nothing was spent"):
        guard.ask(contest_final("b"), analyst="host")
    assert guard.ledger.head() == head
