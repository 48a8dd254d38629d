"""The agent's loop: its truth is the population's, its reduced run passes its checks, and the checks can fail."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.engines.numpy_sample import NumPySample
from holdfast.data.statistics import FixedSum
from holdfast_papers.registry import Outcome, Settings
from holdfast_papers.reuse import agent_loop
from holdfast_papers.reuse.agent_loop import Population, Told, climb, plain, right, run, score


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(Settings(quick=True, seed=1))


def test_the_truth_is_what_many_rows_say() -> None:
    rng = np.random.default_rng(5)
    people = Population(40)
    rows = people.draw(400_000, rng)
    for labels in (people.chances > 0.5, rng.random(40) < 0.5, np.zeros(40, dtype=bool)):
        # 5.5 standard errors: a true claim fails with probability 4e-8, three of them with 1.2e-7
        assert abs(score(labels, rows) - people.truth(labels)) < 5.5 * 0.5 / np.sqrt(400_000)
    # the same test sees a truth that is off by one half of a per cent
    assert abs(score(labels, rows) - people.truth(labels) - 0.005) > 5.5 * 0.5 / np.sqrt(400_000)


@pytest.mark.parametrize("labels", [np.zeros(40, dtype=bool), np.arange(40) % 3 == 0, np.ones(40, dtype=bool)])
def test_the_expression_is_the_score(labels: agent_loop.Labels) -> None:
    rows = Population(40).draw(3_000, np.random.default_rng(2))
    sample = NumPySample.open({"segment": rows.segment, "label": rows.label})
    from holdfast.data.expressions import expression

    found = sample.measure([FixedSum(expression(right(labels), sample.schema), 0.0, 1.0, 0.0)])[0][0]
    assert found / 2**30 / 3_000 == pytest.approx(score(labels, rows), abs=1e-12)


def test_the_reduced_run_passes_its_checks_and_repeats(outcome: Outcome) -> None:
    assert [check.name for check in outcome.checks if not check.passed] == []
    assert outcome.passed
    assert run(Settings(quick=True, seed=1)).to_dict() == outcome.to_dict()
    summary = {row["score"]: row for row in outcome.tables[0].rows}
    assert summary["plain"]["gap"] > 0.05
    assert abs(summary["guarded"]["gap"]) < 0.03
    assert summary["guarded"]["missed"] == 0
    assert outcome.chart is not None
    assert outcome.chart().to_dict()["facet"]


def test_a_plain_score_without_reuse_is_honest() -> None:
    """The gap comes from looking again: an optimiser that never keeps anything believes what is true."""
    people = Population(100)
    rows = people.draw(2_000, np.random.default_rng(3))
    first = plain(people, 1, np.random.default_rng(4), rows).end
    assert first.believed.holds(first.true)
    flattered = plain(people, 100, np.random.default_rng(4), rows).end
    assert not flattered.believed.holds(flattered.true)


def test_what_is_kept_is_scored_again_when_guesses_were_off() -> None:
    heard: list[int] = []

    def tell(labels: agent_loop.Labels) -> Told:
        heard.append(int(labels.sum()))
        return Told(0.5, 0.0, 1.0, off=len(heard) == 3)

    done = climb(Population(20), 4, np.random.default_rng(1), tell)
    assert done.asked == 6
    assert done.off == 1
    assert heard[3] == heard[0]
