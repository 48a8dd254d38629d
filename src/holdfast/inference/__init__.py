"""Inference after looking: intervals for adaptively chosen means, corrected p-values, streams of tests, private tests.

Names are imported when they are first used, so that correcting a p-value does not load the methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_PACKAGES = ("online", "private_tests")
#: Each name and the module of this package that it lives in.
_HOME = {
    "AfterLooking": "after_looking.record",
    "AnswerPlan": "answers.planning",
    "Correction": "after_looking.correction",
    "FilteredAnswers": "answers.horizon",
    "GaussianAnswers": "answers.noisy",
    "LaplaceAnswers": "answers.noisy",
    "LowSensitivityAnswers": "answers.low_sensitivity",
    "MinimisationAnswer": "answers.low_sensitivity",
    "MinimisationAnswers": "answers.low_sensitivity",
    "OpenAnswers": "answers.open_end",
    "Scores": "after_looking.selection",
    "Selected": "after_looking.selection",
    "SmallVarianceAnswers": "answers.horizon",
    "SplitAnswers": "answers.splitting",
    "ThresholdAnswers": "answers.threshold",
    "alternatives": "after_looking.selection",
    "answer_plan": "answers.planning",
    "choose": "after_looking.selection",
    "covariances": "after_looking.selection",
    "from_add_remove": "after_looking.spent",
    "mean_differences": "after_looking.selection",
    "products": "after_looking.selection",
}

if TYPE_CHECKING:
    from holdfast.inference import online, private_tests
    from holdfast.inference.after_looking.correction import Correction
    from holdfast.inference.after_looking.record import AfterLooking
    from holdfast.inference.after_looking.selection import (
        Scores,
        Selected,
        alternatives,
        choose,
        covariances,
        mean_differences,
        products,
    )
    from holdfast.inference.after_looking.spent import from_add_remove
    from holdfast.inference.answers.horizon import FilteredAnswers, SmallVarianceAnswers
    from holdfast.inference.answers.low_sensitivity import (
        LowSensitivityAnswers,
        MinimisationAnswer,
        MinimisationAnswers,
    )
    from holdfast.inference.answers.noisy import GaussianAnswers, LaplaceAnswers
    from holdfast.inference.answers.open_end import OpenAnswers
    from holdfast.inference.answers.planning import AnswerPlan, answer_plan
    from holdfast.inference.answers.splitting import SplitAnswers
    from holdfast.inference.answers.threshold import ThresholdAnswers


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
    "OpenAnswers",
    "Scores",
    "Selected",
    "SmallVarianceAnswers",
    "SplitAnswers",
    "ThresholdAnswers",
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
