"""What every stateful method promises, whichever it is: answers that name a theorem, a repr that keeps secrets, one
copy, and wrong input that spends nothing."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.bounds.registry import catalogue
from holdfast.cli.main import run
from holdfast.core.guarantee import Guarantee
from holdfast.core.strict_json import to_json
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.holdout import GaussianThresholdout, MedianMechanism, RejectionCompressor
from holdfast.inference import (
    AfterLooking,
    FilteredAnswers,
    GaussianAnswers,
    LaplaceAnswers,
    LowSensitivityAnswers,
    MinimisationAnswers,
    OpenAnswers,
    SmallVarianceAnswers,
    SplitAnswers,
    ThresholdAnswers,
    choose,
    online,
    products,
)
from holdfast.noise import Seeded

N = 3571
#: Its mean is a number that nothing public is near to.
ROWS = np.random.default_rng(20).random(N) < 0.7312
MEAN = float(ROWS.mean())
SOME = np.arange(N) % 100 == 17
BAD = np.where(SOME, 5.0, ROWS)
NAN = np.where(SOME, np.nan, ROWS)


class Subject(NamedTuple):
    """How to make one, ask it, and ask it wrongly: what is passed, and the parameter that the error must name."""

    make: Callable[[], Any]
    ask: Callable[[Any], Any]
    wrong: tuple[tuple[Callable[[Any], Any], str], ...]
    again: Callable[[Any], Any] | None = None


def _mean(make: Callable[[], Any]) -> Subject:
    return Subject(
        make,
        lambda it: it.mean(ROWS),
        (
            (lambda it: it.mean(BAD), "values"),
            (lambda it: it.mean(NAN), "values"),
            (lambda it: it.mean(ROWS[:-1]), "values"),
            (lambda it: it.mean(ROWS, low=1.0, high=0.0), "low"),
            (lambda it: it.mean(ROWS, low=np.nan), "low"),
        ),
    )


def _guess(make: Callable[[], Any]) -> Subject:
    return Subject(
        make,
        lambda it: it.query_values(0.2, ROWS),
        (
            (lambda it: it.query_values(0.2, ROWS[:-1]), "holdout_values"),
            (lambda it: it.query_values(0.2, NAN), "holdout_values"),
            (lambda it: it.query_values(np.nan, ROWS), "candidate"),
        ),
    )


SUBJECTS: dict[str, Subject] = {
    "ReusableHoldout": Subject(
        lambda: hf.ReusableHoldout(N, questions=50, failures=3),
        lambda it: it.check(ROWS, guess=0.2),
        (
            # Values that are missing or out of range are charged: tests/holdout/test_charged_refusals.py.
            (lambda it: it.check(ROWS[:-1], guess=0.2), "holdout_values"),
            (lambda it: it.check(ROWS, guess=1.2), "guess"),
            (lambda it: it.check(ROWS, guess=0.2, tolerance=0.0), "tolerance"),
            (lambda it: it.check(ROWS, guess=0.2, family="t"), "family"),
            (lambda it: it.claim(ROWS[:-1], at_least=0.2), "values"),
            (lambda it: it.compare(ROWS[:-1], ROWS), "values_b"),
        ),
    ),
    "Thresholdout": _guess(lambda: hf.Thresholdout(N, threshold=0.04, sigma=0.002, budget=3)),
    "Thresholdout, certified": _guess(
        lambda: hf.Thresholdout.plan(tau=0.9, questions=3, budget=1, confidence=0.8, n=N, method="single-threshold")
    ),
    "GaussianThresholdout": _guess(lambda: GaussianThresholdout(N)),
    "GaussianThresholdout, certified": _guess(lambda: GaussianThresholdout(N, questions=10)),
    "SparseValidate": Subject(
        lambda: hf.SparseValidate(ROWS, questions=50, budget=3),
        lambda it: it.query(lambda rows: rows.mean() > 0.5),
        ((lambda it: it.query(None), "validation"),),
        again=lambda state: hf.SparseValidate.from_state(state, ROWS),
    ),
    "Ladder": Subject(
        lambda: hf.Ladder(N, submissions=20),
        lambda it: it.submit(ROWS),
        ((lambda it: it.submit(BAD), "values"), (lambda it: it.submit(ROWS[:-1]), "values")),
    ),
    "Ladder, parameter-free": Subject(
        lambda: hf.Ladder(N, submissions=20, mode="parameter-free"),
        lambda it: it.submit(ROWS),
        ((lambda it: it.submit(NAN), "values"),),
    ),
    "MedianMechanism": Subject(
        lambda: MedianMechanism([N - int(ROWS.sum()), int(ROWS.sum())], questions=10, tau=0.3),
        lambda it: it.query([0, 1]),
        ((lambda it: it.query([0, 2]), "values"), (lambda it: it.query([0, 1, 1]), "values")),
    ),
    "GaussianAnswers": _mean(lambda: GaussianAnswers(N, 10, 0.95)),
    "OpenAnswers": _mean(lambda: OpenAnswers(N, 0.95)),
    "ThresholdAnswers": _mean(lambda: ThresholdAnswers(N, 10, 0.95)),
    "GaussianAnswers, published": _mean(lambda: GaussianAnswers(N, 10, 0.95, method="jung")),
    "LaplaceAnswers": _mean(lambda: LaplaceAnswers(N, 10, 0.95)),
    "FilteredAnswers": _mean(lambda: FilteredAnswers(N, 10, 0.95)),
    "SmallVarianceAnswers": _mean(lambda: SmallVarianceAnswers(N, 10, 0.95, level=0.05)),
    "SplitAnswers": _mean(lambda: SplitAnswers(N, 3, 0.95)),
    "LowSensitivityAnswers": Subject(
        lambda: LowSensitivityAnswers(N, 10, 0.95, sensitivity=2 / N),
        lambda it: it.statistic(MEAN, 0.0, 1.0),
        ((lambda it: it.statistic(np.nan), "value"), (lambda it: it.statistic(MEAN, 0.9, 1.0), "value")),
    ),
    "MinimisationAnswers": Subject(
        lambda: MinimisationAnswers(N, 10, candidates=4, confidence=0.95),
        lambda it: it.minimise([MEAN, 0.9]),
        ((lambda it: it.minimise([MEAN, np.nan]), "losses"), (lambda it: it.minimise([MEAN] * 5), "losses")),
    ),
}
each = pytest.mark.parametrize("name", SUBJECTS)


def _digits(text: str) -> bool:
    """Whether a text shows the exact mean, or what is left of 1, to three digits or more, rounded or cut off."""
    return any(start in text for x in (MEAN, 1 - MEAN) for start in (f"{x:.3f}", f"{x:.9f}"[:5]))


def _known(guarantee: Guarantee) -> bool:
    """A theorem of the catalogue; "none" where nothing is certified, as for the experimental Thresholdout."""
    return guarantee.theorem in catalogue() or (guarantee.theorem == "none" and not guarantee.certified)


@each
def test_an_answer_is_frozen_data_that_names_its_theorem(name: str) -> None:
    subject = SUBJECTS[name]
    answer = subject.ask(subject.make())
    assert dataclasses.is_dataclass(answer)
    assert answer.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert _known(answer.guarantee)
    assert answer.guarantee.assumption
    plain = json.loads(to_json(answer.to_dict()))
    assert plain["guarantee"]["theorem"] == answer.guarantee.theorem
    assert {"value", "interval", "passed", "cost", "remaining", "guarantee"} <= set(plain)
    assert str(answer)


def test_other_results_name_their_theorems_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = [AfterLooking(N).correct(0.01), AfterLooking(N).record(PureDP(0.01)).plan()]
    theorems = [correction.guarantee.theorem for correction in found]
    theorems.append(choose(products([[1.0, -1.0], [1.0, 1.0]], [1.0, 1.0]), 1.0, source=Seeded(1)).guarantee.theorem)
    theorems += [row.theorem for row in hf.plan(n=N, questions=20, failures=2).methods]
    theorems += [s.ask(s.make()).guarantee.theorem for s in SUBJECTS.values()]
    assert theorems.count("none") == 1
    assert run(["bound", "--json"]) == 0
    listed = {entry["id"] for entry in json.loads(capsys.readouterr().out)["theorems"]}
    assert listed == set(catalogue())
    assert set(theorems) - {"none"} <= listed


@each
def test_nothing_shows_an_exact_mean(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not the repr before or after a question, not an error, not a log line."""
    subject = SUBJECTS[name]
    with caplog.at_level(logging.DEBUG):
        it = subject.make()
        shown = [repr(it)]
        subject.ask(it)
        shown += [repr(it), str(it)]
        for wrong, _ in subject.wrong:
            with pytest.raises(InvalidParameter) as caught:
                wrong(it)
            shown.append(f"{caught.value} {caught.value.__cause__}")
    assert not any(_digits(text) for text in [*shown, *caplog.messages])


