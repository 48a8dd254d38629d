"""Many analyses of fresh samples by one analyst against one method: coverage, errors, and a plot of them.

Run i of a simulation draws the same rows for every method, so that two methods differ by their answers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.bounds.one_question import binomial_limits
from holdfast.core import arguments
from holdfast.core.processes import pool
from holdfast.noise import Seeded, Source
from holdfast.simulation.analysts.interview import Run
from holdfast.simulation.analysts.strategies import Analyse
from holdfast.simulation.answerers.base import Answerer, Design

LIMIT = 0.95
"""Confidence of the limits on a simulated coverage."""
_PARTS = 20
"""Parts of the work a process gets, one after the other, so that progress shows."""


@dataclass(frozen=True)
class Simulated:
    """What a number of runs amount to.

    `covered` counts the runs in which every interval held its truth; `claimed` is 0 when the method claims none, and
    then coverage is None. `coverage_low` and `coverage_high` are Clopper and Pearson's limits, one-sided each at 95%.
    `worst` and `largest` are the mean and the largest, over runs, of the worst error of a run. `used` is the largest
    share of an interval that any error used, measured on the error's side: above 1 exactly when an interval missed.
    """

    answerer: str
    certified: bool
    runs: int
    covered: int
    claimed: int
    asked: float
    refused: float
    failures: float
    mean_error: float
    worst: float
    largest: float
    half_width: float | None
    used: float | None
    extra: dict[str, float]

    @property
    def coverage(self) -> float | None:
        """Share of the runs in which every interval held."""
        return self.covered / self.runs if self.claimed else None

    @property
    def coverage_low(self) -> float | None:
        """Lower limit of the coverage, 95% one-sided."""
        return clopper_pearson(self.covered, self.runs)[0] if self.claimed else None

    @property
    def coverage_high(self) -> float | None:
        """Upper limit of the coverage, 95% one-sided."""
        return clopper_pearson(self.covered, self.runs)[1] if self.claimed else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "answerer": self.answerer,
            "certified": self.certified,
            "runs": self.runs,
            "covered": self.covered if self.claimed else None,
            "coverage": self.coverage,
            "coverage_low": self.coverage_low,
            "coverage_high": self.coverage_high,
            "half_width": self.half_width,
            "used": self.used,
            "mean_error": self.mean_error,
            "worst_error": self.worst,
            "largest_error": self.largest,
            "asked": self.asked,
            "refused": self.refused,
            "failures": self.failures,
            **self.extra,
        }


def clopper_pearson(count: int, trials: int, confidence: float = LIMIT) -> tuple[float, float]:
    """Exact lower and upper limits of a probability, each one-sided.

    Examples
    --------
    >>> [round(limit, 5) for limit in clopper_pearson(2000, 2000)]
    [0.9985, 1.0]
    """
    arguments.whole("count", count, at_least=0, at_most=trials)
    low, high = binomial_limits(np.array([count], dtype=np.float64), trials, left_to_chance(confidence))
    return float(low[0]), float(high[0])


def one_run(
    analyse: Analyse, make: Callable[[Design, Source], Answerer], design: Design, seed: int, number: int
) -> Run:
    """Run `number` of the simulation that starts from `seed`: rows and noise depend on nothing else."""
    rows, noise = np.random.SeedSequence([seed, number]).spawn(2)
    source = Seeded(int(noise.generate_state(1, np.uint64)[0]))
    return analyse(make(design, source), design, np.random.default_rng(rows))


def simulate(
    analyse: Analyse,
    make: Callable[[Design, Source], Answerer],
    design: Design,
    *,
    runs: int,
    seed: int = 1,
    name: str = "",
    certified: bool = True,
    look: Callable[[Run], Mapping[str, float]] | None = None,
    progress: Callable[[float], None] = lambda share: None,
    workers: int = 1,
) -> Simulated:
    """Let one analyst loose on one method, `runs` times, each time on a fresh sample.

    Parameters
    ----------
    analyse : callable
        `analyse(answerer, design, rng)` is one whole analysis; those of the library are in `analysts.ANALYSTS`.
    make : callable
        `make(design, source)` builds a fresh method; those of the library are in `answerers.answerers()`.
    design : Design
        Rows, questions, failures and confidence.
    runs : int
        How many analyses.
    seed : int
        Seed of the simulation. Run i sees the same rows whichever method is asked.
    name, certified
        What the result is called, and whether a theorem backs the intervals.
    look : callable, optional
        What else to measure of each run, by name; the means over the runs join `extra`.
    progress : callable
        Told the share of the runs that are done.
    workers : int
        Processes to use. The result does not depend on it; with more than one, what is handed over must pickle.

    Examples
    --------
    >>> from holdfast.simulation.analysts import analyst
    >>> from holdfast.simulation.answerers import answerer
    >>> design = Design(n=500, questions=200)
    >>> simulate(analyst("adversarial").run, answerer("naive").make, design, runs=20).coverage
    0.0
    """
    runs = arguments.whole("runs", runs, at_least=1, at_most=10**7)
    seed = arguments.whole("seed", seed, at_least=0)
    workers = arguments.whole("workers", workers, at_least=1, at_most=1024)
    done: list[dict[str, float]] = []
    size = max(1, math.ceil(runs / (_PARTS * workers)) if workers > 1 else 1)
    parts = [range(start, min(start + size, runs)) for start in range(0, runs, size)]
    for rows in _spread(partial(_some, analyse, make, design, seed, look), parts, workers):
        done += rows
        progress(len(done) / runs)
    table = {key: np.array([row[key] for row in done]) for key in done[0]}
    widths, used = table.pop("half_width"), table.pop("used")
    covered, claimed = int(table.pop("covered").sum()), int(table.pop("claimed").sum())
    largest = float(table["worst"].max())
    averages = {key: float(column.mean()) for key, column in table.items()}
    known = ("asked", "refused", "failures", "mean_error", "worst")
    return Simulated(
        answerer=name,
        certified=certified,
        runs=runs,
        covered=covered,
        claimed=claimed,
        largest=largest,
        half_width=None if np.isnan(widths).all() else float(np.nanmean(widths)),
        used=None if np.isnan(used).all() else float(np.nanmax(used)),
        extra={key: value for key, value in averages.items() if key not in known},
        **{key: averages[key] for key in known},
    )


def _some(
    analyse: Analyse,
    make: Callable[[Design, Source], Answerer],
    design: Design,
    seed: int,
    look: Callable[[Run], Mapping[str, float]] | None,
    numbers: range,
) -> list[dict[str, float]]:
    """The runs with these numbers, digested."""
    digests = []
    for number in numbers:
        run = one_run(analyse, make, design, seed, number)
        digests.append(_digest(run) | (dict(look(run)) if look else {}))
    return digests


def _spread(work: Callable[[range], list[Any]], parts: list[range], workers: int) -> Iterator[list[Any]]:
    """The parts' results in order, from `workers` processes."""
    if workers == 1 or len(parts) == 1:
        yield from map(work, parts)
        return
    with pool(workers) as processes:
        yield from processes.map(work, parts)


