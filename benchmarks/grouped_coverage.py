"""How often intervals of grouped and other private questions miss the population, over simulated samples.

    python -m benchmarks.grouped_coverage [RUNS]

Every run draws a fresh sample from a population whose truth is known and asks one guard for the shares, means and
medians of groups, a median, a correlation, a difference of two groups, the most frequent category and a count. Prints,
for each and for all of them together, in how many of 500 runs an interval misses, and in how many the wrong version
does: the interval about the rows, taken for one about the population. It must miss far more often than 5%.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.guard import Guard, Policy
from holdfast.guard.questions.base import Question

ROWS = 8000
NAMES = ["a", "b", "c"]
PARTS = [0.5, 0.3, 0.2]
TOPS = [60.0, 80.0, 100.0]
"""Values are uniform from 0 to these in the groups; the second number is half of the first, and noise."""
COLUMNS: dict[str, Any] = {
    "g": {"categories": NAMES},
    "x": {"low": 0, "high": 100},
    "y": {"low": 0, "high": 100},
}
SPEND = PureDP(0.125)
POLICY = Policy(questions=8, privacy=PureDP(1.0), spend=SPEND, columns=COLUMNS)


def asked() -> dict[str, Question]:
    """Every kind, once."""
    make = hf.guard
    return {
        "share of groups": make.table(["g"]),
        "means of groups": make.table(["g"], "x"),
        "medians of groups": make.table(["g"], "x", q=0.5),
        "quantile": make.quantile("x", 0.5),
        "correlation": make.correlation("x", "y"),
        "difference": make.difference("x", by="g", between=["c", "a"]),
        "most frequent": make.top("g", k=1),
        "count": make.mean("x < 30"),
    }


def truths() -> dict[str, Any]:
    """The same of the population, in closed form."""
    means = [top / 2 for top in TOPS]
    mean = float(np.dot(PARTS, means))
    square = float(np.dot(PARTS, [top * top / 3 for top in TOPS]))
    spread = square - mean * mean
    noise = 20.0**2 / 12
    below = sum(part * 30 / top for part, top in zip(PARTS, TOPS, strict=True))
    median = 0.5 / sum(p / top for p, top in zip(PARTS, TOPS, strict=True))
    return {
        "share of groups": dict(zip(NAMES, PARTS, strict=True)),
        "means of groups": dict(zip(NAMES, means, strict=True)),
        "medians of groups": dict(zip(NAMES, means, strict=True)),
        "quantile": median,
        "correlation": 0.5 * spread / (spread * (0.25 * spread + noise)) ** 0.5,
        "difference": means[2] - means[0],
        "most frequent": dict(zip(NAMES, PARTS, strict=True)),
        "count": below,
    }


def sample(rng: np.random.Generator) -> hf.data.Sample:
    """A fresh sample of the population."""
    group = rng.choice(3, ROWS, p=PARTS)
    x = rng.uniform(0, 1, ROWS) * np.array(TOPS)[group]
    y = x / 2 + rng.uniform(0, 20, ROWS)
    return hf.data.table({"g": np.array(NAMES)[group], "x": x, "y": y})


def pairs(interval: Any, truth: Any) -> Iterator[tuple[float, float, float]]:
    """Each end of an interval with the truth that it is about."""
    if isinstance(truth, Mapping):
        for label, value in truth.items():
            if interval is not None and label in interval:
                yield (*interval[label], value)
    elif interval is not None:
        yield (*interval, truth)


def misses(runs: int, seed: int = 5) -> dict[str, tuple[int, int]]:
    """For each kind: runs in which an interval misses, and in which the wrong version does."""
    rng, exact, questions = np.random.default_rng(seed), truths(), asked()
    found = {name: [0, 0] for name in [*questions, "all together"]}
    for _ in range(runs):
        guard = Guard.open(None, sample(rng), POLICY)
        any_missed = any_wrong = False
        for name, question in questions.items():
            answer = guard.ask(question)
            rows = (answer.details.get("about_rows") or {}).get("interval")
            if name in ("share of groups", "most frequent") and rows is not None:
                rows = {label: [end / ROWS for end in ends] for label, ends in rows.items()}
            missed = any(not low <= truth <= high for low, high, truth in pairs(answer.interval, exact[name]))
            missed = missed or any(label != "a" for label in answer.details.get("certain", ()))  # "a" is most frequent
            wrong = any(not low <= truth <= high for low, high, truth in pairs(rows, exact[name]))
            found[name][0] += missed
            found[name][1] += wrong
            any_missed, any_wrong = any_missed or missed, any_wrong or wrong
        found["all together"][0] += any_missed
        found["all together"][1] += any_wrong
    return {name: (missed, wrong) for name, (missed, wrong) in found.items()}


def main() -> None:
    """Print how often."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for name, (missed, wrong) in misses(runs).items():
        print(f"{name}: {missed} of {runs} runs miss; about the rows, taken for the population: {wrong}")


if __name__ == "__main__":
    main()
