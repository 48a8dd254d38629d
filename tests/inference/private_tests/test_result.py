"""The result: what it refuses to be, how it prints, and that it survives JSON and pickle."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from holdfast.accounting import ZCDP
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import TestResult, gaussian

GOOD: dict[str, Any] = {
    "test": "projected GOF",
    "statistic": 9.5,
    "p_value": 0.023,
    "critical_value": 7.81,
    "alpha": 0.05,
    "reject": True,
    "null_returned": None,
    "cost": ZCDP(0.1),
    "level": "asymptotic",
    "warnings": ("small counts",),
    "n": 100,
    "details": {"weights": np.array([1.0, 2.0]), "noise": gaussian(0.1), "degrees": np.int64(3), "pair": (1, 2)},
}
NULL: dict[str, Any] = {
    "statistic": None,
    "p_value": None,
    "critical_value": None,
    "reject": None,
    "null_returned": "a count is below 5",
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"p_value": math.nan},
        {"p_value": 1.2},
        {"p_value": None},
        {"reject": None},
        {"level": "certain"},
        {"null_returned": "a count is below 5"},
        NULL | {"p_value": 0.5},
        NULL | {"reject": False},
    ],
)
def test_no_result_is_half_one(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        TestResult(**(GOOD | wrong))


def test_plain_data_and_pickle() -> None:
    for found in (TestResult(**GOOD), TestResult(**(GOOD | NULL))):
        plain = json.loads(json.dumps(found.to_dict()))
        assert plain["details"]["weights"] == [1.0, 2.0]
        assert plain["details"]["noise"]["kind"] == "gaussian"
        assert plain["details"]["degrees"] == 3
        assert plain["cost"] == {"kind": "zcdp", "rho": 0.1}
        assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_it_prints_well() -> None:
    text = str(TestResult(**GOOD))
    assert text.splitlines() == [
        "projected GOF: reject at 0.05 (p = 0.023)",
        "  statistic 9.5, critical value 7.81; n = 100",
        "  level asymptotic; cost ZCDP(rho=0.1)",
        "  warning: small counts",
    ]
    assert str(TestResult(**(GOOD | NULL))).startswith(
        "projected GOF: inconclusive, so not rejected at 0.05: a count is below 5\n  n = 100"
    )


def test_it_is_frozen() -> None:
    found = TestResult(**GOOD)
    with pytest.raises(AttributeError):
        found.p_value = 0.5  # type: ignore[misc]
    with pytest.raises(TypeError):
        found.details["m"] = 3  # type: ignore[index]


def test_a_p_value_is_rounded_up_and_never_zero() -> None:
    found = TestResult(**(GOOD | {"p_value": 0.0}))
    assert found.p_value == 2.2250738585072014e-308
    assert "p = 0)" not in str(found)