def test_the_check_for_shown_means_sees_one() -> None:
    assert _digits(f"mean {MEAN}")
    assert _digits(f"{1 - MEAN:.4f}")
    assert not _digits(repr(hf.ReusableHoldout(N)))


@each
def test_no_repr_shows_a_noisy_threshold_or_a_generator(name: str) -> None:
    """Whatever the stored form holds beyond the plan and counts does not stand in the repr."""
    subject = SUBJECTS[name]
    it = subject.make()
    subject.ask(it)
    state, shown = it.state(), repr(it)
    for secret in ("noisy_threshold", "source", "losses", "counts", "shown", "leader"):
        held = state.get(secret, state.get("parameters", {}).get(secret))
        if held is not None and held not in (0, 1):
            assert str(held) not in shown


@each
def test_there_is_one_copy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = SUBJECTS[name]
    it = subject.make()
    subject.ask(it)
    with pytest.raises(TypeError, match=r"state\(\) and from_state\(\)"):
        pickle.dumps(it)
    if name == "ReusableHoldout":  # its callers copy it, as scikit-learn does: the copy is the run itself
        assert copy.copy(it) is it
        assert copy.deepcopy(it) is it
    else:
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            copy.deepcopy(it)
    again = subject.again or type(it).from_state
    state = it.state()
    assert again(json.loads(json.dumps(state))).state() == state
    monkeypatch.setattr("holdfast.core.copying.os.getpid", lambda: -1)
    with pytest.raises(QuestionRefused, match="fork"):
        subject.ask(it)


@each
def test_wrong_input_names_the_parameter_and_spends_nothing(name: str) -> None:
    subject = SUBJECTS[name]
    it = subject.make()
    for asked in range(2):
        before = it.state()
        for wrong, parameter in subject.wrong:
            with pytest.raises(InvalidParameter, match=rf"^{parameter}\b"):
                wrong(it)
            assert it.state() == before
        if not asked:
            subject.ask(it)


@pytest.mark.parametrize(
    "public",
    [
        AfterLooking(N).record(PureDP(0.01)),
        online.Saffron(0.05),
        online.LordPlusPlus(0.05),
        online.Addis(0.05),
        online.AlphaSpending(0.05),
        RejectionCompressor([0.5, 0.5], [0.25, 0.75], 0.05),
    ],
    ids=lambda it: type(it).__name__,
)
def test_what_holds_no_rows_may_be_pickled(public: Any) -> None:
    """Records of what was run and streams of decisions are public: pickling them gives nothing away."""
    twin = pickle.loads(pickle.dumps(public))
    assert repr(twin) == repr(public)


def test_scores_are_not_pickled() -> None:
    with pytest.raises(TypeError, match="not stored"):
        pickle.dumps(products([[1.0], [-1.0]], [1.0, 1.0]))
