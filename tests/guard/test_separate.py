"""Separate histories: nothing that an analyst sees depends on what another was answered.

Two guards over the same rows, the same messages to Ann, and another course of events for Bob: none in the first,
everything that he can do in the second. All that Ann sees must be the same, byte for byte. The same comparison finds a
difference where histories are together, which shows its power.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import GuaranteeUnavailable, HoldfastError, InvalidParameter, QuestionRefused
from holdfast.guard import Board, Guard, Policy, best, check, claim, close, compare, final, mean
from holdfast.guard.ledger import Receipt, open_store
from holdfast.guard.ledger.entry import as_seen
from holdfast.guard.ledger.seats import seat_entries, seat_page
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.replay import GuardReplay
from tests.guard.questions.ends import CANDIDATES, adds_up, opened

SEPARATE = Policy(
    questions=20,
    failures=4,
    privacy=PureDP(0.05),
    spend=PureDP(0.01),
    histories="separate",
    analysts={"ann": 0.5, "bob": 0.3},
)
ANN: list[Any] = [
    check("good", guess=0.7),
    check("good", guess=0.3),
    compare("best", "weak"),
    claim("weak", at_least=0.3),
    best(CANDIDATES),
    mean("weak", spend=PureDP(0.2)),  # does not fit into her part: refused
    check("good", guess=0.7),  # again: free
    check("nobody", guess=0.7),  # wrong
]


def _bob(guard: Guard) -> None:
    """All that Bob can do: fail until nothing more is answered, spend, be refused, and end his run."""
    bob = guard.for_analyst("bob")
    for question in (
        mean("good"),
        best(CANDIDATES),
        *(check("best", guess=guess) for guess in (0.1, 0.2, 0.9, 0.3, 0.4)),
    ):
        with suppress(HoldfastError):
            bob.ask(question, key=None)
    with suppress(HoldfastError):
        bob.ask(close())


def _seen(guard: Guard, between: Callable[[Guard], None]) -> str:
    """Everything that Ann is shown, in the order in which it comes."""
    ann, said = guard.for_analyst("ann"), list[Any]()

    def look() -> None:
        said.append([ann.describe(), ann.remaining(), ann.policy.to_dict(), ann.level(0.05), ann.adjusted(1e-4)])
        said.append([ann.estimate(question).to_dict() for question in ANN[:5]])
        said.append([as_seen(entry).to_dict() for entry in seat_page(guard.ledger, "ann", 100)[0]])

    between(guard)
    for number, question in enumerate(ANN):
        try:
            said.append(ann.ask(question, key=f"k{number}").to_dict())
        except HoldfastError as error:
            said.append([type(error).__name__, str(error)])
        look()
        between(guard)
    with suppress(HoldfastError):  # together it is the steward's
        said.append(ann.ask(final(CANDIDATES, claims="winner")).to_dict())
    said.append([ann.describe(), ann.remaining()])
    text = json.dumps(said, sort_keys=True, default=str)
    return _without_times(text)


def _without_times(text: str) -> str:
    import re

    return re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+(\+00:00)?", "TIME", text)


def _guard(policy: Policy, folder: Path, name: str) -> tuple[Any, Guard]:
    from holdfast.guard.ledger.receipts import SigningKey

    SigningKey.load_or_create(folder / "key.pem")
    store = open_store(folder / name, key=folder / "key.pem")
    return store, opened(policy, store)


def _salted(text: str, guard: Guard) -> str:
    """The name of a ledger is salted anew in every store, and so are the hashes that begin with it."""
    return text.replace(guard.dataset, "DATASET")


@pytest.mark.parametrize("histories", ["separate", "together"])
def test_nothing_that_one_sees_depends_on_the_other(histories: Any, tmp_path: Path) -> None:
    policy = replace(SEPARATE, histories=histories)
    stores, seen = [], []
    for name, between in (("alone.db", lambda guard: None), ("both.db", _bob)):
        store, guard = _guard(policy, tmp_path, name)
        stores.append(store)
        try:
            seen.append(_hashes_of(_salted(_seen(guard, between), guard)))
        except HoldfastError as refusal:  # together, Bob ends the run for both of them
            seen.append(str(refusal))
        assert adds_up(store)
    assert (seen[0] == seen[1]) is (histories == "separate")
    for store in stores:
        store.close()


def _hashes_of(text: str) -> str:
    """Hashes and signatures without what they are of: they begin with the salted name of the store's ledger."""
    import re

    return re.sub(r"\b[0-9a-f]{64,128}\b", "HASH", text)


