"""Panels and series as data frames: split, checked, asked."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

from holdfast.bounds.one_question import kl
from holdfast.correlated import DependentRows, Panel
from holdfast.correlated.holdout.reusable import DependentMean, PresentMean
from holdfast.correlated.series_model import Autoregressive, Independent, Mixing
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter, QuestionRefused
from holdfast.holdout.questions import Guess
from holdfast.noise import Seeded


def table(groups: int = 400, k: int = 6, seed: int = 1) -> dict[str, np.ndarray]:
    """Persons with a trait of their own, seen `k` times; shuffled."""
    rng = np.random.default_rng(seed)
    trait = rng.random(groups) < 0.4
    seen = trait[:, None] ^ (rng.random((groups, k)) < 0.1)
    order = rng.permutation(groups * k)
    return {
        "person": np.repeat([f"p{i:04d}" for i in range(groups)], k)[order],
        "wave": np.tile(np.arange(k), groups)[order],
        "ill": seen.ravel()[order],
        "cost": (rng.random((groups, k)) * 80 * seen).ravel()[order],
    }


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": lambda data: pl.DataFrame(data).lazy()}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_answers(kind: str) -> None:
    def answers(frame: Any) -> list[Any]:
        panel = Panel(frame, source=Seeded(5), group="person", time="wave", values=["ill", "cost"], questions=10)
        found = [
            panel.ask("ill"),
            panel.ask(lambda rows: rows["cost"] / 80, guess=0.15),
            panel.ask("cost", low=0, high=80),
            panel.claim("ill", at_most=0.7),
        ]
        assert panel.certified
        assert panel.transcript == tuple(found)
        return [answer.to_dict() for answer in found]

    assert answers(FRAMES[kind](table())) == answers(pd.DataFrame(table()))


def test_public_part_has_its_own_people() -> None:
    data = pd.DataFrame(table())
    panel = Panel(data, source=Seeded(5), group="person", questions=3, share=0.25)
    public = panel.public
    assert isinstance(public, pd.DataFrame)
    assert len(public) == 1800
    assert public.groupby("person").size().eq(6).all()
    assert panel.rows.effective_n == 100
    assert repr(panel) == "Panel(1800 public rows, 600 holdout rows worth 100 independent ones: 0 of 3 questions asked)"
    assert "no value columns" in str(panel.report)


def test_guess_is_the_public_mean() -> None:
    panel = Panel(pl.DataFrame(table()), source=Seeded(5), group="person", questions=3)
    answer = panel.ask("ill")
    assert answer.passed
    assert answer.value == pytest.approx(panel.public["ill"].mean())
    assert answer.guarantee.certified


def test_a_weaker_declaration_is_wider() -> None:
    data = pd.DataFrame(table())
    blocks = Panel(data, source=Seeded(5), group="person", questions=3).rows
    series = Panel(data, source=Seeded(5), group="person", time="wave", model=Autoregressive(0.5), questions=3).rows
    rows = Panel(data, source=Seeded(5), group="person", model=Independent(), questions=3).rows
    assert blocks.effective_n < series.effective_n < rows.effective_n


def test_a_refuted_model_is_refused() -> None:
    """People differ for good, so rows inside a group are not independent: the public part says so."""
    settings: dict[str, Any] = {"group": "person", "time": "wave", "values": ["ill"], "model": Independent()}
    data = pd.DataFrame(table())
    with pytest.raises(GuaranteeUnavailable, match=r"refute the model.*lag"):
        Panel(data, source=Seeded(5), questions=3, **settings)
    panel = Panel(data, source=Seeded(5), questions=3, misfit="uncertified", **settings)
    answer = panel.ask("ill")
    assert not answer.guarantee.certified
    assert "refute" in answer.guarantee.assumption
    assert panel.transcript == (answer,)


def test_shocks_that_all_share_are_refused() -> None:
    data = table()
    shock = np.array([0.0, 3.0, -2.0, 1.0, 0.0, -1.0])[data["wave"]]
    data["mood"] = shock + np.random.default_rng(2).standard_normal(len(shock))
    with pytest.raises(GuaranteeUnavailable, match="groups move together in time"):
        Panel(pd.DataFrame(data), source=Seeded(5), group="person", time="wave", values=["mood"])


def test_questions_that_look_at_other_rows_are_refused() -> None:
    panel = Panel(pd.DataFrame(table()), source=Seeded(5), group="person", questions=3)
    for question in (
        lambda rows: (rows["cost"] - rows["cost"].mean()).abs() / 80,
        lambda rows: rows["ill"].shift(fill_value=False),
        lambda rows: rows["cost"].rank(pct=True),
    ):
        with pytest.raises(QuestionRefused, match="from that row alone"):
            panel.ask(question)
    assert panel.remaining["questions"] == 3


def test_a_series_is_cut_in_time() -> None:
    rng = np.random.default_rng(3)
    steps = rng.random(6000) < 0.2
    walk = np.bitwise_xor.accumulate(steps)
    order = rng.permutation(6000)
    frame = pl.DataFrame({"t": np.arange(6000)[order], "on": walk[order]})
    panel = Panel(frame, source=Seeded(5), time="t", values=["on"], model=Mixing((0.6,)), gap=5, questions=4)
    assert panel.public["t"].max() == 2995
    route = next(iter(panel.rows.routes.values()))
    assert 0 < route.bias < 1e-3
    answer = panel.ask("on")
    assert answer.interval is not None
    assert answer.interval[0] < 0.5 < answer.interval[1]
    assert "5 after the last training row" in answer.guarantee.assumption
    with pytest.raises(GuaranteeUnavailable, match="for one series declare a model that forgets"):
        Panel(frame, source=Seeded(5), time="t")


def test_state_round_trip() -> None:
    data = pd.DataFrame(table())
    panel = Panel(data, source=Seeded(5), group="person", time="wave", values=["ill"], questions=5)
    panel.ask("ill", key="ill")
    state = json.loads(json.dumps(panel.state()))
    twin = Panel.from_state(state, data)
    assert twin.state() == panel.state()
    assert twin.ask("ill", key="ill") == panel.transcript[0]
    assert twin.public.equals(panel.public)
    with pytest.raises(InvalidParameter, match="same table"):
        Panel.from_state(state, data[:100])
    with pytest.raises(InvalidParameter, match="state"):
        Panel.from_state({"format": 1}, data)
    with pytest.raises(InvalidParameter, match="state must have the format 1, got 99"):
        Panel.from_state(state | {"format": 99}, data)
    with pytest.raises(TypeError, match="state"):
        pickle.dumps(panel)


@pytest.mark.parametrize("misfit", [False, True])
def test_the_end_shows_every_answer_exactly(misfit: bool) -> None:
    """With the half-width of its own share, and marked as the answers were; also after a hand-over with secrets."""
    data = pd.DataFrame(table())
    odd: dict[str, Any] = {"model": Independent(), "misfit": "uncertified", "values": ["ill"], "time": "wave"}
    panel = Panel(data, source=Seeded(5), group="person", questions=5, **(odd if misfit else {}))
    shown = [panel.ask("ill"), panel.ask("ill", guess=0.9), panel.ask("cost", low=0, high=80)]
    assert [answer.passed for answer in shown] == [True, False, True]
    held = data.drop(panel.public.index)
    twin = Panel.from_state(json.loads(json.dumps(panel.state(secrets=True))), data)
    assert "exact" not in json.dumps(panel.state()["run"])
    for one in (panel, twin):
        exact = one.close()
        for was, now, column in zip(shown, exact, ("ill", "ill", "cost"), strict=True):
            assert now.value == pytest.approx(held[column].mean(), abs=1e-9)
            assert was.interval[0] <= now.interval[0] <= now.value <= now.interval[1] <= was.interval[1]
            assert now.half_width < was.half_width
            assert now.guarantee.certified is not misfit
        with pytest.raises(BudgetExhausted):
            one.ask("ill")
    assert exact[0].half_width == pytest.approx(
        panel.rows.narrowest(_share(shown[0])).half_width(_share(shown[0])), rel=0.1
    )


def _share(answer: Any) -> float:
    return float(answer.guarantee.parameters["log_share"])


def test_budget() -> None:
    panel = Panel(pd.DataFrame(table()), source=Seeded(5), group="person", questions=1)
    panel.ask("ill")
    with pytest.raises(BudgetExhausted):
        panel.ask("ill")


@pytest.mark.parametrize(
    "changes",
    [
        {"group": None},
        {"group": "nobody"},
        {"time": "never", "values": ["ill"]},
        {"values": ["nothing"]},
        {"share": 0.0},
        {"level": 0.0},
        {"misfit": "ignore"},
        {"model": [2.0]},
        {"questions": 0},
    ],
)
def test_wrong_declarations(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Panel(pd.DataFrame(table(20)), source=Seeded(5), **({"group": "person"} | changes))


def test_wrong_questions_cost_nothing() -> None:
    panel = Panel(pd.DataFrame(table()), source=Seeded(5), group="person", questions=2)
    for ask in (
        lambda: panel.ask("nothing"),
        lambda: panel.ask(3),  # type: ignore[arg-type]
        lambda: panel.ask("cost"),
        lambda: panel.ask(lambda rows: [1.0]),
        lambda: panel.ask("ill", low=1, high=0),
        lambda: panel.ask("ill", guess=2.0),
    ):
        with pytest.raises(InvalidParameter):
            ask()
    assert panel.remaining["questions"] == 2
    with pytest.raises(InvalidParameter, match="data frame"):
        Panel([1, 2, 3], group="person")


def test_an_error_on_the_holdout_shows_no_row() -> None:
    panel = Panel(pd.DataFrame(table()), source=Seeded(5), group="person", questions=3)
    public = set(panel.public["person"])

    def quotes(rows: Any) -> Any:
        strangers = [name for name in rows["person"] if name not in public]
        if strangers:
            raise ValueError(strangers[0])
        return rows["ill"]

    with pytest.raises(QuestionRefused, match="raised ValueError on the holdout") as caught:
        panel.ask(quotes)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "p0" not in str(caught.value)
    assert panel.remaining["questions"] == 3


def with_gaps(frame: str, part: float = 0.25) -> Any:
    """The same people, with values missing in a part of the rows: twice as often for the ill."""
    data, rng = table(), np.random.default_rng(9)
    gone = rng.random(len(data["ill"])) < np.where(data["ill"], 2 * part, part)
    data["cost"] = np.where(gone, np.nan, data["cost"])
    ill = [None if absent else bool(one) for one, absent in zip(data["ill"], gone, strict=True)]
    return FRAMES[frame](data | {"ill": ill})


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_values_mean_what_is_said(kind: str) -> None:
    frame = with_gaps(kind)
    panel = Panel(frame, source=Seeded(5), group="person", time="wave", questions=20)
    for question in ("ill", lambda rows: rows["cost"] / 80):
        with pytest.raises(InvalidParameter, match=r"where_present=True .* default=NUMBER .* nothing was spent"):
            panel.ask(question)
    assert panel.remaining["questions"] == 20
    data = table()
    known = np.array([one is not None for one in with_gaps("polars")["ill"].to_list()])
    among, zeros = float(data["ill"][known].mean()), float((data["ill"] & known).mean())
    present = panel.ask("ill", where_present=True, tolerance=0.35)
    assert present.interval[0] <= among <= present.interval[1]
    counted = panel.ask("ill", default=0)
    assert counted.interval[0] <= zeros <= counted.interval[1]
    assert panel.claim("ill", at_least=0.1, where_present=True).passed
    assert panel.ask("cost", low=0, high=80, default=0).passed
    with pytest.raises(InvalidParameter, match="must not both be given"):
        panel.ask("ill", default=0, where_present=True)
    with pytest.raises(InvalidParameter, match="give low and high, the range that is known without looking"):
        panel.ask("cost", where_present=True)


def test_a_share_among_present_rows_of_blocks_holds_where_a_careless_one_does_not() -> None:
    """Ill blocks lose half of their rows. The rate of misses is at most 5%, up to a chance of 1e-6 in 400 runs."""
    rng, misses, careless = np.random.default_rng(11), 0, 0
    rows = DependentRows.blocks([10] * 40)
    for _ in range(400):
        ill = np.repeat(rng.random(40) < 0.4, 10)
        here = rng.random(400) < np.where(ill, 0.4, 0.8)
        truth = 0.4 * 0.4 / (0.4 * 0.4 + 0.6 * 0.8)
        question = DependentMean("check", "auto", None, 0.0, 1.0, False, 400, rows)
        decide = PresentMean(question, ill.astype(float), here).decide(Guess(0.99, 0.1, True, 0.002))
        outcome = decide(math.log(0.05))
        assert outcome.interval is not None
        misses += not outcome.interval[0] <= truth <= outcome.interval[1]
        low, high = kl(float(ill[here].mean()), int(here.sum()), math.log(0.05))  # as if rows were independent
        careless += not low <= truth <= high
    assert misses <= binom.ppf(1 - 1e-6, 400, 0.05) < careless


def test_a_value_that_only_a_row_of_the_holdout_lacks_is_no_refusal() -> None:
    """An error there would tell, for nothing, that the holdout has such a row."""
    frame = pl.DataFrame({"who": list(range(4000)), "x": [0.5] * 4000})

    def lacking(rows: Any) -> Any:
        return np.where(np.asarray(rows["who"]) == hidden, np.nan, 0.5)

    hidden = -1
    probe = Panel(frame, group="who", questions=5, source=Seeded(3))
    hidden = int(np.asarray(frame["who"])[probe._split.holdout][0])
    assert probe.ask(lacking, guess=0.5).passed
    assert probe.ask(lacking, guess=0.5, where_present=True).passed
    assert probe.claim(lacking, at_least=0.4).passed


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_function_says_what_is_missing_where_only_the_holdout_has_gaps(missing: float | None) -> None:
    """Values that only the holdout lacks counted as the least one, and the answer was certified."""
    rng = np.random.default_rng(1)
    late = [missing if t > 1100 and rng.random() < 0.5 else 0.9 for t in range(2000)]
    frame = pl.DataFrame({"t": list(range(2000)), "x": late})
    panel = Panel(frame, time="t", model=Independent(), questions=5)
    with pytest.raises(InvalidParameter, match="values can be missing"):
        panel.ask(lambda rows: rows["x"].to_numpy(), guess=0.9)
    among = panel.ask(lambda rows: rows["x"].to_numpy(), guess=0.9, where_present=True)
    assert among.interval[0] <= 0.9 <= among.interval[1]
