"""Theorem C, one step anywhere: `u(v, Y)` does not rise on average, from any posterior and for any question.

`u` has no closed form, so it is solved on a grid; the step is integrated exactly. The proof for whole analyses is this
step and optional stopping, so a wrong constant would show here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from scipy.linalg import solve_banded

Array = NDArray[np.float64]
NODES, WEIGHTS = hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def _solved(alpha: float, gamma: float, time: float, strike: float) -> Callable[[float], Callable[[Array], Array]]:
    """`u` for `psi(y) = (y - strike)_+` by the time left: Crank and Nicolson in `xi`, reflected at 0."""
    root = np.sqrt(gamma)
    end = np.arcsinh(root * np.sqrt(2)) / root + 6 * np.sqrt(alpha * time)
    count = int(min(6000, max(1500, end / (np.sqrt(alpha * time) / 50))))
    xi, h = np.linspace(0, end, count + 1, retstep=True)
    drift = -alpha * root / 2 * np.tanh(root * xi)
    above, below = alpha / (2 * h * h) + drift / (2 * h), alpha / (2 * h * h) - drift / (2 * h)
    middle = -(above + below)
    above[0] += below[0]
    above[-1] = below[-1] = middle[-1] = 0.0
    cells = [(np.sinh(root * np.abs(xi + h * k)) / root) ** 2 - strike for k in np.linspace(-0.5, 0.5, 11)]
    payoff = np.mean(np.maximum(cells, 0.0), axis=0)

    def at(left: float) -> Callable[[Array], Array]:
        value, steps = payoff.copy(), 100
        for k in range(steps):
            implicit = 1.0 if k < 2 else 0.5
            change = middle * value
            change[:-1] += above[:-1] * value[1:]
            change[1:] += below[1:] * value[:-1]
            band = np.zeros((3, count + 1))
            size = implicit * left / steps
            band[0, 1:], band[1], band[2, :-1] = -size * above[:-1], 1 - size * middle, -size * below[1:]
            value = solve_banded((1, 1), band, value + (1 - implicit) * left / steps * change)
        return lambda y: np.interp(np.arcsinh(root * np.sqrt(np.maximum(y, 0.0))) / root, xi, value)

    return at


def _after(law: Array, posterior: Array, f: Array, scale: float, u: Callable[[Array], Array]) -> float:
    """The mean of `u(Y)` after an answer `f(X) + scale Z`, exactly but for quadrature."""
    total = 0.0
    for x, chance in enumerate(posterior):
        seen = f[x] + scale * NODES
        log = -((seen[:, None] - f[None, :]) ** 2) / (2 * scale * scale)
        weight = posterior * np.exp(log - log.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        total += chance * float(WEIGHTS @ u(2 - 2 * np.sqrt(weight * law).sum(axis=1)))
    return total


def _worst(seed: int, plans: int, charged: float) -> float:
    """The largest relative rise of `u` over random plans, distributions, posteriors and questions that pay
    `charged`."""
    rng = np.random.default_rng(seed)
    worst = -np.inf
    for _ in range(plans):
        d0, e = float(rng.choice([0.05, 0.2, 0.5])), float(rng.choice([0.02, 0.1, 0.5]))
        horizon = float(10 ** rng.uniform(-3, -1.5))
        alpha = 1 + e / d0
        gamma = (1 / (d0 * e) + 1 / d0**2) / alpha
        if gamma * alpha * horizon > 2:
            continue
        strike = horizon * float(rng.choice([0.0, 1.0, 4.0]))
        share = float(rng.uniform(0.1, 0.9))
        at = _solved(alpha, gamma, horizon, strike)
        now, later = at(horizon), at(horizon * (1 - share))
        for _question in range(40):
            size = int(rng.integers(2, 5))
            law = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0]))) + 1e-9
            law /= law.sum()
            f = (rng.random(size) < 0.5).astype(float) if rng.random() < 0.7 else rng.random(size)
            d = float(np.sqrt(max(law @ f**2 - (law @ f) ** 2, 0.0)))
            scale = max(d, d0) / (2 * np.sqrt(horizon * share)) * np.sqrt(charged)
            posterior = law * np.exp(rng.normal(0, 1, size) * rng.choice([0.0, 0.1, 1.0, 3.0]))
            posterior /= posterior.sum()
            before = float(now(np.array([2 - 2 * np.sqrt(posterior * law).sum()]))[0])
            rise = _after(law, posterior, f, float(scale), later) - before
            worst = max(worst, rise / max(before, 1e-3 * horizon))
    return worst


def test_one_step_never_raises_the_potential() -> None:
    assert _worst(1, 40, 1.0) <= 2e-4  # the grid's own error


def test_half_the_charge_is_refuted() -> None:
    assert _worst(1, 40, 0.5) > 0.02
