"""Which method to use: every valid width side by side, best first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.bounds import interval
from holdfast.bounds.interval.width import Width
from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.bounds.parameters import LEAST_BETA, FailureProbability, Questions, Rows, checked
from holdfast.core import arguments
from holdfast.inference.answers.noisy import GaussianAnswers, LaplaceAnswers, NoisyAnswers
from holdfast.inference.answers.splitting import SplitAnswers
from holdfast.noise.entropy import Source


@dataclass(frozen=True)
class Option:
    """One way to answer: the method that does it, and its width."""

    name: str
    answerer: str
    width: Width

    @property
    def half_width(self) -> float:
        """As a share of the range of a question."""
        return self.width.half_width

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "name": self.name,
            "answerer": self.answerer,
            "half_width": self.half_width,
            "vacuous": self.width.vacuous,
            "certified": self.width.certified,
            "theorem": self.width.method,
        }


@dataclass(frozen=True)
class AnswerPlan:
    """All ways to answer `questions` means of `n` rows, best first; the first is recommended.

    Examples
    --------
    >>> plan = answer_plan(n=6400, questions=640, confidence=0.95)
    >>> plan.recommended.name, round(plan.recommended.half_width, 4)
    ('sign-comparison', 0.1153)
    >>> type(plan.make()).__name__
    'GaussianAnswers'
    """

    n: int
    questions: int
    confidence: float
    options: tuple[Option, ...]
    reference: float

    @property
    def recommended(self) -> Option:
        """The option with the smallest half-width."""
        return self.options[0]

    def make(self, name: str | None = None, source: Source | None = None) -> NoisyAnswers | SplitAnswers:
        """Return the method of an option, ready to be asked; the recommended one when no name is given."""
        known = {option.name: option for option in self.options}
        option = self.recommended if name is None else known[arguments.choice("name", name, known)]
        size = (self.n, self.questions, self.confidence)
        if option.answerer == "SplitAnswers":
            return SplitAnswers(*size, source=source)
        method: Any = option.name.removesuffix("-laplace")
        if option.answerer == "LaplaceAnswers":
            return LaplaceAnswers(*size, method=method, source=source)
        return GaussianAnswers(*size, method=method, source=source)

    def __str__(self) -> str:
        level = f"{100 * self.confidence:g}%"
        head = f"{self.questions} adaptive means of {self.n} rows at {level}: use {self.recommended.name}"
        rows = [
            f"  {option.name:16}{option.half_width:10.4f}  {option.answerer}"
            + ("  (no guarantee)" if option.width.vacuous else "")
            for option in self.options
        ]
        tail = f"  {'non-adaptive':16}{self.reference:10.4f}  only if all questions were fixed before looking"
        return "\n".join([head, *rows, tail])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "n": self.n,
            "questions": self.questions,
            "confidence": self.confidence,
            "recommended": self.recommended.name,
            "options": [option.to_dict() for option in self.options],
            "non_adaptive_reference": self.reference,
        }


_WIDTHS: tuple[tuple[str, str, Callable[..., Width], str], ...] = (
    ("sign-comparison", "GaussianAnswers", interval.sign_comparison, "gaussian"),
    ("scheduled", "GaussianAnswers", interval.scheduled, "gaussian"),
    ("posterior-shift", "GaussianAnswers", interval.posterior_shift, "gaussian"),
    ("jung", "GaussianAnswers", interval.jung, "gaussian"),
    ("bns", "GaussianAnswers", interval.bns, "gaussian"),
    ("russo-zou-kl", "GaussianAnswers", interval.russo_zou_kl, "gaussian"),
    ("russo-zou", "GaussianAnswers", interval.russo_zou, "gaussian"),
    ("xu-raginsky", "GaussianAnswers", interval.xu_raginsky, "gaussian"),
    ("dfh", "GaussianAnswers", interval.dfh, "gaussian"),
    ("jung-laplace", "LaplaceAnswers", interval.jung, "laplace"),
    ("bns-laplace", "LaplaceAnswers", interval.bns, "laplace"),
    ("dfh-laplace", "LaplaceAnswers", interval.dfh, "laplace"),
)


def answer_plan(n: int, questions: int, confidence: float) -> AnswerPlan:
    """Compare every valid way to answer `questions` adaptively chosen means without a guess.

    The choice reads no data, so the winner's guarantee holds unchanged. If you can guess the answers, see
    `holdfast plan`: checking a guess needs no noise and is narrower while few guesses fail.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions will be asked.
    confidence : float
        Probability that all intervals hold, in (0, 1).

    Returns
    -------
    AnswerPlan
        Time: about two seconds.

    Examples
    --------
    Splitting wins while there are few questions.

    >>> [answer_plan(10_000, k, 0.95).recommended.name for k in (1, 2, 10)]
    ['splitting', 'splitting', 'sign-comparison']
    """
    confidence = arguments.real("confidence", confidence, above=0, below=1)
    beta = max(left_to_chance(confidence), LEAST_BETA)
    n = checked("n", Rows, n)
    questions = checked("questions", Questions, questions)
    beta = checked("beta", FailureProbability, beta)
    options = [
        Option(name, answerer, width(n, questions, beta, noise=noise)) for name, answerer, width, noise in _WIDTHS
    ]
    if questions <= n:
        options.append(Option("splitting", "SplitAnswers", interval.splitting(n, questions, beta)))
    reference = interval.non_adaptive(n, questions, beta).half_width
    ordered = tuple(sorted(options, key=lambda option: option.half_width))
    return AnswerPlan(n, questions, confidence, ordered, reference)
