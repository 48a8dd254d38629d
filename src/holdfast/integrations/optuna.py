"""A callback for Optuna studies: trials are checked on a reusable holdout after they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from holdfast.core import arguments
from holdfast.core.extras import require
from holdfast.data.values import Rows
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.mechanisms.answer import Answer

require("optuna")  # studies come from the caller, so nothing else here would notice


class HoldoutCallback:
    """A callback that checks each trial's value on the holdout when the trial ends. It stops the study when the
    budget is used up.

    The trial's own value is the guess. It must come from training rows, for example a cross-validated accuracy. The
    answer is stored in the study's user attributes under `holdfast:<trial number>` and in `answers`. Optuna itself
    continues with the guesses; your objective decides whether it uses the answers. If the sampler should see guarded
    scores only, return `HoldoutScorer(...)(model, X, y)` from the objective instead. When the study is over, `close`
    gives the exact value and interval of every checked trial.

    Parameters
    ----------
    holdout : ReusableHoldout
        The plan and its state.
    values : callable
        `values(study, trial)` gives one value a holdout row, in the holdout's range; a bool array is 0/1 values. An
        error that it raises, and a value outside the range, depend on guarded rows: the study ends with a
        `ValuesRefused`, which is charged and does not show the error's own words.
    when : str
        "best": only trials that are the best so far are checked, which saves questions. "all": every trial.
    tolerance : float, optional
        What a pass certifies; by default the holdout's own choice.

    Examples
    --------
    >>> import numpy as np, optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> rng = np.random.default_rng(0)
    >>> callback = HoldoutCallback(
    ...     ReusableHoldout(n=2000, questions=10), lambda study, trial: rng.random(2000) < 0.6 + trial.params["x"]
    ... )
    >>> study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    >>> study.optimize(lambda trial: 0.6 + trial.suggest_float("x", 0, 0.2), n_trials=10, callbacks=[callback])
    >>> callback.answers[study.best_trial.number].passed
    True
    >>> exact = callback.close()
    >>> exact[study.best_trial.number].half_width < callback.answers[study.best_trial.number].half_width
    True
    """

    def __init__(
        self,
        holdout: ReusableHoldout,
        values: Callable[[Any, Any], Rows],
        *,
        when: Literal["best", "all"] = "best",
        tolerance: float | None = None,
    ) -> None:
        if not isinstance(holdout, ReusableHoldout):
            raise InvalidParameter(f"holdout must be a ReusableHoldout, got a {type(holdout).__name__}")
        self._holdout, self._values, self._tolerance = holdout, values, tolerance
        self._when = arguments.choice("when", when, ("best", "all"))
        self._answers: dict[int, Answer] = {}

    @property
    def holdout(self) -> ReusableHoldout:
        """The holdout, with its plan and what is left of it."""
        return self._holdout

    @property
    def answers(self) -> dict[int, Answer]:
        """The answers, by trial number."""
        return dict(self._answers)

    def close(self) -> dict[int, Answer]:
        """End the run, and show the exact value and interval of every checked trial. No more questions can be asked."""
        mine = {id(answer): number for number, answer in self._answers.items()}
        before = self._holdout.transcript
        exact = self._holdout.close()
        return {mine[id(old)]: new for old, new in zip(before, exact, strict=True) if id(old) in mine}

    def __call__(self, study: Any, trial: Any) -> None:
        """Called by Optuna when a trial ends; trials without a value (pruned, failed) are left alone."""
        if trial.value is None or (self._when == "best" and study.best_trial.number != trial.number):
            return
        try:
            answer = self._holdout.check(self._column(study, trial), trial.value, self._tolerance)
        except BudgetExhausted as error:
            study.set_user_attr("holdfast:stopped", str(error))
            study.stop()
            return
        self._answers[trial.number] = answer
        study.set_user_attr(f"holdfast:{trial.number}", answer.to_dict())
        if answer.remaining["questions"] <= 0:
            study.set_user_attr("holdfast:stopped", "the planned questions or failures are used up")
            study.stop()

    def _column(self, study: Any, trial: Any) -> Rows:
        """The values of a trial; none where computing them raises an error, which may quote guarded rows."""
        try:
            return self._values(study, trial)
        except Exception:
            return np.full(self._holdout.n, np.nan)


__all__ = ["HoldoutCallback"]
