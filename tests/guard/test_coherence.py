"""What a ledger's answers promise about groups: weights of all courses add up to one, caps and looks both count."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.accounting import Bits, PureDP
from holdfast.cli.main import run
from holdfast.coherence.released import released
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard import Guard, Policy, check, final, mean
from holdfast.guard.coherence import coherence_of
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.ledger import open_store
from holdfast.holdout.error_budget import Course, Message
from tests.guard.earlier import opened_earlier

SHOWN = 3


def _guard(policy: Policy) -> Guard:
    return Guard.open(None, hf.data.table({"age": [23, 35, 47, 59] * 5000}), policy)


def _courses(budget: GuardBudget, length: int) -> list[tuple[Course, int]]:
    """Every course of looks of a length, and how many runs there are of it: a failure shows one of SHOWN things."""
    found = []
    for passes in product((True, False), repeat=length):
        messages = [Message(passed, 0.0 if passed else -math.log(SHOWN)) for passed in passes]
        found.append((budget.budget.after(Course(), messages), SHOWN ** passes.count(False)))
    return found


@pytest.mark.parametrize(
    "policy",
    [
        Policy(questions=7),
        Policy(questions=7, failures=3),
        Policy(),
        Policy(questions=7, privacy=PureDP(0.01)),
        Policy(privacy=hf.accounting.ZCDP(1e-4)),
    ],
)
def test_the_weights_of_courses_that_exclude_each_other_add_up_to_at_most_one(policy: Policy) -> None:
    """Who stops, and when, may go by the answers: a set of courses of which none continues another weighs at most one.

    So for one length of all runs, and for runs that stop at their first failure, of whatever length.
    """
    budget = GuardBudget(10_000, policy)

    def weight(course: Course) -> float:
        return math.exp(-budget.transcript(course)[1])

    for length in range(8):
        assert math.fsum(runs * weight(course) for course, runs in _courses(budget, length)) <= 1 + 1e-9
    stopped = [
        (budget.budget.after(Course(), [*([Message(True)] * many), Message(False, -math.log(SHOWN))]), SHOWN)
        for many in range(200)
    ]
    whole = math.fsum(runs * weight(course) for course, runs in stopped)
    assert whole <= 1 + 1e-9
    unpaid = SHOWN * len(stopped)  # power: without a prior each of them would weigh one
    assert unpaid > 1
    if not budget.by_class:
        assert whole > 0.5  # and the prior is not wasteful


def test_it_is_the_cap_and_the_looks_of_the_ledger() -> None:
    guard = _guard(Policy(questions=50, privacy=PureDP(0.01), spend=PureDP(0.001)))
    fresh = coherence_of(guard.ledger, 0.05, 10)
    assert fresh.spent.pure == 0.01  # the cap, not what was spent: costs are chosen on the way
    guard.ask(mean("age < 40"))
    after = coherence_of(guard.ledger, 0.05, 10)
    assert after.spent.pure == 0.01
    guard.ask(check("age < 40", guess=0.9))
    looked = coherence_of(guard.ledger, 0.05, 10)
    assert looked.spent.bits > after.spent.bits == fresh.spent.bits == 0  # what noise paid for shows nothing besides
    assert looked.alpha(20_000) > fresh.alpha(20_000)
    again = released([Bits(looked.spent.bits), PureDP(0.01)], rows=20_000, beta=0.05, groups=10)
    assert looked.size(0.5) == again.size(0.5)


def test_after_a_final_nothing_is_promised() -> None:
    guard = _guard(Policy(questions=50))
    guard.ask(check("age < 40", guess=0.5))
    assert coherence_of(guard.ledger, 0.05, 10).spent.bits > 0
    guard.ask(final({"young": "age < 40"}))
    with pytest.raises(GuaranteeUnavailable, match="exact values"):
        coherence_of(guard.ledger, 0.05, 10)


def test_a_private_guard_without_looks_pays_for_no_course() -> None:
    guard = _guard(Policy(privacy=PureDP(0.01), kinds=("mean",)))
    assert coherence_of(guard.ledger, 0.05, 10).spent.bits == 0


def test_an_odometer_counts_by_the_cap_that_holds_what_was_spent() -> None:
    guard = _guard(Policy(privacy=PureDP(0.001), accounting="odometer", spend=PureDP(0.003), kinds=("mean",)))
    before = coherence_of(guard.ledger, 0.05, 10).spent
    guard.ask(mean("age < 40"))
    after = coherence_of(guard.ledger, 0.05, 10).spent
    assert (before.pure, after.pure) == (0.001, 0.004)
    assert after.bits > before.bits > 0


def test_a_cap_that_a_steward_raised_promises_nothing() -> None:
    guard = _guard(Policy(questions=50, privacy=PureDP(0.01)))
    guard.override(Policy(questions=50, privacy=PureDP(0.02)), "more was needed")
    with pytest.raises(GuaranteeUnavailable, match="nothing is guaranteed about groups"):
        coherence_of(guard.ledger, 0.05, 10)


def test_from_the_command_line(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    rows, ledger = f"{tmp_path}/people.csv", f"{tmp_path}/ledger.db"
    with open(rows, "w") as file:
        file.write("age\n" + "23\n35\n47\n59\n" * 5000)
    assert run(["guard", "open", ledger, rows, "--privacy", "pure-dp:0.01", "--questions", "50"]) == 0
    capsys.readouterr()
    mean = ["ask", "mean", ledger, rows, "age < 40", "--spend", "pure-dp:0.002"]
    assert run(mean) == 0
    capsys.readouterr()
    words = ["epsilon", "--ledger", ledger, "--alpha", "0.5"]
    assert run([*words, "--group", "most=30000", "--group", "few=100"]) == 0
    said = capsys.readouterr().out
    assert "The cap: pure_epsilon 0.01" in said
    assert "Spent so far: pure_epsilon 0.002" in said
    assert "By its cap, whatever was asked of the 20,000 rows so far protects groups of at least" in said
    assert "By what is spent so far it would be groups of at least" in said
    assert "only if the private questions were fixed in advance" in said
    assert "of 40,000 people" in said
    assert run([*words, "--group", "few=100"]) == 3
    assert "every listed group is smaller" in capsys.readouterr().err
    assert run([*words, "--n", "100"]) == 2
    assert run([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["counted"], found["so_far"]["counted"]) == (20000, "cap", "spent")
    assert (found["spent"]["pure_epsilon"], found["so_far"]["spent"]["pure_epsilon"]) == (0.01, 0.002)
    assert found["so_far"]["size"]["rows"] < found["size"]["rows"]
    assert found["so_far"]["assumption"].endswith("fixed in advance, and not chosen from answers")


def test_the_command_changes_no_byte_and_finds_an_overlap_that_only_the_other_ledger_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An earlier version recorded an overlap on one side only: who looks at the other must know, and write nothing."""
    rows = {"age": [20 + (i * i) % 53 for i in range(2000)]}
    place = tmp_path / "ledger.db"
    with open_store(place) as store:
        first = opened_earlier(store, rows)
        opened_earlier(store, rows | {"more": [1] * 2000}, overlaps=[first])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for words in ([], ["--json"]):
        assert run(["epsilon", "--ledger", str(place), "--dataset", first[:12], "--alpha", "0.5", *words]) == 3
        assert "another guard answers questions about some of these rows" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
