"""Declarations that would promise too much if taken as they come: missing labels, shared times, odd classes."""

import math

import numpy as np
import pandas as pd
import pytest

from holdfast.bounds import correlated as bounds
from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.correlated import (
    BayesianAccountant,
    Blocks,
    CorrelatedThresholdout,
    DependentRows,
    IntervalChain,
    MarkovChain,
    ModelClass,
    Panel,
    certify,
)
from holdfast.correlated.blocks.colouring import Colouring, colour_quilts
from holdfast.correlated.chains.interval import move_interval
from holdfast.correlated.chains.markov import InhomogeneousChain
from holdfast.correlated.holdout.splits import check_split, split_groups, split_time
from holdfast.correlated.model import Quilt
from holdfast.correlated.series_model import Independent, Markov, MDependent
from holdfast.errors import InvalidParameter

NAN = float("nan")
METER = [[0.9, 0.1], [0.4, 0.6]]

missing = pytest.mark.parametrize(
    "labels",
    [
        [NAN, NAN, 1.0],
        np.array([NAN, NAN, 1.0]),
        np.array([NAN, 2.0, NAN], dtype=object),
        np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        pd.Series([1, None, 2]),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", pd.NA], dtype="string"),
        [None, None],
    ],
    ids=lambda labels: type(labels).__name__,
)


@missing
@pytest.mark.parametrize("take", [Blocks.of, split_groups, split_time])
def test_a_missing_label_is_no_group_of_its_own(labels, take):
    with pytest.raises(InvalidParameter, match="missing"):
        take(labels)


def test_check_split_refuses_missing_labels_too():
    with pytest.raises(InvalidParameter, match="missing"):
        check_split([0], [1], groups=np.array([NAN, NAN], dtype=object))


