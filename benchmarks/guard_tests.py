"""Under which policies a test through a guard finds a planted association, and how often it rejects without one.

    python -m benchmarks.guard_tests [RUNS]

Each run draws rows, opens a guard, and asks one test of independence of two columns of two values. The association is
the difference between the rates of the two groups. Prints a table; about five minutes for 200 runs on one core.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import QuestionRefused
from holdfast.guard import Guard, Policy, test


@dataclass(frozen=True)
class Setting:
    """Rows, a policy's cap, what the test spends, and the rates of the two groups."""

    n: int
    cap: float
    spend: float
    rates: tuple[float, float]


SETTINGS = [
    Setting(200_000, 0.005, 0.00125, (0.5, 0.5)),
    Setting(200_000, 0.005, 0.00125, (0.44, 0.56)),
    Setting(50_000, 0.01, 0.0025, (0.38, 0.62)),
    Setting(50_000, 0.01, 0.005, (0.44, 0.56)),
    Setting(10_000, 0.02, 0.01, (0.38, 0.62)),
    Setting(50_000, 0.1, 0.1, (0.3, 0.7)),
    Setting(50_000, 0.1, 0.02, (0.1, 0.9)),
    Setting(50_000, 0.02, 0.005, (0.42, 0.58)),
]
"""The first two are the policy of the steward's tutorial, without and with an association."""


def measure(setting: Setting, runs: int, seed: int = 1) -> tuple[dict[str, object] | None, float]:
    """What the estimate said, None where the test is refused, and the rate of rejections."""
    question = test("independence", ["arm", "well"], categories=[["drug", "none"], [0, 1]])
    policy = Policy(privacy=PureDP(setting.cap), spend=PureDP(setting.spend), questions=100)
    rejected = 0
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        arm = rng.integers(0, 2, setting.n)
        well = rng.random(setting.n) < np.array(setting.rates)[arm]
        columns = {"arm": np.array(["drug", "none"])[arm], "well": well.astype(np.int64)}
        guard = Guard.open(None, hf.data.table(columns, engine="numpy"), policy)
        said = guard.estimate(question)
        try:
            rejected += bool(guard.ask(question).details["rejected"])
        except QuestionRefused:
            return None, 0.0
    assert said.test is not None
    return dict(said.test), rejected / runs


def main(runs: int) -> None:
    """Print the table."""
    print(f"{'rows':>8}{'cap':>7}{'spent':>9}  {'rates':12}{'level':>9}  {'method':24}{'certified':11}rejected")
    for setting in SETTINGS:
        said, rate = measure(setting, runs)
        rates = f"{setting.rates[0]:g}, {setting.rates[1]:g}"
        head = f"{setting.n:>8}{setting.cap:>7g}{setting.spend:>9g}  {rates:12}"
        if said is None:
            print(head + "  refused: no rows could make it reject")
        else:
            certified = "yes" if said["certified"] else "no"
            print(head + f"{said['level']:>9.2g}  {said['method']:24}{certified:11}{rate:.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
