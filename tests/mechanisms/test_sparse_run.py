from __future__ import annotations

import copy
import json
import math
import os
import pickle
import signal
import threading
from typing import Any

import numpy as np
import pytest

from holdfast.errors import BudgetExhausted, HoldfastError, InvalidParameter
from holdfast.mechanisms import (
    Gaussian,
    GaussianSparseVector,
    Laplace,
    LocalGaussian,
    LocalLaplace,
    SparseAnswer,
    SparseRun,
    numeric_sparse,
    sparse,
    sparse_vector,
)
from holdfast.noise import Seeded
from holdfast.noise.entropy import Source

FAR = 1e6  # beyond any noise here


class Counting(Source):
    """A seeded source that counts the words it hands out."""

    def __init__(self, seed: int) -> None:
        self.inner, self.count = Seeded(seed), 0

    def word(self) -> int:
        self.count += 1
        return self.inner.word()

    def words(self, count: int) -> Any:
        self.count += count
        return self.inner.words(count)


def make(cap: int = 2) -> Any:
    return sparse(threshold=0.0, sensitivity=1.0, epsilon=1.0, cap=cap)


class TestBudget:
    def test_ends_at_the_cap_and_draws_nothing_after_it(self) -> None:
        source = Counting(1)
        run = make(2).start(source)
        assert run.ask(FAR).above
        assert not run.ask(-FAR)
        assert (run.asked, run.left, run.exhausted) == (2, 1, False)
        assert run.ask(FAR).above
        assert run.exhausted
        spent = source.count
        for ask in (lambda: run.ask(FAR), lambda: run.ask_all([FAR]), lambda: run.ask(float("nan"))):
            with pytest.raises(BudgetExhausted, match="all 2 answers above are used up"):
                ask()
        assert source.count == spent
        assert (run.asked, run.left) == (3, 0)

    def test_a_batch_stops_at_the_cap(self) -> None:
        answers = make(2).release([-FAR, FAR, -FAR, FAR, FAR, -FAR], Seeded(2))
        assert answers.above.tolist() == [False, True, False, True]
        assert answers.exhausted
        assert len(answers) == 4
        assert answers.values is None
        assert [bool(a) for a in answers] == [False, True, False, True]

    def test_answers_below_are_free(self) -> None:
        run = make(1).start(Seeded(3))
        assert not run.ask_all(np.full(100_000, -FAR)).above.any()
        assert (run.asked, run.left) == (100_000, 1)
        assert run.ask_all([]).above.tolist() == []

    def test_wrong_questions_change_nothing(self) -> None:
        run = make(1).start(Seeded(4))
        for wrong in (float("nan"), float("inf"), "0.731", None, [0.731]):
            with pytest.raises(InvalidParameter) as caught:
                run.ask(wrong)
            assert "0.731" not in str(caught.value)
        for wrong in ([0.731, float("nan")], [[0.731]], "0.731", [0.731, None]):
            with pytest.raises(InvalidParameter) as caught:
                run.ask_all(wrong)
            assert "0.731" not in str(caught.value)
        for wrong in (1e300, -1e300):  # one by one as in a batch
            with pytest.raises(InvalidParameter, match="within"):
                run.ask(wrong)
            with pytest.raises(InvalidParameter, match="within"):
                run.ask_all([wrong])
        with pytest.raises(InvalidParameter, match="values"):
            run.ask_all([[0.731], [0.731, 0.731]])
        assert (run.asked, run.left) == (0, 1)

    def test_what_batches_cannot_draw_is_refused_at_construction(self) -> None:
        for build in (
            lambda: sparse(0.1, 1e-4, 1e-12, 1),
            lambda: GaussianSparseVector(0.0, 1.0, 1.0, 1e12),
            lambda: LocalLaplace(0, 1, 1e-12),
            lambda: LocalGaussian(0, 1, 1e-24),
            lambda: Laplace(1, 1e-12, dimension=2),
            lambda: Gaussian(1, rho=1e-24, dimension=2),
        ):
            with pytest.raises(InvalidParameter, match=r"2\*\*48 grid steps"):
                build()
        with pytest.raises(InvalidParameter, match="threshold"):
            sparse(1e300, 1.0, 1.0, 1)
        assert math.isfinite(Laplace(1, 1e-12).release(0.5))

    def test_epochs_of_bounded_length(self) -> None:
        mechanism = GaussianSparseVector(0.0, 1.0, 1.0, 1.0, cap=3, length=4)
        answers = mechanism.release([-FAR] * 3 + [FAR] + [-FAR] * 20, Seeded(5))
        assert answers.above.tolist() == [False] * 3 + [True] + [False] * 8  # one hit, then two epochs of four
        assert answers.exhausted
        run = mechanism.start(Seeded(6))
        for value in [-FAR] * 12:
            run.ask(value)
        with pytest.raises(BudgetExhausted, match="all 3 epochs are used up"):
            run.ask(-FAR)
        transcripts = mechanism.replicate([-FAR] * 14, 50, Seeded(7))
        assert (transcripts == [0] * 12 + [-1] * 2).all()


