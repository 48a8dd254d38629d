"""What every interval theorem returns, and the checks they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from holdfast.bounds.interval.posterior_shift import Schedule

Noise = Annotated[Literal["gaussian", "laplace"], "The kind of noise."]
GaussianNoise = Annotated[Noise, "Gaussian noise; the proof does not cover Laplace noise."]
UnusedNoise = Annotated[Noise, "Accepted as in the other intervals; no noise is added."]


@dataclass(frozen=True)
class Width:
    """A half-width that holds for all `questions` answers at once, and the noise that the answers need.

    `half_width` is the number itself. From 0.5 on it is `vacuous`, because answering 1/2 every time would be as good.
    `sigma` is the standard deviation of Gaussian noise or the scale of Laplace noise. For scheduled noise `sigma` is
    the first and largest scale, and `schedule` has all of them. If `clip` is True, the guarantee holds only if every
    released answer is clipped to [0, 1]. Otherwise clipping is optional. `certified` is False for published forms and
    comparison values that do not hold.

    Examples
    --------
    >>> print(Width(0.05, 0.01, "gaussian", "interval.jung", "best", 1000, 10, 0.05))
    each of 10 answers from 1000 rows within 0.05 at 95% (interval.jung, best; gaussian noise 0.01)
    """

    half_width: float
    sigma: float
    noise: Literal["gaussian", "laplace", "none"]
    method: str
    variant: str
    n: int
    questions: int
    beta: float
    certified: bool = True
    clip: bool = False
    assumption: str = "rows independent; questions, beta and noise fixed before the first answer"
    tuning: Mapping[str, float] = field(default_factory=dict)
    schedule: Schedule | None = None

    @property
    def value(self) -> float:
        """The half-width as a number."""
        return self.half_width

    @property
    def vacuous(self) -> bool:
        """Whether the half-width is 0.5 or more, and so no guarantee for a number in [0, 1]."""
        return self.half_width >= 0.5

    @property
    def least_sigma(self) -> float:
        """The smallest noise scale of any question."""
        return self.sigma if self.schedule is None else min(self.schedule.scales)

    def sigma_of(self, question: int) -> float:
        """Return the noise scale for question number `question`, counted from 1."""
        question = arguments.whole("question", question, at_least=1, at_most=self.questions)
        return self.sigma if self.schedule is None else self.schedule.sigma(question)

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the width, with its parameters."""
        parameters = {"n": self.n, "questions": self.questions, "beta": self.beta, "noise": self.noise}
        return Guarantee(self.method, parameters | {"method": self.variant}, self.assumption, self.certified)

    def __str__(self) -> str:
        noise = "no noise" if self.noise == "none" else f"{self.noise} noise {self.sigma:.4g}"
        if self.schedule is not None:
            noise = f"{self.noise} noise {self.sigma:.4g} falling to {self.schedule.scales[-1]:.4g}"
        text = (
            f"each of {self.questions} answers from {self.n} rows within {self.half_width:.4g} "
            f"at {100 * (1 - self.beta):.6g}% ({self.method}, {self.variant}; {noise})"
        )
        marks = ["no guarantee: 0.5 or more"] if self.vacuous else []
        marks += [] if self.certified else ["not certified"]
        return "; ".join([text, *marks])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. A schedule appears as its parameters and three of its scales; `schedule.to_dict()` has all
        scales.
        """
        plain: dict[str, Any] = {
            "value": self.half_width,
            "half_width": self.half_width,
            "vacuous": self.vacuous,
            "sigma": self.sigma,
            "noise": self.noise,
            "method": self.method,
            "variant": self.variant,
            "n": self.n,
            "questions": self.questions,
            "beta": self.beta,
            "certified": self.certified,
            "clip": self.clip,
            "assumption": self.assumption,
            "tuning": dict(self.tuning),
        }
        return plain | ({"schedule": self.schedule.summary()} if self.schedule is not None else {})


def gaussian_only(theorem: str, noise: Any) -> None:
    """Refuse Laplace noise where no proof covers it."""
    if noise == "laplace":
        raise InvalidParameter(
            f"noise must be gaussian for {theorem}, because its proof is about Gaussian noise; for laplace use "
            "interval.dfh, interval.bns, interval.jung or interval.best"
        )
