"""Thresholdout as Figure 1 of Dwork et al. prints it, in the experiment that their figures ran without its budget.

The questions `x_i * y` are unbounded, so no sensitivity is true of them; as in the paper's own run the noise is scaled
as if one row moved a mean by 1/n. Nothing is certified here: by Theorem 25 the budget that 10,000 rows afford is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.holdout.thresholdout import Thresholdout
from holdfast.noise import Seeded
from holdfast_papers.dwork.analyst import KS, Answerer, Floats, Run, Setting, analyse
from holdfast_papers.dwork.law import LawSample
from holdfast_papers.registry import Check, Progress, Table


@dataclass(frozen=True)
class Variant:
    """Laplace scale and budget, `None` for one that cannot run out; what our notes recorded without signal."""

    sigma: float
    budget: int | None
    recorded_over: int | None = None

    @property
    def name(self) -> str:
        """Words for the table."""
        return f"sigma {self.sigma:g}, " + ("no budget" if self.budget is None else f"budget {self.budget}")


VARIANTS = (Variant(0.01, None, 1862), Variant(0.0025, None, 340), Variant(0.01, 500), Variant(0.0025, 100))


def laplace_thresholdout(setting: Setting, variant: Variant, seed: int) -> Answerer:
    """Figure 1 with threshold `4/sqrt(n)`; a run asks d attributes and `len(KS)` accuracies of the same holdout."""
    budget = setting.d + len(KS) if variant.budget is None else variant.budget
    threshold = 4 / math.sqrt(setting.n)
    holdout = Thresholdout(setting.n, threshold, variant.sigma, budget, sensitivity=1 / setting.n, source=Seeded(seed))

    def answers(train: Floats, means: Floats) -> Floats:
        return holdout.query_batch(train, means).values

    return answers


def laplace_table(setting: Setting, count: int, seed: int, progress: Progress) -> tuple[Table, list[Check]]:
    """Each variant `count` times by exact distribution: what is told at k = 500, and whether anything is told at
    all.
    """
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for i, variant in enumerate(VARIANTS):
        runs: list[Run] = []
        for r in range(count):
            progress((i + r / count) / len(VARIANTS), f"Figure 1, {variant.name}")
            rng = np.random.default_rng([seed, i, r, setting.signal])
            answerer = laplace_thresholdout(setting, variant, int(rng.integers(2**62)))
            runs.append(analyse(LawSample(setting, rng), answerer))
        answered = float(np.mean([np.count_nonzero(~np.isnan(run.reported)) for run in runs]))
        over = float(np.mean([run.over for run in runs]))
        told = [run.reported[-1] for run in runs if not math.isnan(run.reported[-1])]
        rows.append(
            {
                "Figure 1 with": variant.name,
                "attributes over threshold": round(over, 1),
                "recorded, no signal": variant.recorded_over,
                "accuracies answered of 12": answered,
                "told, k=500": round(float(np.mean(told)), 5) if told else None,
                "holdout, k=500": round(float(np.mean([run.accuracy["holdout"][-1] for run in runs])), 5)
                if told
                else None,
                "population, k=500": round(float(np.mean([run.true[-1] for run in runs])), 5) if told else None,
            }
        )
        if variant.budget is None:
            # The median: with comparison noise Lap(0.04) a run in fifty tells the training value, far off.
            gap = abs(float(np.median(told)) - float(np.mean([run.true[-1] for run in runs])))
            name = f"Figure 1, {variant.name}: told within 4 points of the truth in most runs"
            near = Check(name, gap < 0.04, f"median {gap:.4f} off")
            checks.append(near)
        else:
            gone = Check(
                f"Figure 1, {variant.name}: nothing left for the accuracies", answered == 0, f"{over:.0f} spent"
            )
            checks.append(gone)
    title = f"Thresholdout as printed (Laplace, kept threshold noise, budget), {count} runs each by exact distribution"
    return Table("figure-1", title, tuple(rows[0]), tuple(rows)), checks


__all__ = ["VARIANTS", "Variant", "laplace_table", "laplace_thresholdout"]
