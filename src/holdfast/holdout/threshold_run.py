"""The secret half of Thresholdout: the noisy threshold, the budget and the rule of Figure 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self, overload

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.holdout.secret_state import read_state, source_state
from holdfast.holdout.threshold_answers import ThresholdAnswers
from holdfast.holdout.threshold_rules import ThresholdRules
from holdfast.holdout.threshold_view import ThresholdView
from holdfast.mechanisms.answer import Answer
from holdfast.mechanisms.one_copy import OneCopy
from holdfast.mechanisms.sparse_run import first_above
from holdfast.noise.entropy import Seeded, Source, resolve
from holdfast.noise.laplace import discrete_laplace


class Draws(Protocol):
    """Integer noise of a scale in steps: one int, or an array of `size`. Tests inject their own."""

    @overload
    def __call__(self, scale: int, size: None = None, /) -> int: ...
    @overload
    def __call__(self, scale: int, size: int, /) -> npt.NDArray[np.int64]: ...


class ThresholdRun(ThresholdView, OneCopy):
    """A run of Figure 1 on numbers that were checked at the door; `Thresholdout` is the door."""

    #: What reads the parameters back from a state; a run whose claim rests on another theorem has rules of its own.
    _rules_type: ClassVar[type[ThresholdRules]] = ThresholdRules

    def _begin(self, rules: ThresholdRules, source: Source, draws: Draws | None = None) -> None:
        OneCopy.__init__(self)
        self._rules, self._source, self._injected = rules, source, draws is not None
        self._draws: Draws = self._noise if draws is None else draws
        self._asked, self._left, self._fresh = 0, rules.budget, True
        self._known: dict[str, tuple[float, bool, int]] = {}
        self._secret = 0

    def _recall(self, key: str | None) -> Answer | None:
        """The answer that a named question got; it was public then and costs nothing now."""
        if key is None:
            return None
        if not isinstance(key, str):
            raise InvalidParameter(f"key must be a text, got a {type(key).__name__}")
        with self._alone():
            if key not in self._known:
                return None
            value, over, asked = self._known[key]
            told = self._rules.answer(value, over, False, asked, self._left)
            remaining = self._rules.answer(None, False, False, self._asked, self._left).remaining
            return replace(told, cost=self._rules.costs[False, False], remaining=remaining)

    def _ask(self, candidate: float, mean: float, key: str | None = None) -> Answer:
        on_grid, side = self._rules.on_grid, self._rules.side
        grid = on_grid.grid
        guess, index = grid.near_index(candidate, "candidate"), grid.near_index(mean, "holdout mean")
        with self._alone():
            if (known := self._recall(key)) is not None:  # another thread may have asked since the first look
                return known
            if self._left < 1:
                return self._rules.answer(None, False, False, self._asked, 0)
            gap = index - guess if side == "holdout_above" else guess - index
            if side == "two-sided":
                gap = abs(gap)
            over = gap > self._secret + self._draws(on_grid.comparison)
            first, self._asked, self._fresh = self._fresh, self._asked + 1, False
            value = self._release(index) if over else candidate
            if key is not None:
                self._known[key] = (value, over, self._asked)
            return self._rules.answer(value, over, first, self._asked, self._left)

    def _ask_all(self, guesses: npt.NDArray[np.float64], means: npt.NDArray[np.float64]) -> ThresholdAnswers:
        on_grid = self._rules.on_grid
        grid = on_grid.grid
        with self._alone():
            state = (self._asked, self._left, self._fresh)
            values, overfit = guesses.copy(), np.zeros(len(guesses), dtype=np.bool_)
            at = 0
            if self._left > 0 and len(guesses):
                indices = grid.indices(means)
                noisy = self._gaps(indices, grid.indices(guesses))
                noisy -= self._draws(on_grid.comparison, len(guesses))
                while at < len(guesses) and self._left > 0:
                    hit = first_above(noisy, at, len(guesses), self._secret)
                    stop = len(guesses) if hit is None else hit + 1
                    self._asked, self._fresh = self._asked + stop - at, False
                    if hit is not None:
                        overfit[hit], values[hit] = True, self._release(int(indices[hit]))
                    at = stop
            values[at:] = np.nan
        return ThresholdAnswers(values, overfit, at, lambda: self._replay(values, overfit, at, state))

    def _release(self, index: int) -> float:
        """Book an overfit and show the noisy value; a failure in between loses budget and never gains any."""
        rules, on_grid = self._rules, self._rules.on_grid
        self._left -= 1
        value = on_grid.grid.value(index + self._draws(on_grid.release))
        if on_grid.refresh:
            self._fresh = True
            self._secret = rules.index + self._draws(on_grid.threshold)
        return min(max(value, rules.low), rules.high) if rules.clamp else value

    def _gaps(self, means: npt.NDArray[np.int64], guesses: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        gaps: npt.NDArray[np.int64] = means - guesses if self._rules.side == "holdout_above" else guesses - means
        return np.abs(gaps, out=gaps) if self._rules.side == "two-sided" else gaps

    def _noise(self, scale: int, size: int | None = None, /) -> Any:
        return discrete_laplace(scale, size, source=self._source)

    def _replay(
        self,
        values: npt.NDArray[np.float64],
        overfit: npt.NDArray[np.bool_],
        answered: int,
        state: tuple[int, int, bool],
    ) -> Iterator[Answer]:
        asked, left, fresh = state
        for i, value in enumerate(values.tolist()):
            if i >= answered:
                yield self._rules.answer(None, False, False, asked, left)
                continue
            over = bool(overfit[i])
            asked, left = asked + 1, left - over
            yield self._rules.answer(value, over, fresh, asked, left)
            fresh = over and self._rules.on_grid.refresh

    # Saving -----------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The run as plain data, the noisy threshold among it. Store it as a secret and never serve it.

        With `noise.Seeded` it holds the generator too. Resume once: two runs from one state answer twice what was paid.
        """
        if self._injected:
            raise InvalidParameter("draws that a test injected cannot be saved")
        with self._alone():
            return {
                "kind": "thresholdout",
                "secret": True,
                "parameters": self._rules.to_dict(),
                "asked": self._asked,
                "left": self._left,
                "fresh": self._fresh,
                "noisy_threshold": self._secret,
                "known": {key: list(entry) for key, entry in self._known.items()},
                "source": source_state(self._source),
            }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Continue from `state()`.

        Examples
        --------
        >>> from holdfast.holdout import Thresholdout
        >>> holdout = Thresholdout(n=100, threshold=0.1, sigma=0.01, budget=2)
        >>> Thresholdout.from_state(holdout.state()).state() == holdout.state()
        True
        """
        fields = ("parameters", "asked", "left", "fresh", "noisy_threshold", "known", "source")
        kept = read_state(state, "thresholdout", fields)
        rules = cls._rules_type.from_dict(kept["parameters"])
        fresh, noisy, known = kept["fresh"], kept["noisy_threshold"], kept["known"]
        whole = isinstance(noisy, int) and not isinstance(noisy, bool)
        if not isinstance(fresh, bool) or not whole or not isinstance(known, dict):
            raise InvalidParameter("state must be what thresholdout.state() gave")
        left = check.whole("left", kept["left"], at_least=0, at_most=rules.budget)
        asked = check.whole("asked", kept["asked"], at_least=rules.budget - left + (not fresh and left == rules.budget))
        source = resolve(None if kept["source"] is None else Seeded.from_state(kept["source"]))
        holdout = cls.__new__(cls)
        holdout._begin(rules, source)
        holdout._asked, holdout._left, holdout._fresh, holdout._secret = asked, left, fresh, noisy
        holdout._known = {str(key): (float(value), bool(over), int(at)) for key, (value, over, at) in known.items()}
        return holdout


__all__ = ["Draws", "ThresholdRun"]
