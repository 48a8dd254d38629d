"""Inference after looking: intervals for adaptively chosen means, corrected p-values, streams of tests."""

from holdfast.inference.after_looking import AfterLooking
from holdfast.inference.answers import GaussianAnswers
from holdfast.inference.correction import Correction
from holdfast.inference.neighbours import from_add_remove

__all__ = [
    "AfterLooking",
    "Correction",
    "GaussianAnswers",
    "from_add_remove",
]
