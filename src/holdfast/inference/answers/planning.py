"""Which method to use: every valid width side by side, best first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.bounds import interval
from holdfast.bounds.interval.signs import RowLaw
from holdfast.bounds.interval.width import Width
from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.bounds.parameters import LEAST_BETA, FailureProbability, Questions, Rows, checked
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.answers.noisy import GaussianAnswers, LaplaceAnswers, NoisyAnswers
from holdfast.inference.answers.splitting import SplitAnswers
from holdfast.noise.entropy import Source


@dataclass(frozen=True)
class Option:
    """One way to answer: the method that does it, and its width.

    `condition` is None, or what an analyst must do without for it to hold; such an option is never recommended.
    """

    name: str
    answerer: str | None
    width: Width
    condition: str | None = None

    @property
    def half_width(self) -> float:
        """As a share of the range of a question."""
        return self.width.half_width

    @property
    def assumption(self) -> str:
        """What the width assumes of rows, questions and noise."""
        return self.width.assumption

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "name": self.name,
            "answerer": self.answerer,
            "half_width": self.half_width,
            "vacuous": self.width.vacuous,
            "certified": self.width.certified,
            "theorem": self.width.method,
            "assumption": self.assumption,
            "condition": self.condition,
        }


def _marks(option: Option) -> str:
    marks = [option.answerer or "plain means", "(no guarantee)" if option.width.vacuous else "", option.condition or ""]
    return "  ".join(mark for mark in marks if mark)


@dataclass(frozen=True)
class AnswerPlan:
    """All ways to answer `questions` means of `n` rows, the narrowest intervals first.

    The recommended way is the first that has no condition.

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
    rows: RowLaw = "identical"
    rounds: int | None = None

    @property
    def recommended(self) -> Option:
        """The option with the smallest half-width among those that show the analyst every answer."""
        return next(option for option in self.options if option.condition is None)

    def make(self, name: str | None = None, source: Source | None = None) -> NoisyAnswers | SplitAnswers:
        """Return the method of an option, ready to answer questions. Without a name it is the recommended option."""
        known = {option.name: option for option in self.options}
        option = self.recommended if name is None else known[arguments.choice("name", name, known)]
        size = (self.n, self.questions, self.confidence)
        if option.answerer is None:
            raise InvalidParameter(
                f"name must be that of an option with a method of its own, but {option.name!r} is plain means of all "
                f"rows, valid on the condition that {option.condition}; nothing was spent"
            )
        rounds = self.rounds if option.name.endswith("-rounds") else None
        if option.answerer == "SplitAnswers":
            return SplitAnswers(*size, rounds=rounds, source=source)
        if rounds is not None:
            return GaussianAnswers(*size, rows=self.rows, rounds=rounds, source=source)
        method: Any = option.name.removesuffix("-laplace")
        if option.answerer == "LaplaceAnswers":
            return LaplaceAnswers(*size, method=method, source=source)
        return GaussianAnswers(*size, method=method, rows=self.rows, source=source)

    def __str__(self) -> str:
        level = f"{100 * self.confidence:g}%"
        seen = "" if self.rounds is None else f" in {self.rounds} rounds"
        head = f"{self.questions} adaptive means of {self.n} rows{seen} at {level}: use {self.recommended.name}"
        head += f"\n  it assumes: {self.recommended.assumption}"
        wide = 16 if self.rounds is None else 24
        rows = [f"  {option.name:{wide}}{option.half_width:10.4f}  {_marks(option)}" for option in self.options]
        tail = f"  {'non-adaptive':{wide}}{self.reference:10.4f}  only if all questions were fixed before looking"
        return "\n".join([head, *rows, tail])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "n": self.n,
            "questions": self.questions,
            "confidence": self.confidence,
            "rows": self.rows,
            "rounds": self.rounds,
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


#: Published theorems that need rows of one distribution.
_IDENTICAL_ONLY = ("jung", "bns", "jung-laplace", "bns-laplace")
_WINNERS = "only the winner of a round and its value in one of 20 cells are shown before the end"


def answer_plan(
    n: int, questions: int, confidence: float, rows: RowLaw = "identical", rounds: int | None = None
) -> AnswerPlan:
    """Compare all valid ways to answer `questions` adaptively chosen means for which you have no guess.

    The comparison reads no data, so the guarantee of the way that you choose holds unchanged. If you can guess the
    answers, use `holdfast plan` instead: checking a guess needs no noise, and its intervals are narrower as long as few
    guesses fail.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions will be asked.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    rows : str
        What is promised about the rows: "identical" (default), independent and identically distributed; "independent",
        independent, each of its own distribution. Then only methods that need no common distribution are compared.
    rounds : int, optional
        In how many rounds of equal size the answers are seen: the questions of a round are chosen before any of its
        answers. Methods for rounds are then compared too.

    Returns
    -------
    AnswerPlan
        Time: about two seconds; some more with rounds.

    Examples
    --------
    Splitting wins while there are few questions.

    >>> [answer_plan(10_000, k, 0.95).recommended.name for k in (1, 2, 10)]
    ['splitting', 'splitting', 'sign-comparison']

    In few rounds a fresh part of the rows for each is narrower than noise; in many it is not.

    >>> [answer_plan(10_000, 100, 0.95, rounds=r).recommended.name for r in (2, 50)]
    ['splitting-rounds', 'sign-comparison-rounds']
    """
    confidence = arguments.real("confidence", confidence, above=0, below=1)
    beta = max(left_to_chance(confidence), LEAST_BETA)
    n = checked("n", Rows, n)
    questions = checked("questions", Questions, questions)
    beta = checked("beta", FailureProbability, beta)
    arguments.choice("rows", rows, ("identical", "independent"))
    rounds = None if rounds is None else arguments.whole("rounds", rounds, at_least=1, at_most=questions)
    options = []
    for name, answerer, width, noise in _WIDTHS:
        if rows == "independent" and name in _IDENTICAL_ONLY:
            continue
        signs = interval.sign_comparison_independent if rows == "independent" else interval.sign_comparison
        chosen: Callable[..., Width] = signs if name == "sign-comparison" else width
        options.append(Option(name, answerer, chosen(n, questions, beta, noise=noise)))
    if rounds is not None:
        options += _in_rounds(n, questions, beta, rows, rounds)
    if questions <= n and (rows == "identical" or questions == 1):  # a part must stand for all rows
        options.append(Option("splitting", "SplitAnswers", interval.splitting(n, questions, beta)))
    reference = interval.non_adaptive(n, questions, beta).half_width
    ordered = tuple(sorted(options, key=lambda option: option.half_width))
    return AnswerPlan(n, questions, confidence, ordered, reference, rows, rounds)


def _in_rounds(n: int, questions: int, beta: float, rows: RowLaw, rounds: int) -> list[Option]:
    noisy = interval.sign_comparison_rounds(n, questions, beta, rounds, rows=rows)
    options = [Option("sign-comparison-rounds", "GaussianAnswers", noisy)]
    if rounds <= n and (rows == "identical" or rounds == 1):
        options.append(
            Option("splitting-rounds", "SplitAnswers", interval.splitting_rounds(n, questions, beta, rounds))
        )
    winners = interval.winner_only(n, questions, beta, rounds)
    return [*options, Option("winner-only", None, winners, _WINNERS)]
