"""Measured levels of the local tests of independence: the tables of docs/errata/private-tests.md and local-tests.md.

python -m tests.inference.private_tests.local.levels [trials] [tables]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from holdfast.inference.private_tests import local
from holdfast.inference.private_tests.classical import chi_square_critical
from holdfast.inference.private_tests.local.fit import fit
from holdfast.inference.private_tests.minimum_chi_square import _minimise
from holdfast.inference.private_tests.null_models import Independence
from holdfast.mechanisms.local import BitFlip, OneHotGaussian, OneHotLaplace, RandomizedResponse

ALPHA = 0.05
BOUNDARY = [((0.5, 0.5), 5000), ((0.02, 0.1), 2000), ((0.02, 0.02), 500), ((0.001, 0.001), 2000)]


def randomizers(d: int, epsilon: float) -> list[Any]:
    return [
        RandomizedResponse(d, epsilon),
        BitFlip(d, epsilon),
        OneHotGaussian(d, epsilon**2 / 2),
        OneHotLaplace(d, epsilon),
    ]


def printed_minimum(sums: np.ndarray, n: int, randomizer: Any, model: Independence) -> np.ndarray:
    """The objective of Algorithm 19 minimised among margins without negative entries, as printed."""
    channel = local.channel_of(randomizer)
    first = fit(sums, n, channel, model).first
    white = channel.whitening(model.probabilities(first), n)
    return _minimise((channel.debiased(sums, n) / n)[:, None, :], first, white, model)[1]


def two_by_two(margins: tuple[float, float]) -> np.ndarray:
    return np.outer([margins[0], 1 - margins[0]], [margins[1], 1 - margins[1]]).ravel()


def boundary(trials: int, seed: int = 3) -> Iterator[tuple[Any, int, list[float], list[float]]]:
    """Margins, n, the levels of the printed search and of ours, for the four randomizers at epsilon 1."""
    rng, model = np.random.default_rng(seed), Independence(2, 2)
    for margins, n in BOUNDARY:
        printed, ours = [], []
        for randomizer in randomizers(4, 1.0):
            sums = local.simulate_sums(n, two_by_two(margins), randomizer, trials, rng)
            found = printed_minimum(sums, n, randomizer, model)
            printed.append(float((found > chi_square_critical(1, ALPHA)).mean()))
            ours.append(float(local.general_batch(sums, n, model, randomizer).mean()))
        yield margins, n, printed, ours


class Setting(NamedTuple):
    """One random table."""

    randomizer: Any
    model: Independence
    p: np.ndarray
    n: int


def random_settings(count: int, rng: np.random.Generator) -> list[Setting]:
    """Tables of up to 5 by 5 with margins from flat to spiky, any randomizer, 50 to 20,000 people."""
    found: list[Setting] = []
    while len(found) < count:
        r, c = (int(side) for side in rng.integers(2, 6, 2))
        rows, columns = (rng.dirichlet(np.full(k, rng.choice([0.5, 1, 5]))) for k in (r, c))
        epsilon, n = float(rng.choice([0.25, 0.5, 1, 2, 4, 6])), int(rng.choice([50, 200, 1000, 5000, 20_000]))
        p = np.outer(rows, columns).ravel()
        randomizer = randomizers(r * c, epsilon)[int(rng.integers(4))]
        if p.min() > 1e-9 and n * local.channel_of(randomizer).scale(p).min() >= 1:
            found.append(Setting(randomizer, Independence(r, c), p, n))
    return found


def level(setting: Setting, trials: int, rng: np.random.Generator, alpha: float = ALPHA) -> float:
    sums = local.simulate_sums(setting.n, setting.p, setting.randomizer, trials, rng)
    return float(local.general_batch(sums, setting.n, setting.model, setting.randomizer, alpha=alpha).mean())


def search(count: int, screen: int, confirm: int, seed: int = 11) -> list[tuple[float, Setting]]:
    """The three highest levels of a screen, measured again with fresh draws: the maximum of a screen is biased."""
    rng = np.random.default_rng(seed)
    settings = random_settings(count, rng)
    worst = sorted(settings, key=lambda s: -level(s, screen, rng))[:3]
    return [(level(s, confirm, rng), s) for s in worst]


def main(trials: int = 40_000, tables: int = 400) -> None:
    for margins, n, printed, ours in boundary(trials):
        print(margins, n, "printed", *(f"{x:.3f}" for x in printed), "ours", *(f"{x:.3f}" for x in ours))
    for found, setting in search(tables, 2000, trials):
        print(f"{found:.4f} {setting.model} {setting.randomizer} n = {setting.n}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
