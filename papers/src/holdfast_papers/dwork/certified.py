"""The analyst of Dwork et al. in front of the certified holdout, with every interval held against the truth.

Attribute questions `x_i * y` have no range, and a mean of values without a range has no interval. So she asks the sign:
on which share of rows does `x_i * y` have the sign of the training weight? Those values are 0 or 1. Her guess is the
share that a normal attribute with the training weight as its mean would have, and `6/sqrt(n)` is near enough for her: a
holdout of n rows cannot tell her more about a weight of `1/sqrt(n)` while it answers hundreds of questions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from holdfast.holdout import ReusableHoldout
from holdfast.mechanisms.answer import Answer
from holdfast_papers.dwork.analyst import KS, Floats, Sample

CONFIDENCE = 0.95
ROOM = 1.5
"""Tolerance of an accuracy over the least one that can pass: the holdout may be half an interval's half-width off."""


@dataclass(frozen=True)
class Analyst:
    """How she asks: about how many attributes first, and what she guesses an accuracy to be.

    `guess` is "training", the accuracy on the training set, or "last told", what the holdout said of the classifier
    before; the first guess is the training accuracy either way.
    """

    name: str
    attributes: int
    guess: Literal["training", "last told"]


ANALYSTS = (
    Analyst("12 accuracies, guess: training", 0, "training"),
    Analyst("12 accuracies, guess: last told", 0, "last told"),
    Analyst("500 attributes, 12 accuracies", 500, "training"),
)


@dataclass(frozen=True)
class CertifiedRun:
    """What the certified holdout told at each of `KS`, and how many of all its intervals missed the truth."""

    told: Floats
    low: Floats
    high: Floats
    true: Floats
    train: Floats
    asked: int
    failures: int
    missed: int


def certify(sample: Sample, analyst: Analyst) -> CertifiedRun:
    """Ask about some attributes, build the classifiers from what was told, and ask the accuracy of each.

    The attributes with the largest training weights come first; those that the holdout contradicts are dropped. The
    number of questions is planned, so each gets an equal share of the confidence.
    """
    setting, attributes = sample.setting, analyst.attributes
    able = np.flatnonzero(np.abs(sample.train) >= setting.cut)
    order = able[np.argsort(-np.abs(sample.train[able]), kind="stable")][: max(KS)]
    signs = np.sign(sample.train[order])
    holdout = ReusableHoldout(setting.n, questions=attributes + len(KS), confidence=CONFIDENCE)
    near, missed = 6 / math.sqrt(setting.n), 0
    columns: NDArray[np.float32] | None = None
    if attributes:
        columns = sample.holdout_columns(order) * signs[:, None].astype(np.float32)
        selected = np.ones(len(order), dtype=np.bool_)
        for i, attribute in enumerate(order[:attributes]):
            answer = holdout.check(columns[i] > 0, guess=float(ndtr(abs(sample.train[attribute]))), tolerance=near)
            share = float(ndtr(signs[i] * setting.bias * (attribute < setting.signal)))
            missed += _misses(answer, share)
            selected[i] = answer.value is not None and answer.value > 0.5
        order, signs, columns = order[selected], signs[selected], columns[selected]
    right = sample.correct("holdout", order, signs) if columns is None else _nested(columns)
    train = np.array([np.count_nonzero(rows) / setting.n for rows in sample.correct("train", order, signs)])
    true = np.array([setting.true_accuracy(order[:k], signs[:k]) for k in KS])
    answers: list[Answer] = []
    for rows, guess in zip(right, train, strict=True):
        told = answers[-1].value if answers and analyst.guess == "last told" else None
        guess = float(guess) if told is None else told
        answers.append(holdout.check(rows, guess, ROOM * holdout.least_tolerance(guess, binary=True)))
    missed += sum(_misses(answer, truth) for answer, truth in zip(answers, true, strict=True))
    limits = np.array([answer.interval or (0.0, 1.0) for answer in answers])
    values = np.array([np.nan if answer.value is None else answer.value for answer in answers])
    failures = sum(not answer.passed for answer in answers)
    return CertifiedRun(values, limits[:, 0], limits[:, 1], true, train, attributes + len(KS), failures, missed)


def _nested(columns: NDArray[np.float32]) -> list[NDArray[np.bool_]]:
    """Row by row, whether the classifier of the first k columns is right, for each of `KS`."""
    scores, used, right = np.zeros(columns.shape[1], dtype=np.float32), 0, []
    for k in KS:
        upto = min(k, len(columns))
        scores += columns[used:upto].sum(axis=0)
        used = upto
        right.append(scores > 0)
    return right


def _misses(answer: Answer, truth: float | np.float64) -> int:
    return int(answer.interval is not None and not answer.interval[0] <= truth <= answer.interval[1])


__all__ = ["ANALYSTS", "CONFIDENCE", "ROOM", "Analyst", "CertifiedRun", "certify"]
