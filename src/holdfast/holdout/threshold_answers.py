"""The answers to a batch of Thresholdout questions, as arrays; single `Answer`s are made only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.mechanisms.answer import Answer


@dataclass(frozen=True, eq=False)
class ThresholdAnswers:
    """One entry a question, in order.

    Attributes
    ----------
    values : array of float
        The answers; NaN where the answer is bottom, because the budget was gone.
    overfit : array of bool
        Where the holdout spoke: the value is the noisy holdout mean. Elsewhere it is the candidate.
    answered : int
        How many questions came before bottom.
    """

    values: npt.NDArray[np.float64]
    overfit: npt.NDArray[np.bool_]
    answered: int
    _replay: Callable[[], Iterator[Answer]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Answer]:
        """The same answers as asking one by one."""
        return self._replay()

    def to_dict(self) -> dict[str, Any]:
        """Plain data; bottom is None."""
        values: list[Any] = self.values.tolist()
        values[self.answered :] = [None] * (len(values) - self.answered)
        return {"values": values, "overfit": self.overfit.tolist(), "answered": self.answered}


__all__ = ["ThresholdAnswers"]
