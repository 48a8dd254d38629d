"""Thresholdout with ordinary settings, and how much tests of it try."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

from holdfast.holdout import Thresholdout
from holdfast.noise import Seeded

FUZZ = settings(max_examples=60, deadline=None, derandomize=True)


def make(**changes: Any) -> Thresholdout:
    settings_ = {"n": 10_000, "threshold": 0.05, "sigma": 0.001, "budget": 3, "source": Seeded(1)}
    return Thresholdout(**(settings_ | changes))