def _digest(run: Run) -> dict[str, float]:
    """What is kept of a run; its arrays are let go."""
    return {
        "covered": run.covered,
        "claimed": run.claimed,
        "asked": run.asked,
        "refused": run.refused,
        "failures": run.failures,
        "mean_error": run.mean_error,
        "worst": run.worst,
        "half_width": run.half_width,
        "used": run.used,
        **run.extra,
    }


CERTIFIED, NOT = "certified", "not certified"


def chart(found: Sequence[Simulated], title: str) -> Any:
    """Return a bar a method: the largest share of an interval that any error used, where 1 is the interval's end.

    The half-width stands next to it, because a wide interval is easily kept. Without intervals there is no bar.
    """
    import altair as alt

    rows = [
        {
            "answerer": result.answerer,
            "used": result.used,
            "kind": CERTIFIED if result.certified else NOT,
            "label": "no interval" if result.half_width is None else f"half-width {result.half_width:.3f}",
            "place": result.used or 0.0,
        }
        for result in found
    ]
    base = alt.Chart(alt.InlineData(values=rows), title=title).encode(
        y=alt.Y("answerer:N", sort=[result.answerer for result in found], title=None, axis=alt.Axis(labelLimit=300))
    )
    most = max([1.0, *(result.used for result in found if result.used is not None)])
    scale = alt.Scale(domain=[0, 1.25 * most])
    bars = base.mark_bar(height=12).encode(
        x=alt.X("used:Q", scale=scale, title="largest error, as a share of what its interval admits"),
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=[CERTIFIED, NOT], range=["#2a6f97", "#c1666b"]),
            legend=alt.Legend(orient="bottom"),
        ),
    )
    words = base.mark_text(align="left", dx=5, fontSize=10).encode(x=alt.X("place:Q", scale=scale), text="label:N")
    end = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_rule(strokeDash=[4, 4]).encode(x=alt.X("x:Q", scale=scale))
    return (bars + words + end).properties(width=560, height=26 * len(rows) + 20)
