"""What every width shares: input checks, flags, plain data, the catalogue's view."""

from __future__ import annotations

import json
import math
import pickle

import pytest

from holdfast.bounds import catalogue, interval, lookup
from holdfast.bounds.interval.planning import METHODS
from holdfast.errors import InvalidParameter

IDS = [
    "interval.splitting",
    "interval.dfh",
    "interval.bns",
    "interval.russo-zou",
    "interval.russo-zou-kl",
    "interval.jung",
    "interval.posterior-shift",
    "interval.scheduled",
    "interval.sign-comparison",
    "interval.sign-comparison-independent",
    "interval.best",
]
GAUSSIAN_ONLY = ["russo-zou", "russo-zou-kl", "xu-raginsky", "posterior-shift", "scheduled", "sign-comparison"]


@pytest.mark.parametrize("id", [*IDS, "interval.non-adaptive", "interval.xu-raginsky"])
def test_ids_take_the_contract_parameters(id: str) -> None:
    entry = lookup(id)
    assert [p.name for p in entry.parameters][:4] == ["n", "questions", "beta", "noise"]
    noise = entry.parameters[3]
    assert noise.choices == ("gaussian", "laplace")
    assert noise.default == "gaussian"
    plain = entry.evaluate(n=5000, questions=50, beta=0.05).to_dict()
    assert plain["unit"] == "half-width"
    assert 0 < plain["value"] < math.inf
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "bad",
    [
        {"n": 0},
        {"n": 2.5},
        {"n": [1]},
        {"questions": 0},
        {"questions": -3},
        {"beta": 0},
        {"beta": 1},
        {"beta": float("nan")},
        {"noise": "uniform"},
    ],
)
def test_wrong_input(method: str, bad: dict[str, object]) -> None:
    good = {"n": 1000, "questions": 10, "beta": 0.05, "noise": "gaussian"}
    with pytest.raises(InvalidParameter, match=next(iter(bad))):
        METHODS[method](**(good | bad))


@pytest.mark.parametrize("method", GAUSSIAN_ONLY)
def test_laplace_is_refused_where_no_proof_covers_it(method: str) -> None:
    with pytest.raises(InvalidParameter, match="noise must be gaussian"):
        METHODS[method](1000, 10, 0.05, "laplace")


def test_splitting_needs_a_row_a_question() -> None:
    with pytest.raises(InvalidParameter, match="questions"):
        interval.splitting(10, 11, 0.05)
    assert interval.best(10, 11, 0.05).method == "interval.scheduled"


def test_flags() -> None:
    for method, function in METHODS.items():
        width = function(10_000, 50, 0.05)
        assert width.certified == (method != "non-adaptive")
        assert width.vacuous == (width.half_width >= 0.5)
        assert width.guarantee.certified == width.certified
        assert str(width)
        assert pickle.loads(pickle.dumps(width)) == width
    assert not interval.dfh(10_000, 50, 0.05, method="paper").certified
    assert interval.dfh(10_000, 50, 0.05, "laplace", "paper").certified
    assert not interval.splitting(10_000, 50, 0.05, method="paper").certified
    assert "not certified" in str(interval.non_adaptive(10_000, 50, 0.05))
    assert "no guarantee" in str(interval.dfh(100, 50, 0.05))


def test_clipping_is_required_exactly_where_the_proof_uses_it() -> None:
    assert {m for m, f in METHODS.items() if f(10_000, 50, 0.05).clip} == {"bns", "jung"}


def test_unknown_method_is_one_line() -> None:
    with pytest.raises(InvalidParameter, match="method must be one of"):
        interval.max_questions(1000, 0.1, 0.05, method="magic")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="method must be one of"):
        interval.jung(1000, 10, 0.05, method="magic")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="information must be one of"):
        interval.russo_zou(1000, 10, 0.05, information="magic")  # type: ignore[arg-type]


def test_default_never_exceeds_the_printed_form() -> None:
    for n, k, beta in [(200, 5, 0.2), (6400, 640, 0.05), (100_000, 30, 1e-3), (10**6, 10**5, 0.01)]:
        for function, printed in [
            (interval.bns, "optimised"),
            (interval.bns, "paper"),
            (interval.russo_zou, "sum"),
            (interval.russo_zou, "paper"),
            (interval.russo_zou_kl, "paper"),
            (interval.xu_raginsky, "paper"),
            (interval.jung, "exact"),
            (interval.jung, "paper"),
        ]:
            assert function(n, k, beta).half_width <= function(n, k, beta, method=printed).half_width * (1 + 1e-9)


def test_catalogue_lists_them() -> None:
    assert set(IDS) <= set(catalogue())


def test_inverses_know_the_law_of_the_rows() -> None:
    """Fewer questions fit, and more rows are needed, where rows are not promised to be identically distributed."""
    alike, other = (interval.max_questions(5000, 0.1, 0.05, rows=rows) for rows in ("identical", "independent"))
    assert alike.width is not None
    assert other.width is not None
    assert other.value < alike.value
    assert "identically distributed" in alike.width.assumption
    assert "rows independent and identically distributed" in str(alike)
    assert other.method == "interval.sign-comparison-independent"
    assert "identically" not in str(other)
    assert "identically" not in other.to_dict()["assumption"]
    fewer, more = (interval.required_n(20, 0.1, 0.05, rows=rows) for rows in ("identical", "independent"))
    assert fewer.value < more.value
    assert more.width is not None
    assert more.width.half_width <= 0.1
    named = interval.max_questions(5000, 0.1, 0.05, "sign-comparison", rows="independent")
    assert named.method == "interval.sign-comparison-independent"
    for method in ("splitting", "jung", "bns"):
        with pytest.raises(InvalidParameter, match="method"):
            interval.required_n(2, 0.1, 0.05, method, rows="independent")
    # a part of the rows need not be like the rest, so splitting is for one question alone
    assert interval.best(1000, 1, 0.05, rows="independent").method == "interval.splitting"
    assert interval.best(1000, 2, 0.05).method == "interval.splitting"
    assert interval.best(1000, 2, 0.05, rows="independent").method != "interval.splitting"
    assert "splitting" not in interval.best_rounds(10_000, 20, 0.05, 2, rows="independent").method
