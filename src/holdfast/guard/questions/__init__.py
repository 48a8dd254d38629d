"""Questions that a guard answers, one kind a file. `hf.guard.mean`, `hf.guard.check` and the others make them."""

from __future__ import annotations

from holdfast.guard.questions.base import Bound, Question, Settled, Situation
from holdfast.guard.questions.looks import Check, Claim, Compare, Validate
from holdfast.guard.questions.noisy_histogram import Histogram
from holdfast.guard.questions.noisy_mean import Mean
from holdfast.guard.questions.private_test import Test
from holdfast.guard.questions.selection import Select
from holdfast.guard.questions.submission import Score

mean = Mean
check = Check
claim = Claim
compare = Compare
validate = Validate
score = Score
select = Select
histogram = Histogram
test = Test

__all__ = [
    "Bound",
    "Check",
    "Claim",
    "Compare",
    "Histogram",
    "Mean",
    "Question",
    "Score",
    "Select",
    "Settled",
    "Situation",
    "Test",
    "Validate",
    "check",
    "claim",
    "compare",
    "histogram",
    "mean",
    "score",
    "select",
    "test",
    "validate",
]
