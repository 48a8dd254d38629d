"""Answers to many adaptively chosen means: noise from the plan, one simultaneous interval, a refusal at the end."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Literal

from holdfast import check
from holdfast.accounting.costs import GDP
from holdfast.bounds import interval
from holdfast.bounds.exact import up
from holdfast.bounds.interval.width import Width
from holdfast.inference.noisy_answers import NoisyAnswers
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian

GaussianMethod = Literal[
    "best", "scheduled", "posterior-shift", "jung", "bns", "russo-zou-kl", "russo-zou", "xu-raginsky", "dfh"
]
_GAUSSIAN: dict[str, Callable[..., Width]] = {
    "scheduled": interval.scheduled,
    "posterior-shift": interval.posterior_shift,
    "jung": interval.jung,
    "bns": interval.bns,
    "russo-zou-kl": interval.russo_zou_kl,
    "russo-zou": interval.russo_zou,
    "xu-raginsky": interval.xu_raginsky,
    "dfh": interval.dfh,
}


class GaussianAnswers(NoisyAnswers):
    """Answers up to `questions` adaptively chosen means of `n` rows with Gaussian noise.

    With probability `confidence` every interval holds, whatever the analyst does with the answers, as long as rows are
    independent and nothing else computed from them reaches the analyst. The noise scale, or a falling schedule of them,
    is fixed by the plan. Noise is a real Gaussian number rounded to a grid (`noise.rounded_gaussian`), as the theorems
    need; the rounding is in the half-width.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    method : str
        "best" (default): the smaller of "scheduled" (Theorem B) and "posterior-shift" (Theorem A, constant noise).
        The others are the published bounds in their best valid form, for comparison.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> answers = GaussianAnswers(n=100_000, questions=1000, confidence=0.95)
    >>> round(answers.half_width, 4), answers.method
    (0.0497, 'interval.scheduled')
    >>> import numpy as np
    >>> answer = answers.mean(np.arange(100_000) % 4 == 0)
    >>> answer.interval[0] < 0.25 < answer.interval[1], answer.remaining
    (True, {'questions': 999})
    >>> GaussianAnswers(n=100_000, questions=1000, confidence=95)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: confidence must be a number in (0, 1), got 95
    """

    kind: ClassVar[str] = "gaussian"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        method: GaussianMethod = "best",
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self._method = check.choice("method", method, ("best", *_GAUSSIAN))
        names = ("scheduled", "posterior-shift") if self._method == "best" else (self._method,)
        widths = [_GAUSSIAN[name](self.n, self.questions, self.beta) for name in names]
        self.width = min(widths, key=lambda width: width.half_width)
        self.grid = fine_grid(self.width.least_sigma)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again."""
        return {"n": self.n, "questions": self.questions, "confidence": self.confidence, "method": self._method}

    def cost(self, question: int) -> GDP:
        """`1/(n sigma)`-Gaussian differential privacy: the noise is a real Gaussian, rounded afterwards."""
        return GDP(up(1 / (self.n * self.sigma(question)), 4))

    def _noisy(self, question: int, mean: Fraction) -> int:
        return rounded_gaussian(Fraction(self.sigma(question)), self.grid, mean=mean, source=self._source)


__all__ = ["GaussianAnswers", "GaussianMethod"]
