"""How often intervals of grouped and other private questions miss the population and the rows, over simulated samples.

    python -m benchmarks.grouped_coverage [RUNS]

Every run draws a fresh sample from a population whose truth is known and asks one guard for the shares, means and
medians of groups, a median, a correlation, a difference of two groups, the most frequent category and a count. Prints,
for each and for all of them together, in how many of 500 runs an interval misses, and in how many the wrong version
does: the interval about the rows, taken for one about the population. It must miss far more often than 5%. The interval
about the rows is compared with the exact value of the rows too, which it misses in at most 5% of the runs, and an
interval of a quarter of its width far more often.
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


def of_rows(group: np.ndarray, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The exact answers about some rows, in the units of the intervals about them."""
    counts = {name: int((group == at).sum()) for at, name in enumerate(NAMES)}
    inside = {name: x[group == at] for at, name in enumerate(NAMES)}
    return {
        "share of groups": counts,
        "means of groups": {name: float(one.mean()) for name, one in inside.items()},
        "medians of groups": {
            name: float(np.quantile(one, 0.5, method="inverted_cdf")) for name, one in inside.items()
        },
        "quantile": float(np.quantile(x, 0.5, method="inverted_cdf")),
        "correlation": float(np.corrcoef(x, y)[0, 1]),
        "difference": float(inside["c"].mean() - inside["a"].mean()),
        "most frequent": counts,
        "count": float((x < 30).mean()),
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


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A fresh sample of the population: the groups and both numbers."""
    group = rng.choice(3, ROWS, p=PARTS)
    x = rng.uniform(0, 1, ROWS) * np.array(TOPS)[group]
    return group, x, x / 2 + rng.uniform(0, 20, ROWS)


def pairs(interval: Any, truth: Any) -> Iterator[tuple[float, float, float]]:
    """Each end of an interval with the truth that it is about."""
    if isinstance(truth, Mapping):
        for label, value in truth.items():
            if interval is not None and label in interval:
                yield (*interval[label], value)
    elif interval is not None:
        yield (*interval, truth)


def misses(runs: int, seed: int = 5) -> dict[str, tuple[int, int, int, int]]:
    """For each kind, in how many runs an interval misses.

    About the population, the wrong version of that, about the rows, and the wrong version of that.
    """
    rng, exact, questions = np.random.default_rng(seed), truths(), asked()
    found = {name: [0, 0, 0, 0] for name in [*questions, "all together"]}
    for _ in range(runs):
        group, x, y = drawn(rng)
        guard = Guard.open(None, hf.data.table({"g": np.array(NAMES)[group], "x": x, "y": y}), POLICY)
        exact_rows, in_run = of_rows(group, x, y), [False] * 4
        for name, question in questions.items():
            answer = guard.ask(question)
            rows = (answer.details.get("about_rows") or {}).get("interval")
            about = list(pairs(rows, exact_rows[name]))
            if name in ("share of groups", "most frequent") and rows is not None:
                rows = {label: [end / ROWS for end in ends] for label, ends in rows.items()}
            missed = any(not low <= truth <= high for low, high, truth in pairs(answer.interval, exact[name]))
            missed = missed or any(label != "a" for label in answer.details.get("certain", ()))  # "a" is most frequent
            wrong = any(not low <= truth <= high for low, high, truth in pairs(rows, exact[name]))
            of_run = missed, wrong, outside(about, 1.0), outside(about, 0.25)
            found[name] = [sum(both) for both in zip(found[name], of_run, strict=True)]
            in_run = [any(both) for both in zip(in_run, of_run, strict=True)]
        found["all together"] = [sum(both) for both in zip(found["all together"], in_run, strict=True)]
    return {name: (one[0], one[1], one[2], one[3]) for name, one in found.items()}


def outside(cells: list[tuple[float, float, float]], part: float) -> bool:
    """Whether any truth is outside the middle part of its interval."""
    return any(abs(truth - (low + high) / 2) > part * (high - low) / 2 + 1e-9 for low, high, truth in cells)


def main() -> None:
    """Print how often."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for name, (missed, wrong, rows, narrow) in misses(runs).items():
        print(
            f"{name}: {missed} of {runs} runs miss; about the rows, taken for the population: {wrong}; "
            f"about the rows, next to the rows: {rows}; of a quarter of the width: {narrow}"
        )


if __name__ == "__main__":
    main()
