"""A policy is checked when it is made, reads back exactly, and gives each analyst a share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.accounting import Bits, PureDP
from holdfast.accounting.costs import GDP, ZCDP
from holdfast.errors import InvalidParameter
from holdfast.guard.policy import PRIVATE, Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.scoring.board import Board

MEANS = {"answers": "means", "questions": 4, "privacy": GDP(0.1)}
POLICIES = [
    Policy(),
    Policy(privacy=PureDP(0.1)),
    Policy(privacy=ZCDP(0.01), spend=ZCDP(0.001), questions=100, failures=3),
    Policy(privacy=PureDP(1.0), accounting="odometer"),
    Policy(answers="means", questions=50),
    Policy(answers="means", questions=50, privacy=GDP(0.0275)),
    Policy(privacy=PureDP(0.1), kinds=("mean",), analysts={"ann": 0.3, "bo": 1.0}, expires="2030-01-31T12:00"),
]


@pytest.mark.parametrize("policy", POLICIES)
def test_reads_back_exactly(policy: Policy) -> None:
    assert Policy.from_dict(policy.to_dict()) == policy


def test_kinds_follow_from_what_can_be_paid_for() -> None:
    on_boards = ("score", "choose", "contest_final")
    noiseless = tuple(kind for kind in Question.kinds() if kind not in (*PRIVATE, *on_boards))
    assert noiseless[:4] == ("check", "claim", "compare", "validate")
    assert PRIVATE == ("mean", "histogram", "select", "test", "top")
    assert Policy().kinds == noiseless
    assert Policy(privacy=PureDP(0.1)).kinds == noiseless + PRIVATE
    assert Policy(answers="means", questions=5).kinds == ("check", "claim", "compare", "mean")
    board = Board("b", key="id", label="y", metric="accuracy")
    assert Policy(boards=[board]).kinds == (*noiseless, "score")
    assert Policy(boards=[board], reserve=0.5).kinds == noiseless + on_boards


def test_a_share_is_rounded_down() -> None:
    policy = Policy(privacy=PureDP(0.1), questions=10, analysts={"ann": 0.3})
    ann = policy.filter("ann")
    assert ann is not None
    assert ann.admits(PureDP(0.03))
    assert not ann.admits(PureDP(0.030000001))
    assert policy.most_questions("ann") == 3
    whole = policy.filter()
    assert whole is not None
    assert whole.admits(PureDP(0.1))


def test_expiry_is_read_as_utc() -> None:
    policy = Policy(expires="2030-01-31T12:00")
    assert not policy.expired(datetime(2030, 1, 31, 11, 59, tzinfo=UTC))
    assert policy.expired(datetime(2030, 1, 31, 12, 0, tzinfo=UTC))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"confidence": 95}, "confidence"),
        ({"privacy": GDP(1.0)}, "privacy must be a positive PureDP or ZCDP"),
        ({"privacy": PureDP(0.0)}, "privacy must be a positive"),
        ({"privacy": Bits(3)}, "privacy must be a positive"),
        ({"spend": PureDP(0.1)}, "spend must be None"),
        ({"privacy": PureDP(1.0), "spend": ZCDP(0.1)}, "spend must be a PureDP"),
        ({"accounting": "odometer"}, "privacy must be given"),
        ({"accounting": "odo"}, "accounting must be one of"),
        ({"answers": "means"}, "answers='means' must be given together with questions"),
        ({"answers": "means", "privacy": GDP(0.1)}, "answers='means' must be given together with questions"),
        ({"answers": "means", "questions": 4, "privacy": PureDP(1.0)}, "privacy must be a positive GDP"),
        ({"answers": "means", "questions": 4, "privacy": GDP(0.0)}, "privacy must be a positive GDP"),
        ({"answers": "means", "questions": 4, "spend": GDP(0.1)}, "spend must have its default value"),
        (MEANS | {"accounting": "odometer"}, "accounting must have its default value"),
        (MEANS | {"plan": "earlier"}, "plan must have its default value"),
        ({"questions": 0}, "questions"),
        ({"failures": -1}, "failures"),
        ({"kinds": ("mean",)}, "kinds must be one of"),
        ({"kinds": "check"}, "kinds must be a list"),
        ({"analysts": {}}, "analysts must be a mapping"),
        ({"analysts": {"ann": 0.0}}, "analysts"),
        ({"analysts": {"a\nb": 0.5}}, "analysts must have printable names"),
        ({"expires": "tomorrow"}, "expires must be a time"),
        ({"expires": 7}, "expires must be a time"),
    ],
)
def test_refuses(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said.replace("(", r"\(")):
        Policy(**wrong)  # type: ignore[arg-type]


def test_a_stored_policy_with_an_unknown_field_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="a policy has no field colour"):
        Policy.from_dict({"colour": "red"})


def test_an_unknown_analyst_is_refused() -> None:
    policy = Policy(analysts={"ann": 0.5})
    with pytest.raises(InvalidParameter, match="analyst must be a name that the policy lists"):
        policy.share("bo")
    with pytest.raises(InvalidParameter, match="printable name"):
        policy.share("")
