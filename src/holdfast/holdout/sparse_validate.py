"""SparseValidate: any validation of the holdout, answered exactly, as long as few answers say "failed"."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal

import numpy as np

from holdfast.accounting.costs import Bits
from holdfast.bounds.holdout.sparse_validate import sparse_validate_bits, sparse_validate_transcripts
from holdfast.bounds.numerics.exact import down, up
from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.holdout.secret_state import read_state
from holdfast.mechanisms.answer import Answer

Validation = Callable[[Any], Any]
"""A procedure on the holdout that returns False or 0 for "fine", True or 1 (up to `values`) for "failed"."""


class SparseValidate(OneOwner):
    """Runs any validation procedure on the holdout and shows only whether it failed (Dwork et al. 2015, section
    2.5).

    A validation is a function of the whole holdout that returns 0 ("fine") or 1 ("failed"), or with `values = L` one of
    `0, ..., L`. It may do anything: refit a model, cluster, run a significance test. No noise is added. Two budgets
    limit the run: after `questions` questions or `budget` nonzero answers, the validation is not called any more, and
    every answer has `value` and `passed` None.

    The guarantee is Theorem 27 (corrected). Suppose that a bad event has probability at most `b` for every *fixed*
    validation that could have been question `i`. Then its probability for the adaptively chosen question `i` is at most
    `bound(i) * b`. `level` and `share` compute with this. The rows may have any distribution.

    If a validation raises an error or returns a value that is not allowed, this counts as the answer `values` (1 if the
    answers are 0 and 1), and the error is not shown, because it depends on the rows. So try a validation on training
    rows first. An interruption of the program (`KeyboardInterrupt`) is raised, and the question counts as failed. How
    long a validation takes, and what it prints or stores, may reveal something about the rows too. The guarantee does
    not cover this.

    Parameters
    ----------
    holdout : object
        What validations are called with. It is kept and never shown.
    questions : int
        Questions in all.
    budget : int
        Nonzero answers in all.
    values : int
        Nonzero answers that are possible; 1 for pass/fail, `ceil(1/tau)` for a corrected value.

    Notes
    -----
    A visible error would be one more answer that nobody paid for. An array is handed over read-only, and a
    validation that asks this holdout a question itself is refused and counts as failed.

    Examples
    --------
    >>> validate = SparseValidate([3, 1, 4, 1, 5], questions=100, budget=2)
    >>> print(validate.query(lambda rows: max(rows) > 9).passed, validate.query(lambda rows: max(rows) > 4).passed)
    True False
    >>> validate
    SparseValidate(questions=100, budget=2, values=1, asked=2, failed=1)
    >>> validate.bound(3), round(validate.level(1e-6, 3), 12)
    (4, 4e-06)
    """

    def __init__(self, holdout: Any, questions: int, budget: int, *, values: int = 1) -> None:
        super().__init__()
        if isinstance(holdout, np.ndarray):
            holdout = holdout.view()
            holdout.flags.writeable = False
        self._holdout = holdout
        self._questions = arguments.whole("questions", questions, at_least=1, at_most=10**15)
        self._budget = arguments.whole("budget", budget, at_least=1, at_most=self._questions)
        self._values = arguments.whole("values", values, at_least=1, at_most=10**15)
        self._asked = self._failed = 0
        self._running = False

    @property
    def asked(self) -> int:
        """The number of questions answered so far."""
        return self._asked

    @property
    def failed(self) -> int:
        """The number of nonzero answers so far."""
        return self._failed

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up. Then every further question gets no answer (`value` and `passed` are None)."""
        return self._asked >= self._questions or self._failed >= self._budget

    @property
    def cost(self) -> Bits:
        """The cost of the whole run in bits: the base-2 logarithm of the number of possible transcripts."""
        return Bits(sparse_validate_bits(self._questions + 1, self._budget, self._values))

    def query(self, validation: Validation) -> Answer:
        """Run a validation on the holdout and return whether it failed.

        Parameters
        ----------
        validation : callable
            Called with the holdout, unless the budgets are spent.

        Returns
        -------
        Answer
            `value` is 0, ..., `values`; `passed` is True for 0. Bottom: both None.
        """
        if not callable(validation):
            raise InvalidParameter(f"validation must be a function, got a {type(validation).__name__}")
        with self._alone():
            if self._running:  # it sees the rows, so what it asks is not fixed by the answers so far
                raise QuestionRefused("a validation must not ask this holdout questions while it runs")
            if self.exhausted:
                return self._answer(None)
            # Booked as failed before it runs: an interrupt loses budget and never gains any.
            self._asked, self._failed, self._running = self._asked + 1, self._failed + 1, True
            try:
                value = self._run(validation)
            finally:
                self._running = False
            if value == 0:
                self._failed -= 1
            return self._answer(value)

    def bound(self, question: int, method: Literal["best", "answered", "paper"] = "best") -> int:
        """Return the factor by which a probability for a fixed validation grows for an adaptively chosen one
        (Theorem 27).

        For question `i` the factor is `ell_i = sum_j C(i-1, j) L^j` over `j <= budget`. The method "answered" sums only
        up to `budget - 1`, which is enough for events about questions that still get an answer. "paper" is the sum as
        published.

        Parameters
        ----------
        question : int
            Its number, counted from 1.
        method : str
            "best", "answered" or "paper".
        """
        question = arguments.whole("question", question, at_least=1, at_most=self._questions)
        return sparse_validate_transcripts(question, self._budget, self._values, method)

    def level(self, fixed: float, question: int | None = None) -> float:
        """Return the probability of a bad event about this question, which was chosen adaptively.

        `fixed` is the probability for a fixed validation, for example that a validation that should fail passes. The
        result is at most `bound(question) * fixed`.

        Parameters
        ----------
        fixed : float
            Probability for a fixed validation.
        question : int, optional
            Its number; the last one answered unless given.
        """
        fixed = arguments.probability("fixed", fixed, zero=True, one=True)
        bits = self._bits(max(1, self._asked) if question is None else question)
        if not fixed:
            return 0.0
        log = up(math.log2(fixed) + bits, 8) + 1e-12  # as a logarithm: the count may leave the floating range
        return 1.0 if log >= 0 else min(1.0, up(2.0**log, 8))

    def share(self, beta: float, question: int | None = None) -> float:
        """Return the level at which to run a fixed test so that all questions together fail with probability at most
        `beta`.

        It is `beta / (questions * bound(question))`. If that is too small for a floating-point number the result is 0,
        and then no test is certified.

        Parameters
        ----------
        beta : float
            For the whole run.
        question : int, optional
            The next one unless given.
        """
        beta = arguments.probability("beta", beta)
        following = min(self._asked + 1, self._questions)
        bits = self._bits(following if question is None else question)
        return down(beta / self._questions * 2.0**-bits, 8)

    def _bits(self, question: int) -> float:
        question = arguments.whole("question", question, at_least=1, at_most=self._questions)
        return sparse_validate_bits(question, self._budget, self._values)

    def _run(self, validation: Validation) -> int:
        try:
            result = validation(self._holdout)
            if not isinstance(result, (bool, np.bool_, Integral)):
                return self._values
            value = int(result)
            return value if 0 <= value <= self._values else self._values
        except Exception:
            return self._values

    def _answer(self, value: int | None) -> Answer:
        remaining = {"questions": self._questions - self._asked, "failures": self._budget - self._failed}
        public = {"question": max(1, self._asked), "budget": self._budget, "values": self._values}
        guarantee = Guarantee("holdout.sparse-validate-transcripts", public, "any distribution of the rows")
        if value is None:
            return Answer(None, None, guarantee, None, remaining, None)
        return Answer(float(value), None, guarantee, None, remaining, value == 0)

    def state(self) -> dict[str, Any]:
        """Return the counts and the public parameters as plain data.

        The holdout is not part of the data. Give it to `from_state` again.
        """
        with self._alone():
            return {
                "kind": "sparse-validate",
                "secret": True,
                "parameters": {"questions": self._questions, "budget": self._budget, "values": self._values},
                "asked": self._asked,
                "failed": self._failed,
            }

    @classmethod
    def from_state(cls, state: dict[str, Any], holdout: Any) -> SparseValidate:
        """Return the run that `state()` described, ready for its next question. Give the same holdout again."""
        stored = read_state(state, "sparse-validate", ("parameters", "asked", "failed"))
        validate = cls(holdout, **stored["parameters"])
        validate._asked = arguments.whole("asked", stored["asked"], at_least=0, at_most=validate._questions)
        most = min(validate._asked, validate._budget)
        validate._failed = arguments.whole("failed", stored["failed"], at_least=0, at_most=most)
        return validate

    def __repr__(self) -> str:
        return (
            f"SparseValidate(questions={self._questions}, budget={self._budget}, values={self._values}, "
            f"asked={self._asked}, failed={self._failed})"
        )
