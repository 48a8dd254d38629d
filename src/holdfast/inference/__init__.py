"""Inference after looking: intervals for adaptively chosen means, corrected p-values, streams of tests."""

from holdfast.inference.after_looking import AfterLooking
from holdfast.inference.answer_plan import AnswerPlan, answer_plan
from holdfast.inference.answers import GaussianAnswers
from holdfast.inference.correction import Correction
from holdfast.inference.filtered_answers import FilteredAnswers
from holdfast.inference.laplace_answers import LaplaceAnswers
from holdfast.inference.neighbours import from_add_remove
from holdfast.inference.scores import Scores, covariances, mean_differences, products
from holdfast.inference.selection import Selected, alternatives, choose
from holdfast.inference.small_variance_answers import SmallVarianceAnswers
from holdfast.inference.split_answers import SplitAnswers
from holdfast.inference.statistic_answers import Choice, LowSensitivityAnswers, MinimisationAnswers

__all__ = [
    "AfterLooking",
    "AnswerPlan",
    "Choice",
    "Correction",
    "FilteredAnswers",
    "GaussianAnswers",
    "LaplaceAnswers",
    "LowSensitivityAnswers",
    "MinimisationAnswers",
    "Scores",
    "Selected",
    "SmallVarianceAnswers",
    "SplitAnswers",
    "alternatives",
    "answer_plan",
    "choose",
    "covariances",
    "from_add_remove",
    "mean_differences",
    "products",
]