def test_hashes_and_receipts_are_of_the_own_chain_alone(tmp_path: Path) -> None:
    """They are functions of what Ann was shown: computed again from that, without the ledger."""
    from holdfast.guard.ledger.seats import end_of, next_seat

    store, guard = _guard(SEPARATE, tmp_path, "ledger.db")
    ann, receipts = guard.for_analyst("ann"), []
    for number, question in enumerate(ANN[:5]):
        _bob(guard)
        answer = ann.ask(question, key=f"k{number}")
        assert answer.sequence == number + 1
        receipts.append(Receipt.from_dict(answer.receipt or {}))
    before = None
    for receipt, entry in zip(receipts, seat_entries(guard.ledger, "ann"), strict=True):
        shown = as_seen(entry)
        assert set(shown.body) == {"question", "digest", "cost", "format", "answer", "message"} | (
            {"counts"} if "counts" in shown.body else set()
        )
        assert (shown.states, shown.signer) == ({}, None)
        seat = next_seat(before, guard.dataset, "ann", shown.body)
        assert (receipt.sequence, receipt.hash, receipt.seat) == (seat["sequence"], seat["hash"], "ann")
        assert (shown.sequence, shown.hash, shown.previous) == (seat["sequence"], seat["hash"], seat["previous"])
        assert receipt.is_signed()
        before = end_of(seat)
    assert verify_store(store, receipts=receipts, replay=GuardReplay).ok
    changed = replace(receipts[0], sequence=2)
    assert not verify_store(store, receipts=[changed], replay=GuardReplay).ok
    taken = replace(receipts[0], seat="bob")
    assert not verify_store(store, receipts=[taken], replay=GuardReplay).ok
    store.close()


def test_a_chain_of_an_analyst_that_does_not_follow_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, guard = _guard(SEPARATE, tmp_path, "ledger.db")
    guard.ask(ANN[0], analyst="ann")
    from holdfast.guard import pipeline

    def forgetful(transaction: Any, analyst: str, body: Any) -> Any:
        from holdfast.guard.ledger.seats import end_of, next_seat, seat_account

        seat = next_seat(None, transaction.dataset, analyst, body)
        transaction.put_account(seat_account(analyst), end_of(seat))
        return {**body, "seat": seat}

    monkeypatch.setattr(pipeline, "take_seat", forgetful)
    guard.ask(ANN[1], analyst="ann")
    found = [one.what for one in verify_store(store, replay=GuardReplay).findings]
    assert "it does not follow the answer before it in its analyst's own chain" in found
    store.close()


def test_one_analysts_failures_do_not_widen_anothers_intervals() -> None:
    guard = opened(SEPARATE)
    before = guard.estimate(check("good", guess=0.7), analyst="ann").half_width
    share = guard.level(0.05, analyst="ann")
    _bob(guard)
    assert guard.estimate(check("good", guess=0.7), analyst="ann").half_width == before
    assert guard.level(0.05, analyst="ann") == share == guard.for_analyst("ann").level(0.05)
    together = opened(replace(SEPARATE, histories="together", failures=None))
    plain = together.estimate(check("good", guess=0.7), analyst="ann").half_width
    with suppress(HoldfastError):
        for guess in (0.1, 0.2, 0.9):
            together.ask(check("best", guess=guess), analyst="bob")
    after = together.estimate(check("good", guess=0.7), analyst="ann").half_width
    assert after is not None
    assert plain is not None
    assert after > 1.3 * plain


def test_every_answer_repeats_the_assumption() -> None:
    guard = opened(SEPARATE)
    for question in (*ANN[:5], mean("weak"), final(CANDIDATES)):
        assert "analysts do not share answers" in guard.ask(question, analyst="ann").guarantee.assumption
    assert "share answers" not in opened().ask(ANN[0]).guarantee.assumption


def test_an_override_ends_every_certificate_and_a_further_level() -> None:
    guard = opened(SEPARATE)
    assert guard.ask(ANN[0], analyst="ann").guarantee.certified
    guard.override(replace(SEPARATE, failures=5), "more failures")
    for analyst in ("ann", "bob"):
        assert not guard.ask(check("weak", guess=0.6), analyst=analyst).guarantee.certified
        with pytest.raises(GuaranteeUnavailable):
            guard.level(0.05, analyst=analyst)


def test_a_level_is_of_one_analyst() -> None:
    guard = opened(SEPARATE)
    for analyst in (None, "eve"):
        with pytest.raises(GuaranteeUnavailable, match="give the name of an analyst of the policy"):
            guard.level(0.05, analyst=analyst)
        with pytest.raises(GuaranteeUnavailable):
            guard.adjusted(0.01, analyst=analyst)


