"""Many adaptively chosen means with Laplace noise, for those who must promise pure differential privacy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

from holdfast import check
from holdfast.accounting.costs import PureDP
from holdfast.bounds import interval
from holdfast.bounds.exact import float_down, up
from holdfast.bounds.interval.width import Width
from holdfast.inference.exact_mean import VALUE_ERROR
from holdfast.inference.noisy_answers import NoisyAnswers
from holdfast.mechanisms.laplace import Laplace
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid
from holdfast.noise.laplace import discrete_laplace

LaplaceMethod = Literal["best", "jung", "bns", "dfh"]
_LAPLACE: dict[str, Callable[..., Width]] = {"jung": interval.jung, "bns": interval.bns, "dfh": interval.dfh}
#: Steps of the grid in the sensitivity, as a power of two: rounding changes scale and width by less than 1e-6.
_FINE = 21


class LaplaceAnswers(NoisyAnswers):
    """Answers up to `questions` adaptively chosen means of `n` rows with Laplace noise of one scale.

    About twice as wide as `GaussianAnswers`: no posterior-shift bound is proved for this noise, so the best of the
    published routes is used, in its best valid form. Every answer is `epsilon`-differentially private with `delta` 0.
    Noise is the exact discrete Laplace of `noise/`; these theorems need privacy and a tail, which it has, so no
    continuous law is needed. What its grid adds is in the half-width.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    method : str
        "best" (default): the smallest of "jung", "bns" and "dfh".
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> answers = LaplaceAnswers(n=100_000, questions=100, confidence=0.95)
    >>> round(answers.half_width, 4), answers.method
    (0.0701, 'interval.jung')
    >>> answers.cost(1)
    PureDP(epsilon=0.00...)
    """

    kind: ClassVar[str] = "laplace"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        method: LaplaceMethod = "best",
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self._method = check.choice("method", method, ("best", *_LAPLACE))
        names = tuple(_LAPLACE) if self._method == "best" else (self._method,)
        widths = [partial(_LAPLACE[name], noise="laplace")(self.n, self.questions, self.beta) for name in names]
        self.width = min(widths, key=lambda width: width.half_width)
        self.grid = Grid(-(self.n - 1).bit_length() - _FINE)
        # at most the privacy loss that the width was computed for, so the scale is at least its own
        self._mechanism = Laplace(
            Fraction(1, self.n), float_down(1 / (self.n * Fraction(self.width.sigma))), grid=self.grid
        )

    @property
    def half_width(self) -> float:
        """As a share of the declared range. The sampled scale is a little larger than the plan's, and so is this."""
        excess = float(self._mechanism.law.scale_steps * self.grid.step / Fraction(self.width.sigma)) - 1
        step = float(self.grid.step)
        # |K| steps has a tail below that of the continuous law but for one step; the mean is rounded by half a step
        return up(self.width.half_width * (1 + max(excess, 0.0)) + 1.5 * step + VALUE_ERROR, 8)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again."""
        return {"n": self.n, "questions": self.questions, "confidence": self.confidence, "method": self._method}

    def cost(self, question: int) -> PureDP:
        """Pure differential privacy, the same for every question."""
        check.whole("question", question, at_least=1, at_most=self.questions)
        return self._mechanism.cost

    def _noisy(self, question: int, mean: Fraction) -> int:
        return self.grid.index(mean) + discrete_laplace(self._mechanism.law.scale_steps, source=self._source)


__all__ = ["LaplaceAnswers", "LaplaceMethod"]
