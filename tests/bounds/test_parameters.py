"""The domain of every named parameter type, on record: a changed end changes all theorems that use the type."""

from __future__ import annotations

import math
from typing import Annotated, Any, get_origin

import pytest

from holdfast.bounds import parameters

DOMAINS: dict[str, dict[str, Any]] = {
    "Rows": {"at_least": 1, "at_most": 10**18},
    "UnboundedRows": {"at_least": 1},
    "AuditedRows": {"at_least": 4},
    "GroupRows": {"at_least": 1},
    "OdometerSize": {"at_least": 6, "at_most": 10**18},
    "Questions": {"at_least": 1, "at_most": 10**18},
    "QuestionNumber": {"at_least": 1, "at_most": 10**18},
    "Budget": {"at_least": 1, "at_most": 10**18},
    "Submissions": {"at_least": 1, "at_most": 10**18},
    "AnswerValues": {"at_least": 1},
    "Groups": {"at_least": 1},
    "Lenses": {"at_least": 1},
    "Predictors": {"at_least": 1},
    "Rounds": {"at_least": 0, "at_most": 10**18},
    "Candidates": {"at_least": 1},
    "Draws": {"at_least": 1},
    "Blanket": {"at_least": 1, "at_most": 10**18},
    "Colours": {"at_least": 1, "at_most": 10**18},
    "RowsBack": {"at_least": 1, "at_most": 10**18},
    "RowsAhead": {"at_least": 1, "at_most": 10**18},
    "FailureProbability": {"at_least": 1e-100, "below": 1},
    "OpenFailureProbability": {"above": 0, "below": 1},
    "FailureProbabilityOrZero": {"at_least": 0, "below": 1},
    "AnyFailureProbability": {"at_least": 0, "at_most": 1},
    "AuditFailureProbability": {"above": 0, "at_most": 1},
    "Slack": {"above": 0, "below": 1},
    "LogShare": {"at_least": -1000000000000000.0, "below": 0},
    "MissProbability": {"above": 0, "below": 1},
    "SignificanceLevel": {"above": 0, "below": 1},
    "PValue": {"at_least": 0, "at_most": 1},
    "GroupProportion": {"above": 0, "at_most": 1},
    "Eta": {"above": 0, "at_most": 1},
    "Epsilon": {"at_least": 0},
    "PositiveEpsilon": {"above": 0},
    "Delta": {"at_least": 0, "below": 1},
    "PositiveDelta": {"above": 0, "below": 1},
    "OdometerDelta": {"above": 0, "below": 1 / math.e},
    "Rho": {"at_least": 0},
    "Mu": {"at_least": 0},
    "EpsilonTotal": {"at_least": 0},
    "DeltaTotal": {"at_least": 0, "below": 1},
    "DeltaSlack": {"above": 0, "below": 1},
    "Order": {"at_least": 1},
    "SquaredEpsilons": {"at_least": 0},
    "LossDrift": {"at_least": 0},
    "Sensitivity": {"above": 0},
    "NoiseScale": {"above": 0},
    "LaplaceScale": {"at_least": 1e-100, "at_most": 1e100},
    "Epsilons": {"at_least": 0},
    "Deltas": {"at_least": 0, "below": 1},
    "Divergences": {"at_least": 0},
    "Orders": {"above": 1},
    "HalfWidth": {"at_least": 1e-09, "at_most": 1},
    "Accuracy": {"at_least": 1e-50, "below": 1},
    "DeviationSize": {"above": 0},
    "SharpTolerance": {"above": 0, "below": 2},
    "Tolerance": {"above": 0, "at_most": 2},
    "Bits": {"at_least": 0},
    "MaxInformationBits": {"above": -math.inf, "infinite": True},
    "Nats": {"at_least": 0},
    "RowBits": {"at_least": 0},
    "Influence": {"at_least": 0},
    "Surcharge": {"at_least": 0, "infinite": True},
    "BudgetSplit": {"above": 0, "below": 1},
    "Mean": {"at_least": -1e100, "at_most": 1e100},
    "LowestValue": {"at_least": -1e100, "at_most": 1e100},
    "HighestValue": {"at_least": -1e100, "at_most": 1e100},
}


@pytest.mark.parametrize("name", DOMAINS)
def test_domain_is_the_one_on_record(name: str) -> None:
    _, domain, optional = parameters._read(getattr(parameters, name))
    assert domain.limits == DOMAINS[name]
    assert not optional
    assert domain.help.endswith(".")
    assert domain.typical is not None


def test_every_type_is_on_record() -> None:
    assert set(DOMAINS) == {name for name, value in vars(parameters).items() if get_origin(value) is Annotated}
