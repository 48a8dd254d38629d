"""Questions asked together leave the ledger that the same questions leave when they are asked one by one."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast.errors import HoldfastError, InvalidParameter, SampleUnavailable
from holdfast.guard import Guard, Policy, pipeline
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.verify import verify
from holdfast.guard.pipeline import Batch, Request, Rows
from holdfast.guard.replay import GuardReplay
from tests.guard.strangers import ask_each

ROWS = [20 + i % 50 for i in range(2000)]
PEOPLE = ("ann", "bob", "cyd")


def sample() -> hf.data.Sample:
    return hf.data.table({"age": ROWS}, engine="numpy")


def check(number: int, guess: float = 0.5) -> dict[str, Any]:
    return {"kind": "check", "expression": f"age < {45 + number / 1024!r}", "guess": guess}


def policy(questions: int = 12, repeats: Any = "everyone") -> Policy:
    shares = {"ann": 0.5, "bob": 0.4, "cyd": 0.1}
    return Policy(questions=questions, analysts=shares, failures=2, repeats=repeats)


requests = st.builds(
    lambda number, guess, who, key: Request(check(number, guess), who, None if key is None else f"k{key}"),
    st.integers(0, 4),
    st.sampled_from([0.5, 0.5, 0.9]),  # the last one fails its check: the cap on failures is met
    st.sampled_from([*PEOPLE, "eve"]),
    st.one_of(st.none(), st.integers(0, 3)),
)
honest = requests.map(lambda one: replace(one, key=one.key and f"{one.key} {json.dumps(one.question)}"[:200]))
"""Whose keys stand for one question each."""
acts = st.one_of(
    st.lists(requests, min_size=1, max_size=7),
    st.lists(requests, min_size=1, max_size=7),
    st.sampled_from(["pause", "resume", "override", "close"]),
)


def alone(guard: Guard, request: Request) -> GuardedAnswer | Exception:
    try:
        return guard.ask(request.question, analyst=request.analyst, key=request.key)
    except HoldfastError as error:
        return error


def plain(found: GuardedAnswer | Exception) -> Any:
    if isinstance(found, Exception):
        return type(found).__name__, str(found)
    return {name: value for name, value in found.to_dict().items() if name != "receipt"}


def entries(guard: Guard) -> list[tuple[Any, ...]]:
    return [(e.kind, e.analyst, e.key, e.question, e.body) for e in guard.ledger.entries()]


def act(guard: Guard, what: str, times: int) -> str:
    try:
        if what == "override":
            guard.override(policy(30 + times, guard.policy.repeats), "more room")
        else:
            getattr(guard, what)("because")
    except HoldfastError as error:
        return str(error)
    return ""


@given(plan=st.lists(acts, min_size=1, max_size=6), repeats=st.sampled_from(["asker", "everyone"]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_together_is_one_by_one(plan: list[Any], repeats: str) -> None:
    """Answers, refusals, numbers, what is left, keys, repeats and every entry: the same, whatever was asked with it."""
    group, single = (Guard.open(None, sample(), policy(repeats=repeats)) for _ in range(2))
    for i, step in enumerate(plan):
        if isinstance(step, str):
            assert act(group, step, i) == act(single, step, i)
            continue
        found = ask_each(group, step)
        assert [plain(one) for one in found] == [plain(alone(single, one)) for one in step]
        for request, one in zip(step, found, strict=True):
            if isinstance(one, GuardedAnswer):
                assert one.receipt is not None
                assert one.receipt["sequence"] == one.sequence
                (entry,) = group.ledger.entries(one.sequence, one.sequence)
                shared = one.repeated and repeats == "everyone"
                assert entry.analyst == request.analyst or shared, "nobody gets another's answer as a new one"
    assert entries(group) == entries(single)


@given(
    plan=st.lists(st.lists(honest, min_size=1, max_size=7), min_size=1, max_size=4),
    repeats=st.sampled_from(["asker", "everyone"]),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_slow_rows_cost_the_same_together_and_one_by_one(plan: list[list[Request]], repeats: Any) -> None:
    """Reservations come before answers, so entries stand in another order; what everybody pays is the same.

    Without failures: then no order can change what fits.
    """
    made = Policy(questions=200, analysts={"ann": 0.5, "bob": 0.4, "cyd": 0.1}, repeats=repeats)
    group, single = (Guard.open(None, sample(), made) for _ in range(2))
    for guard in (group, single):
        guard._rows.slow_seconds = -1.0
    for step in plan:
        kinds = [type(one).__name__ for one in ask_each(group, step)]
        assert kinds == [type(alone(single, one)).__name__ for one in step]
        for name in PEOPLE:
            assert group.remaining(name) == single.remaining(name), "a question that two ask at once is paid for once"
    one, other = ([row for row in entries(guard) if row[0] == "reserved"] for guard in (group, single))
    assert [row[1:4] for row in one] == [row[1:4] for row in other]


@pytest.mark.parametrize("key", ["\ud800", "\0", "", "k" * 300, 5, ["k"]])
def test_a_key_that_is_none_is_its_own_error(tmp_path: Path, key: Any) -> None:
    guard = Guard.open(tmp_path / "ledger.db", sample(), policy())
    found = ask_each(guard, [Request(check(0), "ann", "k"), Request(check(1), "bob", key)])
    assert [type(one) for one in found] == [GuardedAnswer, InvalidParameter]
    with pytest.raises(InvalidParameter, match="key must be"):
        guard.ask(check(1), analyst="bob", key=key)
    guard.shut()


def test_rows_that_take_long_to_fail_are_not_tried_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    held = sample()
    guard = Guard.open(None, held, Policy(questions=50))
    tried: list[int] = []
    moment = [0.0]

    def gone(statistics: Any) -> Any:
        tried.append(len(statistics))
        moment[0] += 6.0
        raise SampleUnavailable("gone")

    monkeypatch.setattr(held, "measure", gone)
    monkeypatch.setattr("holdfast.guard.pipeline.time.monotonic", lambda: moment[0])
    found = ask_each(guard, [Request(check(i), "ann", f"k{i}") for i in range(20)])
    assert all(isinstance(one, SampleUnavailable) for one in found)
    assert len(tried) == 3, "all at once, and then for as long as there is patience"
    assert guard.remaining()["total"] == {"questions": 50}


def test_what_was_answered_is_recalled_without_rows() -> None:
    guard = Guard.open(None, sample(), Policy(questions=3, repeats="everyone"))
    before = guard.ask(check(0), analyst="ann", key="a")

    def not_eve(_: Policy) -> None:
        raise InvalidParameter("not eve")

    asked = [
        Request(check(0), "ann", "a"),
        Request(check(0), "bob", "b"),
        Request(check(1), "bob", "c"),
        Request(check(1), "ann", "a"),
        Request(check(2), "eve", "d", allowed=not_eve),
    ]
    lacking = SampleUnavailable("the file is gone")

    def gone(_: Batch) -> Rows:
        raise lacking

    found = pipeline.answer(gone, pipeline.check(guard.ledger, asked, together=False))
    assert plain(found[0]) == plain(found[1]) == plain(before) | {"repeated": True}
    assert isinstance(found[0], GuardedAnswer)
    assert found[0].receipt == before.receipt
    assert [type(one).__name__ for one in found[2:]] == ["SampleUnavailable", "LedgerConflict", "InvalidParameter"]
    assert found[2] is not lacking
    assert len(list(guard.ledger.entries())) == 2
    (again,) = pipeline.answer(gone, pipeline.check(guard.ledger, asked[:1], together=True))
    assert plain(again) == plain(found[0])
    with pytest.raises(SampleUnavailable):
        pipeline.answer(gone, pipeline.check(guard.ledger, asked[1:3], together=True))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_servers_of_one_ledger_answer_every_question_once(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """Two stores as two processes have them; both are asked the same in groups, in other orders, while one pauses."""
    where = str(tmp_path / "ledger.db") if kind == "sqlite" else request.getfixturevalue("postgres_url")
    guards = [Guard.open(where, sample(), Policy(questions=40, repeats="everyone")) for _ in range(2)]
    wanted = [Request(check(i % 16), PEOPLE[i % 3], f"k{i}") for i in range(32)]
    done: list[tuple[Request, GuardedAnswer | Exception]] = []
    stop = threading.Event()

    def ask(guard: Guard, offset: int) -> None:
        for turn in range(4):
            part = [wanted[(offset * (turn + 1) + j * (2 * offset + 1)) % len(wanted)] for j in range(16)]
            done.extend(zip(part, ask_each(guard, part), strict=True))

    def pause() -> None:
        while not stop.is_set():
            guards[1].pause("now and then")
            guards[1].resume("again")

    def read() -> None:
        while not stop.is_set():
            for one in wanted[:8]:
                guards[0].estimate(one.question, analyst=one.analyst)

    threads = [threading.Thread(target=ask, args=(guards[i % 2], i)) for i in range(6)]
    others = [threading.Thread(target=pause), threading.Thread(target=read)]
    for thread in [*threads, *others]:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    for thread in others:
        thread.join()
    answered: dict[str, int] = {}
    for one, found in done:
        if isinstance(found, Exception):
            assert "paused" in str(found)
            continue
        assert answered.setdefault(json.dumps(one.question), found.sequence) == found.sequence
    paid = [entry for entry in guards[0].ledger.entries() if entry.kind == "answered"]
    assert len({entry.question for entry in paid}) == len(paid), "each question is answered once"
    assert guards[0].remaining()["total"] == {"questions": 40 - len(paid)}
    for guard in guards:
        guard.shut()
    assert verify(where, replay=GuardReplay).ok


def test_what_one_looks_up_is_not_changed_under_who_reads_beside(tmp_path: Path) -> None:
    """Threads that look share what is remembered at a head with the one that locks it, and see nothing half done."""
    guard = Guard.open(tmp_path / "ledger.db", sample(), policy())
    first = guard.ask(check(0), analyst="ann", key="k")
    with guard.ledger._backend.reading() as (_, source):
        before: Any = source.remembered  # type: ignore[attr-defined]
        assert guard.ask(check(0), analyst="ann", key="k").sequence == first.sequence
        with guard.ledger._backend.reading() as (head, other):
            assert other.by_key("ann", "k") is not None
            guard.ledger._backend.begin([("ann", "k"), ("ann", "none")], [(None, "none")])
            try:
                assert (before.keys, before.questions) == ({}, {})
                learned: Any = guard.ledger._backend._remembered  # type: ignore[attr-defined]
                assert learned.head == head == before.head
                assert learned.accounts is before.accounts, "what is read once still serves all"
                assert [None if e is None else e.sequence for e in learned.keys.values()] == [first.sequence, None]
            finally:
                guard.ledger._backend.rollback()
    guard.shut()


POINTS = (
    "guard.measured",
    "guard.reserved",
    "guard.settled",
    "ledger.begin",
    "ledger.locked",
    "ledger.worked",
    "ledger.written",
    "ledger.committed",
    "ledger.released",
)


@pytest.mark.parametrize(
    ("point", "slow"),
    [(point, slow) for point in POINTS for slow in (False, True) if slow or point != "guard.reserved"],
)
def test_a_group_that_breaks_off_anywhere_is_paid_for_once(
    tmp_path: Path, point: str, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step of the way the process is interrupted; whoever asks again with their keys gets one answer each."""
    asked = [Request(check(i % 4), PEOPLE[i % 3], f"k{i}") for i in range(6)]
    reached: list[str] = []

    def reach(name: str) -> None:
        reached.append(name)
        if name == point and reached.count(name) == 1:
            raise KeyboardInterrupt

    made = Policy(questions=20, repeats="everyone")
    guard = Guard.open(tmp_path / "ledger.db", sample(), made)
    guard._rows.slow_seconds = -1.0 if slow else math.inf
    monkeypatch.setattr(faults, "reach", reach)
    with pytest.raises(KeyboardInterrupt):
        ask_each(guard, asked)
    monkeypatch.undo()
    for again in (guard, Guard.open(tmp_path / "ledger.db", sample(), made)):
        again._rows.slow_seconds = -1.0 if slow else math.inf
        found = ask_each(again, asked)
        assert [type(one) for one in found] == [GuardedAnswer] * 6
        numbers = [one.sequence for one in found if isinstance(one, GuardedAnswer)]
        assert numbers[:2] == numbers[4:]
        assert again.remaining()["total"] == {"questions": 16}, "four questions, paid for once each"
        again.shut()
    assert verify(tmp_path / "ledger.db", replay=GuardReplay).ok


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_remembered_outlives_what_another_process_wrote(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """Step by step: budget, pause, keys and answers of one are there for the other with its next look and commit."""
    where = str(tmp_path / "ledger.db") if kind == "sqlite" else request.getfixturevalue("postgres_url")
    one, other = (Guard.open(where, sample(), Policy(questions=6)) for _ in range(2))
    assert isinstance(ask_each(one, [Request(check(0), "ann", "k")])[0], GuardedAnswer)
    for i in (1, 2):
        assert isinstance(ask_each(other, [Request(check(i), "ann", f"o{i}")])[0], GuardedAnswer)
    assert one.remaining("ann")["total"] == {"questions": 3}
    (mine,) = ask_each(one, [Request(check(3), "bob", "k")])  # the key is bob's, whatever ann has under it
    assert isinstance(mine, GuardedAnswer)
    assert mine.remaining["total"] == {"questions": 2}
    (again,) = ask_each(other, [Request(check(3), "bob", "k")])
    assert isinstance(again, GuardedAnswer)
    assert (again.sequence, again.repeated) == (mine.sequence, True)
    other.pause("stop")
    assert "paused" in str(ask_each(one, [Request(check(4), "ann", "p")])[0])
    other.resume("go on")
    both = [Request(check(4), "ann", "p"), Request(check(5), "ann", "q"), Request(check(6), "ann", "r")]
    kinds = [type(found).__name__ for found in ask_each(one, both)]
    assert kinds == ["GuardedAnswer", "GuardedAnswer", "BudgetExhausted"]
    for guard in (one, other):
        guard.shut()
    assert verify(where, replay=GuardReplay).ok


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize(
    ("act_", "words"), [("pause", "paused"), ("close", "closed"), ("override", "changed the policy")]
)
def test_what_a_steward_does_while_rows_are_read_holds_for_the_whole_group(act_: str, words: str, slow: bool) -> None:
    guard = Guard.open(None, sample(), policy())
    guard.ask(check(9), analyst="ann")
    guard._rows.slow_seconds = -1.0 if slow else math.inf
    done: list[str] = []

    def hook(name: str) -> None:
        if name == "guard.measured" and not done:
            done.append(act(guard, act_, 0))

    faults.set_hook(hook)
    try:
        found = ask_each(
            guard, [Request(check(0), "ann", "a"), Request(check(9), "bob", "b"), Request(check(1), "bob")]
        )
    finally:
        faults.set_hook(None)
    assert done == [""]
    assert words in str(found[0])
    assert words in str(found[2])
    assert isinstance(found[1], GuardedAnswer), "what was answered before stays answered"
    assert [entry.kind for entry in guard.ledger.entries()].count("answered") == 1


def test_who_follows_the_same_question_needs_no_room_of_their_own() -> None:
    guard = Guard.open(None, sample(), Policy(questions=50, analysts={"ann": 0.98, "bob": 0.02}, repeats="everyone"))
    guard.ask(check(0), analyst="bob")
    found = ask_each(
        guard, [Request(check(1), "ann", "a"), Request(check(1), "bob", "b"), Request(check(2), "bob", "c")]
    )
    assert [type(one).__name__ for one in found] == ["GuardedAnswer", "GuardedAnswer", "BudgetExhausted"]
    assert isinstance(found[1], GuardedAnswer)
    assert found[1].repeated


def test_rows_are_not_read_for_who_follows_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    held = sample()
    guard = Guard.open(None, held, Policy(questions=1))
    guard.ask(check(0), analyst="ann")
    monkeypatch.setattr(held, "measure", lambda _: pytest.fail("rows were read"))
    found = ask_each(guard, [Request(check(1), "ann", "a"), Request(check(1), "bob", "b")])
    assert [type(one).__name__ for one in found] == ["BudgetExhausted"] * 2


def test_what_was_reserved_while_rows_were_slow_is_paid_for_when_they_are_quick(tmp_path: Path) -> None:
    guard = Guard.open(tmp_path / "ledger.db", sample(), Policy(questions=9))
    asked = [Request(check(i), "ann", f"k{i}") for i in range(3)]

    def hook(name: str) -> None:
        if name == "guard.reserved":
            raise KeyboardInterrupt

    guard._rows.slow_seconds = -1.0
    faults.set_hook(hook)
    try:
        with pytest.raises(KeyboardInterrupt):
            ask_each(guard, asked)
    finally:
        faults.set_hook(None)
    guard._rows.slow_seconds = math.inf
    assert all(isinstance(one, GuardedAnswer) for one in ask_each(guard, asked))
    assert guard.remaining()["total"] == {"questions": 6}
    guard.shut()