class TestTimes:
    frame = pd.DataFrame({"t": np.arange(400) // 100, "g": np.arange(400) % 40, "x": np.arange(400) % 2})

    @pytest.mark.parametrize("model", [Markov(METER), [0.5], MDependent(0)])
    def test_rows_of_one_time_are_no_chain(self, model):
        # 100 copies of each of four times: worth two rows in the holdout, not the 50 that 200 links of a chain are
        with pytest.raises(InvalidParameter, match="time must differ between the rows of a series"):
            Panel(self.frame, time="t", model=model)

    @pytest.mark.parametrize("model", [Markov(METER), [0.5], MDependent(1)])
    def test_neither_inside_a_group(self, model):
        with pytest.raises(InvalidParameter, match="time must differ between the rows of a group"):
            Panel(self.frame.assign(t=0), group="g", time="t", model=model)

    @pytest.mark.parametrize("model", [None, Independent()])
    def test_where_time_means_nothing_it_may_repeat(self, model):
        assert Panel(self.frame.assign(t=0), group="g", time="t", model=model, questions=3).certified

    def test_one_row_a_group_and_time_is_fine(self):
        frame = pd.DataFrame({"g": np.arange(400) // 10, "t": np.arange(400) % 10, "x": 0.5})
        assert Panel(frame, group="g", time="t", model=[0.5], questions=3).certified

    def test_missing_times_are_refused(self):
        with pytest.raises(InvalidParameter, match="time must have no missing values"):
            Panel(self.frame.assign(t=NAN), group="g", time="t")


def test_start_ratios_of_columns_multiply():
    one = DependentRows.autoregressive(100, 0.5, gap=1, last=1.2).routes["stationary chain by its gap"]
    two = DependentRows.autoregressive(100, 0.5, gap=1, last=[1.2, -0.7]).routes["stationary chain by its gap"]
    expected = math.exp((1.2**2 + 0.7**2) / 2) / (1 - 0.25)
    assert expected <= two.start_ratio <= expected * (1 + 1e-9)
    assert two.start_ratio > one.start_ratio
    with pytest.raises(InvalidParameter, match="last"):
        DependentRows.autoregressive(100, 0.5, gap=1, last="1.2")


class TestUnequalClasses:
    def test_equal_colours_never_promise_more_than_the_smallest_class(self):
        rng = np.random.default_rng(8)
        for _ in range(300):
            classes = rng.integers(0, rng.integers(1, 7), size=rng.integers(1, 60))
            found = Colouring(np.unique(classes, return_inverse=True)[1].astype(np.int64))
            n, colours = len(classes), found.equal_colours
            assert n // colours <= found.smallest
            assert colours >= found.colours
            # one colour fewer would promise a larger smallest class, or more colours than there are
            assert colours == found.colours or n // (colours - 1) > found.smallest
            room = 0.3
            true = sum(3 * math.exp(-2 * size * room**2) for size in found.sizes)
            assert true <= 3 * colours * math.exp(-2 * (n // colours) * room**2) * (1 + 1e-12)

    def test_a_star_has_one_class_of_one(self):
        # a hub whose nearby set is everything: floor(n/2) would be a fiction
        n = 40
        hub = Quilt(0, (), tuple(range(1, n)), 0.0, n)
        leaves = [Quilt(i, (), (0,), 0.0, 2) for i in range(1, n)]
        found = colour_quilts([hub, *leaves])
        assert (found.colours, found.smallest) == (2, 1)
        assert n // found.equal_colours == 1
        assert found.to_dict()["equal_colours"] == found.equal_colours


def test_the_certificate_of_a_run_names_the_surcharge_it_used():
    quilt = QuiltTerms(9, 1e-4, 1.5e-4, 5)
    run = CorrelatedThresholdout.plan(0.1, 100, 5, quilt=quilt)
    named = run.query_means(0.7, 0.71).guarantee.parameters
    asked = {key: named[key] for key in ("tau", "beta", "questions", "budget")}
    terms = {key: named[key] for key in ("blanket", "influence", "surcharge", "colours")}
    assert terms == {"blanket": 9, "influence": 1e-4, "surcharge": 1.5e-4, "colours": 5}
    assert bounds.holdout_size(**asked, **terms).n <= run.n < 1.01 * bounds.holdout_size(**asked, **terms).n
    assert bounds.holdout_size(**asked, **terms | {"surcharge": None}).n > bounds.holdout_size(**asked, **terms).n


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MarkovChain(np.array([[0.9 + 1j, 0.1], [0.4, 0.6]]), 5), "transition must be a square matrix"),
        (lambda: IntervalChain([[0.1, 0.2], [0.3]], METER, 5), "low must be a square matrix of numbers, got a list"),
        (lambda: IntervalChain(METER, "high", 5), "high must be a square matrix of numbers, got a str"),
        (lambda: IntervalChain(METER, METER, 5).contains("x"), "transition must be"),
        (lambda: InhomogeneousChain(None, [1.0]), "steps must be a list"),  # type: ignore[arg-type]
        (lambda: ModelClass([3]), "models must be a list of at least one model"),  # type: ignore[list-item]
        (lambda: ModelClass(None), "models must be a list of at least one model"),  # type: ignore[arg-type]
        (lambda: ModelClass(MarkovChain(METER, 5)), "models must be a list"),  # type: ignore[arg-type]
        (lambda: DependentRows.coloured(10, "x"), "colours must be a number"),  # type: ignore[arg-type]
        (lambda: DependentRows.stationary(10, "x"), "operator_norm must be a number"),  # type: ignore[arg-type]
        (lambda: DependentRows.stationary(10, 0.5, start_ratio="a"), "start_ratio must be"),  # type: ignore[arg-type]
        (lambda: DependentRows.groups([3, 4], 5), "inside must be a function"),  # type: ignore[arg-type]
        (lambda: CorrelatedThresholdout.plan(0.1, 9, 1, quilt=3), "quilt must be QuiltTerms"),  # type: ignore[arg-type]
        (lambda: bounds.plan_run(0.1, 0.05, 9, 1, []), "quilts must be a list of at least one"),
        (lambda: bounds.plan_run(0.1, 0.05, 9, 1, [3]), "quilts must be a list"),  # type: ignore[list-item]
        (lambda: BayesianAccountant(3, 1.0), "model must be a dependence model, got a int"),  # type: ignore[arg-type]
        (lambda: BayesianAccountant.from_state(Blocks([2]), {}), "state must be what"),
        (lambda: certify(3, epsilon_dp=1.0), "model must be a dependence model"),  # type: ignore[arg-type]
        (lambda: move_interval(1, 10, 1e-300), "level must be a number in"),
    ],
)
def test_what_is_no_declaration_is_refused_by_name(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()
