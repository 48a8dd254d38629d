"""Inference after looking: intervals for adaptively chosen means, corrected p-values, streams of tests, private tests.

Names are imported when they are first used, so that correcting a p-value does not load the answerers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lazy import lazy

_PACKAGES = ("online", "private_tests")
#: Each name and the module of this package that it lives in.
_HOME = {
    "AfterLooking": "after_looking",
    "AnswerPlan": "answer_planning",
    "Correction": "correction",
    "FilteredAnswers": "filtered_answers",
    "GaussianAnswers": "gaussian_answers",
    "LaplaceAnswers": "laplace_answers",
    "LowSensitivityAnswers": "low_sensitivity_answers",
    "MinimisationAnswer": "minimisation_answers",
    "MinimisationAnswers": "minimisation_answers",
    "Scores": "scores",
    "Selected": "selection",
    "SmallVarianceAnswers": "small_variance_answers",
    "SplitAnswers": "split_answers",
    "alternatives": "selection",
    "answer_plan": "answer_planning",
    "choose": "selection",
    "covariances": "scores",
    "from_add_remove": "neighbours",
    "mean_differences": "scores",
    "products": "scores",
}

if TYPE_CHECKING:
    from holdfast.inference import online, private_tests
    from holdfast.inference.after_looking import AfterLooking
    from holdfast.inference.answer_planning import AnswerPlan, answer_plan
    from holdfast.inference.correction import Correction
    from holdfast.inference.filtered_answers import FilteredAnswers
    from holdfast.inference.gaussian_answers import GaussianAnswers
    from holdfast.inference.laplace_answers import LaplaceAnswers
    from holdfast.inference.low_sensitivity_answers import LowSensitivityAnswers
    from holdfast.inference.minimisation_answers import MinimisationAnswer, MinimisationAnswers
    from holdfast.inference.neighbours import from_add_remove
    from holdfast.inference.scores import Scores, covariances, mean_differences, products
    from holdfast.inference.selection import Selected, alternatives, choose
    from holdfast.inference.small_variance_answers import SmallVarianceAnswers
    from holdfast.inference.split_answers import SplitAnswers


__getattr__, __dir__ = lazy(__name__, _HOME, _PACKAGES)

__all__ = [
    "AfterLooking",
    "AnswerPlan",
    "Correction",
    "FilteredAnswers",
    "GaussianAnswers",
    "LaplaceAnswers",
    "LowSensitivityAnswers",
    "MinimisationAnswer",
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
    "online",
    "private_tests",
    "products",
]