BOARD = Board("b", key="id", label="good", metric="accuracy")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"boards": [BOARD]}, "boards"),
        ({"repeats": "everyone"}, "repeats"),
        ({"accounting": "odometer"}, "accounting"),
        ({"privacy": None, "spend": None, "answers": "means", "questions": 20, "failures": None}, "answers"),
        (
            {"holdout": "thresholdout", "threshold": 0.1, "overfits": 2, "holdout_spend": PureDP(0.01)},
            "holdout",
        ),
        ({"analysts": None}, "analysts must be given"),
        ({"analysts": {"ann": 0.7, "bob": 0.4}}, "add up to at most 1"),
        ({"analysts": {"ann": 0.9, "bob": 0.01}}, "at least one question"),
    ],
    ids=["boards", "repeats", "odometer", "means", "thresholdout", "nobody", "too much", "too little"],
)
def test_what_is_shared_by_nature_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        Policy(**{**SEPARATE.__dict__, "kinds": None, "final": None} | change)


def test_shares_of_all_analysts_add_up_to_at_most_beta_and_the_cap() -> None:
    policy = Policy(
        questions=1000, privacy=PureDP(0.1), histories="separate", analysts={f"a{i}": round(1 / 7, 6) for i in range(7)}
    )
    whole, parts = policy.error_budget(), [policy.error_budget(name) for name in policy.analysts or {}]
    assert sum(np.exp(part.log_beta) for part in parts) <= np.exp(whole.log_beta) + 1e-15
    assert sum(policy.filter(name).remaining()["epsilon"] for name in policy.analysts or {}) <= 0.1  # type: ignore[union-attr]
    assert sum(policy.most_questions(name) or 0 for name in policy.analysts or {}) <= 1000
    for name in policy.analysts or {}:
        quota, kept = policy.quota(name), policy.filter(name)
        assert isinstance(quota, PureDP)
        assert kept is not None
        assert quota.epsilon >= kept.remaining()["epsilon"], "intervals are corrected for at least what may be spent"


def test_analysts_who_keep_apart_are_told_nothing_false_and_those_who_do_not_break_it() -> None:
    """Labels are coins. Fifty analysts learn from a bit each on which side of a coin a rule is, and keep it.

    All that is said holds then. If they tell it to one more, who does not pay for what was said, the vote of their
    signs is claimed to be better than a coin, and the claim passes: the assumption is needed. With a history together
    it does not pass. A guard that keeps its promise fails this test with probability below 1e-6.
    """
    runs, voters, n, confidence = 12, 50, 100, 0.9
    most = int(binom.isf(1e-6, runs, 1 - confidence))
    missed = {"apart": 0, "told": 0, "together": 0}
    names = dict.fromkeys([f"v{i}" for i in range(voters + 1)], 0.0196)
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        rows: dict[str, Any] = {"y": rng.integers(0, 2, n)} | {f"x{i}": rng.integers(0, 2, n) for i in range(voters)}
        for course in missed:
            histories: Any = "together" if course == "together" else "separate"
            policy = Policy(confidence, questions=2 * voters, histories=histories, analysts=names, final=0.0)
            guard = Guard.open(None, hf.data.table(rows, engine="numpy"), policy)
            signs, wrong = [], False
            for i in range(voters):
                width = guard.estimate(check(f"x{i} = y", guess=0.5), analyst=f"v{i}").least_tolerance
                assert width is not None
                if width > 0.35:  # so much was shown, to all of them together, that nothing more is told
                    signs.append(True)
                    continue
                # It passes where the mean is at least one half, or nearly so.
                answer = guard.ask(check(f"x{i} = y", guess=0.9 - width, tolerance=0.4, show="bit"), analyst=f"v{i}")
                signs.append(bool(answer.passed))
                wrong |= answer.interval is not None and not answer.interval[0] <= 0.5 <= answer.interval[1]
            kept = [True] * voters if course == "apart" else signs
            vote = " + ".join(f"x{i}" if sign else f"(1 - x{i})" for i, sign in enumerate(kept))
            with suppress(GuaranteeUnavailable, QuestionRefused):
                asked = claim(f"({vote} > {voters / 2}) = (y = 1)", at_least=0.505)
                wrong |= bool(guard.ask(asked, analyst=f"v{voters}").passed)
            missed[course] += wrong
    assert missed["apart"] <= most
    assert missed["together"] <= most
    assert missed["told"] > most
