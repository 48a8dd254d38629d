"""Inference after looking: intervals for adaptively chosen means, corrected p-values, streams of tests."""

from holdfast.inference.answers import GaussianAnswers

__all__ = [
    "GaussianAnswers",
]
