from __future__ import annotations

import itertools
import json
import math
import pickle
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.holdout import sparse_validate_size, sparse_validate_transcripts
from holdfast.errors import InvalidParameter
from holdfast.holdout import SparseValidate


def always(value: Any) -> Any:
    return lambda rows: value


class TestRun:
    def test_golden_transcript(self) -> None:
        validate = SparseValidate("rows", questions=5, budget=2)
        called: list[int] = []

        def psi(i: int, value: int) -> Any:
            def run(rows: str) -> int:
                assert rows == "rows"
                called.append(i)
                return value

            return run

        answers = [validate.query(psi(i, value)) for i, value in enumerate([0, 1, 0, 1, 1])]
        assert [a.value for a in answers] == [0, 1, 0, 1, None]
        assert [a.passed for a in answers] == [True, False, True, False, None]
        assert called == [0, 1, 2, 3]
        assert validate.exhausted
        assert answers[4].remaining == {"questions": 1, "failures": 0}

    def test_questions_end_too(self) -> None:
        validate = SparseValidate(None, questions=2, budget=2)
        assert [validate.query(always(False)).passed for _ in range(3)] == [True, True, None]
        assert (validate.asked, validate.failed) == (2, 0)

    def test_values(self) -> None:
        validate = SparseValidate(None, questions=10, budget=3, values=20)
        results = [0, 20, np.int64(7), np.bool_(False)]
        assert [validate.query(always(v)).value for v in results] == [0, 20, 7, 0]
        assert validate.failed == 2

    @pytest.mark.parametrize("values", [1, 5])
    @pytest.mark.parametrize("result", [2.0, 0.0, None, -1, 6, "0", np.array([0, 1])])
    def test_what_is_no_answer_counts_as_a_failure(self, values: int, result: Any) -> None:
        validate = SparseValidate(None, questions=10, budget=3, values=values)
        assert validate.query(always(result)).value == values
        assert validate.failed == 1

    def test_an_error_is_a_failure_and_is_not_shown(self) -> None:
        validate = SparseValidate([0.731], questions=10, budget=3)

        def broken(rows: Any) -> bool:
            raise ValueError(f"row is {rows[0]}")

        answer = validate.query(broken)
        assert (answer.value, answer.passed, validate.failed) == (1, False, 1)
        assert "731" not in str(answer) + repr(answer) + repr(validate)

    def test_an_interrupt_passes_and_counts(self) -> None:
        validate = SparseValidate(None, questions=10, budget=3)

        def stop(rows: Any) -> bool:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            validate.query(stop)
        assert (validate.asked, validate.failed) == (1, 1)

    def test_a_validation_cannot_ask(self) -> None:
        validate = SparseValidate(None, questions=10, budget=3)
        assert validate.query(lambda rows: validate.query(always(0)).value == 1).passed is False
        assert (validate.asked, validate.failed) == (1, 1)
        assert validate.query(always(0)).passed

    def test_rows_are_read_only(self) -> None:
        rows = np.zeros(3)
        validate = SparseValidate(rows, questions=3, budget=2)

        def write(held: Any) -> bool:
            held[0] = 1
            return False

        assert validate.query(write).passed is False  # the write failed, which is an error
        assert rows.tolist() == [0, 0, 0]
        rows[1] = 5  # the owner's own array stays writable

    def test_wrong_input_changes_nothing(self) -> None:
        validate = SparseValidate(None, questions=3, budget=2)
        with pytest.raises(InvalidParameter, match="must be a function"):
            validate.query(0.731)  # type: ignore[arg-type]
        assert validate.asked == 0
        for wrong in ({"questions": 0}, {"budget": 0}, {"budget": 4}, {"values": 0}, {"questions": 1.5}):
            with pytest.raises(InvalidParameter):
                SparseValidate(None, **({"questions": 3, "budget": 2} | wrong))  # type: ignore[arg-type]

    def test_secret(self) -> None:
        validate = SparseValidate([0.731], questions=3, budget=2)
        with pytest.raises(TypeError, match="from_state"):
            pickle.dumps(validate)
        assert "731" not in json.dumps(validate.state())

    def test_threads(self) -> None:
        validate = SparseValidate(None, questions=1000, budget=7)
        threads = [threading.Thread(target=lambda: [validate.query(always(1)) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (validate.asked, validate.failed) == (7, 7)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        results=st.lists(st.sampled_from([0, 1, 2, 3, "no answer", ValueError]), max_size=25),
        questions=st.integers(1, 20),
        budget=st.integers(1, 5),
        stop=st.integers(0, 25),
    )
    def test_against_the_rules(self, results: list[Any], questions: int, budget: int, stop: int) -> None:
        budget = min(budget, questions)
        validate = SparseValidate("rows", questions, budget, values=3)
        asked = failed = 0
        for i, result in enumerate(results):
            if i == stop:
                validate = SparseValidate.from_state(json.loads(json.dumps(validate.state())), "rows")
            calls: list[int] = []

            def psi(rows: Any, result: Any = result, calls: list[int] = calls) -> Any:
                calls.append(1)
                if result is ValueError:
                    raise ValueError
                return result

            answer = validate.query(psi)
            if asked >= questions or failed >= budget:
                assert (answer.value, calls) == (None, [])
            else:
                value = result if isinstance(result, int) else 3
                assert (answer.value, calls) == (value, [1])
                asked, failed = asked + 1, failed + (value != 0)
            assert (validate.asked, validate.failed) == (asked, failed)

    def test_states_that_no_run_has(self) -> None:
        state = SparseValidate(None, 5, 2).state()
        for wrong in ({}, state | {"asked": 6}, state | {"failed": 1}, state | {"asked": 5, "failed": 3}):
            with pytest.raises(InvalidParameter):
                SparseValidate.from_state(wrong, None)


class TestBound:
    def test_counts(self) -> None:
        # spec-reusable-holdout 6, rows 38 and 39
        validate = SparseValidate(None, questions=1000, budget=3)
        assert [validate.bound(10, method) for method in ("best", "paper", "answered")] == [130, 176, 46]
        assert SparseValidate(None, 1000, 3, values=10).bound(10) == 87691
        assert SparseValidate(None, 1000, 5).bound(1000) == 8250457418200

    def test_counts_the_transcripts(self) -> None:
        for questions, budget, values in ((5, 2, 1), (4, 3, 2)):
            validate = SparseValidate(None, questions, budget, values=values)
            seen = set()
            for string in itertools.product(range(values + 1), repeat=questions):
                run = SparseValidate(None, questions, budget, values=values)
                seen.add(tuple(run.query(always(v)).value for v in string))
            # whole transcripts: with the budget gone all that follows is bottom, so they are fewer than strings
            assert len(seen) <= 2 ** (validate.cost.bits + 1e-9)
            assert len({t[:-1] for t in seen}) <= validate.bound(questions)

    def test_level_and_share(self) -> None:
        validate = SparseValidate(None, questions=100, budget=2)
        assert validate.level(1e-9, 100) == pytest.approx(1e-9 * validate.bound(100), rel=1e-12)
        assert validate.level(0.0) == 0.0
        assert validate.level(0.5, 100) == 1.0
        shares = [validate.share(0.05, i) * validate.bound(i) for i in range(1, 101)]
        assert sum(shares) <= 0.05 * (1 + 1e-12)
        assert sum(shares) == pytest.approx(0.05, rel=1e-9)
        assert validate.share(0.05) == validate.share(0.05, 1)
        for wrong in (0, 101):
            with pytest.raises(InvalidParameter, match="question"):
                validate.bound(wrong)
        # Hoeffding at the last question's share is sparse_validate_size read the other way
        n = math.ceil(sparse_validate_size(0.05, 0.05, 100, 2))
        assert 2 * math.exp(-2 * 0.05**2 * n) <= validate.share(0.05, 100)
        assert sparse_validate_transcripts(100, 2) == validate.bound(100)

    def test_an_adaptive_analyst_stays_below_the_bound(self) -> None:
        """Eight bits; a fixed question "is the sample x" is 1 with probability 1/256. An analyst binary-searches.

        Each question halves the samples that are left, so after seven answers the eighth question hits with
        probability 1/2 instead of 1/128; the bound ell_i covers it, and the plain union bound does not.
        """
        hits = 0
        for sample in range(256):
            validate = SparseValidate(sample, questions=8, budget=8)
            low, high = 0, 256
            for _ in range(7):
                middle = (low + high) // 2
                above = validate.query(lambda rows, m=middle: rows >= m).value == 1
                low, high = (middle, high) if above else (low, middle)
            hits += validate.query(lambda rows, low=low: rows == low).value == 1
        assert hits == 128
        assert hits / 256 <= validate.level(1 / 256, 8)
        assert hits / 256 > 8 * (1 / 256)  # power: a bound that forgets adaptivity fails here


class TestBeyondTheFloatingRange:
    """With many failures the number of transcripts is no double; what is certified must not stop growing there."""

    @pytest.mark.parametrize("budget", [150, 200, 400])
    def test_share(self, budget: int) -> None:
        validate = SparseValidate("rows", questions=2000, budget=budget)
        exact = sparse_validate_transcripts(1500, budget)
        share = validate.share(0.05, 1500)
        assert Fraction(share) * 2000 * exact <= Fraction(0.05)
        if math.log2(exact) < 1000:
            assert Fraction(share) * 2000 * exact >= Fraction(0.0499)

    @pytest.mark.parametrize("fixed", [1e-300, 1e-308, 5e-324])
    def test_level(self, fixed: float) -> None:
        validate = SparseValidate("rows", questions=2000, budget=170)
        for question in (900, 1000, 1100, 1200, 1500):
            exact = Fraction(fixed) * sparse_validate_transcripts(question, 170)
            assert Fraction(validate.level(fixed, question)) >= min(1, exact)
            if exact < 1:
                assert validate.level(fixed, question) <= float(exact) * (1 + 1e-9)


def test_share_is_that_of_the_next_question() -> None:
    validate = SparseValidate("rows", questions=50, budget=3)
    for asked in range(5):
        assert validate.share(0.05) == validate.share(0.05, asked + 1) < (validate.share(0.05, asked) if asked else 1)
        validate.query(always(0))
