"""An account's text is written in one go: it must be the canonical JSON of its data."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting import ZCDP, PureDP
from holdfast.core.strict_json import to_canonical_json
from holdfast.guard.policy import Policy
from holdfast.guard.state import Account, Progress
from holdfast.holdout.error_budget import Course

_COUNTS = st.integers(min_value=0, max_value=2**40)
_LOGARITHMS = st.floats(allow_nan=False, allow_infinity=True, max_value=0.0)
_COURSES = st.builds(
    lambda asked, checks, failed, risk, shown, staked: Course(asked, checks, failed, risk, shown, -staked),
    _COUNTS,
    _COUNTS,
    _COUNTS,
    st.floats(allow_nan=False),
    _LOGARITHMS,
    _LOGARITHMS,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(progress=st.builds(Progress, _COUNTS, _COUNTS, _COUNTS, _COURSES))
def test_progress_is_written_as_its_data_is(progress: Progress) -> None:
    assert progress.to_text() == to_canonical_json(progress.to_dict())


@pytest.mark.parametrize("course", [Course(log_shown=-math.inf), Course(log_risk=-1e-300), Course(staked=1e22)])
def test_numbers_that_are_spelled_in_another_way(course: Course) -> None:
    assert Progress(course=course).to_text() == to_canonical_json(Progress(course=course).to_dict())


@pytest.mark.parametrize(
    "policy",
    [
        Policy(questions=5),
        Policy(privacy=PureDP(1.0), spend=PureDP(0.1)),
        Policy(privacy=ZCDP(1.0), spend=PureDP(0.1)),
        Policy(privacy=PureDP(1.0), spend=PureDP(0.1), accounting="odometer"),
    ],
)
def test_an_account_is_written_as_its_data_is_and_stays_as_it_was(policy: Policy) -> None:
    account = Account.fresh(policy)
    before = account.to_text()
    spent = account
    for _ in range(3):
        spent = spent.charge(None if policy.privacy is None else PureDP(0.1), 50, "all")
        assert spent.to_text() == to_canonical_json(spent.to_dict()) != before
        assert Account.from_dict(spent.to_dict()).to_text() == spent.to_text()
    assert account.to_text() == before == to_canonical_json(account.to_dict()), "a copy was charged"