class TestSecrets:
    def test_nothing_shows_the_threshold(self) -> None:
        run = make().start(Seeded(8))
        run.ask(-FAR)
        secret = run.secret_state()["threshold"]
        assert secret is not None
        for text in (repr(run), str(run), repr(make()), repr(make().guarantee), str(vars(make()))):
            assert str(secret) not in text
        assert repr(run) == "SparseRun(asked=1, left=2)"
        assert not hasattr(run, "__dict__")

    def test_cannot_be_pickled_or_copied_by_accident(self) -> None:
        run = make().start(Seeded(9))
        for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="secret_state"):
                duplicate(run)

    def test_continues_from_its_secret_state(self) -> None:
        mechanism = make(3)
        run = mechanism.start(Seeded(10))
        run.ask_all([-FAR, FAR, -FAR])
        state = json.loads(json.dumps(run.secret_state()))
        again = mechanism.resume(state, Seeded(11))
        assert again.secret_state() == run.secret_state()
        assert (again.asked, again.left) == (3, 2)
        # the threshold in force is the stored one: a value just above it and one just below it, noise aside
        assert again.ask(FAR).above
        assert again.left == 1

    def test_the_threshold_persists_until_an_answer_above(self) -> None:
        for mechanism, changes in ((make(3), True), (sparse_vector(0.0, 1.0, 1.0, 3), False)):
            run = mechanism.start(Seeded(12))
            run.ask(-FAR)
            before = run.secret_state()["threshold"]
            run.ask_all([-FAR] * 50)
            assert run.secret_state()["threshold"] == before
            run.ask(FAR)
            run.ask(-FAR)
            assert (run.secret_state()["threshold"] != before) == changes

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"left": 9}, "left"),
            ({"left": -1}, "left"),
            ({"asked": -1}, "asked"),
            ({"asked": 1, "in_epoch": 2}, "asked"),
            ({"asked": 0, "in_epoch": 0, "left": 1}, "asked"),  # an epoch that is over had a question
            ({"left": 0, "in_epoch": 1}, "in_epoch"),
            ({"threshold": 1.5}, "whole numbers"),
            ({"threshold": True}, "whole numbers"),
            ({"threshold": None}, "threshold of the epoch"),
            ({"threshold": None, "in_epoch": 0}, "threshold of the epoch"),
            ({"more": 2}, "state must have"),
            ({"mechanism": {}}, "a run of this mechanism"),
            ({"mechanism": None}, "a run of this mechanism"),
        ],
    )
    def test_wrong_state(self, change: dict[str, Any], message: str) -> None:
        mechanism = sparse_vector(0.0, 1.0, 1.0, 2)  # one threshold for the run, so it is kept between epochs too
        good = {"asked": 3, "in_epoch": 2, "left": 1, "threshold": 5, "mechanism": mechanism.to_dict()}
        assert mechanism.resume(good).secret_state() == good
        with pytest.raises(InvalidParameter, match=message):
            mechanism.resume(good | change)
        for nothing in (None, {}):
            with pytest.raises(InvalidParameter, match="state must have"):
                mechanism.resume(nothing)  # type: ignore[arg-type]

    def test_a_state_belongs_to_its_mechanism(self) -> None:
        run = make(2).start(Seeded(20))
        run.ask(-FAR)
        for other in (make(3), sparse(0.5, 1.0, 1.0, 2), sparse(0.0, 1.0, 2.0, 2), sparse_vector(0.0, 1.0, 1.0, 2)):
            with pytest.raises(InvalidParameter, match="a run of this mechanism"):
                other.resume(run.secret_state())

    def test_a_fresh_epoch_needs_no_threshold(self) -> None:
        mechanism = make(2)
        run = mechanism.start(Seeded(21))
        assert mechanism.resume(run.secret_state()).left == 2
        run.ask(FAR)
        state = run.secret_state()
        assert state["threshold"] is None
        assert mechanism.resume(state).left == 1
        run.ask(FAR)
        assert mechanism.resume(run.secret_state()).exhausted
        single = sparse_vector(0.0, 1.0, 1.0, 2)
        run = single.start(Seeded(22))
        run.ask(FAR)
        assert run.secret_state()["threshold"] is not None

    def test_state_of_an_overlong_epoch(self) -> None:
        mechanism = GaussianSparseVector(0.0, 1.0, 1.0, 1.0, cap=3, length=4)
        state = {"asked": 5, "in_epoch": 4, "left": 2, "threshold": 0, "mechanism": mechanism.to_dict()}
        with pytest.raises(InvalidParameter, match="in_epoch"):
            mechanism.resume(state)
        assert mechanism.resume(state | {"in_epoch": 3}).left == 2

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("locked", [False, True])
    @pytest.mark.parametrize(
        "use", [lambda run: run.ask(FAR), lambda run: run.ask_all([FAR]), lambda run: run.secret_state()]
    )
    def test_a_forked_copy_does_not_answer(self, use: Any, locked: bool) -> None:
        """Nor does it wait for a lock that a thread of the parent held when the process forked."""
        run = make().start()
        run.ask(-FAR)
        reading, writing = os.pipe()
        if locked:
            run._lock.acquire()
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that waits for the lock ends, and has said nothing
            try:
                use(run)
                said = b"answered"
            except HoldfastError as error:
                said = str(error).encode()
            os.write(writing, said)
            os._exit(0)
        if locked:
            run._lock.release()
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as reply:
            assert b"belongs to the process" in reply.read()
        assert run.ask(FAR).above


def test_threads_share_one_budget() -> None:
    run = make(5).start(Seeded(13))
    found: list[SparseAnswer] = []

    def work() -> None:
        try:
            while True:
                found.append(run.ask(FAR))
        except BudgetExhausted:
            pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert run.asked == 5


def test_numeric_answers() -> None:
    mechanism = numeric_sparse(0.0, 1e-3, 1.0, 2)
    answers = mechanism.release([-5.0, 5.0, 7.0], Seeded(14))
    assert answers.values is not None
    assert np.isnan(answers.values[0])
    assert answers.values[1:] == pytest.approx([5.0, 7.0], abs=1.0)
    assert answers.to_dict()["values"][0] is None
    assert [a.value is None for a in answers] == [True, False, False]
    run = mechanism.start(Seeded(15))
    assert run.ask(-5.0) == SparseAnswer(False, None)
    shown = run.ask(5.0).value
    assert shown == pytest.approx(5.0, abs=1.0)
    assert isinstance(shown, float)


def test_secure_by_default() -> None:
    assert isinstance(make().start(), SparseRun)
    assert make().release([FAR]).above.tolist() == [True]
