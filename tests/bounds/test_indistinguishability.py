"""Supporting lemmas, and the counterexamples that keep anyone from restoring the printed ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.bounds import finite_law
from holdfast.bounds.concentration import conditioning_failure, pointwise_failure
from holdfast.bounds.conversions import approx_to_pointwise
from holdfast.errors import InvalidParameter


def test_printed_conditioning_lemma_is_false() -> None:
    # T-06, Lemma A.7 as printed. Symbols: (z, in S) for z = t1, t2 and the rest t0.
    epsilon, delta, dhat = 0.5, 1.0000001e-6, 1e-3
    a = 1e-3 * (1 + 1e-8)
    heavy = math.exp(0.5) * 1e-3 * (1 - a)
    p = {"t1": (1e-3 * a, 1e-3 * (1 - a)), "t2": (0.0, heavy), "t0": (0.0, 1 - 1e-3 - heavy)}
    q = {"t1": (0.0, 1e-3), "t2": (1e-3 * a, 1e-3 * (1 - a)), "t0": (0.0, 1 - 2e-3)}
    flat = [np.array([v for z in ("t1", "t2", "t0") for v in law[z]]) for law in (p, q)]
    assert finite_law.is_indistinguishable(*flat, epsilon, delta)
    bad = 0.0
    for z in p:
        one, two = (np.array(law[z]) / sum(law[z]) for law in (p, q))
        bad += sum(p[z]) * (not finite_law.is_indistinguishable(one, two, 3 * epsilon, dhat))
    printed = 2 * delta / dhat + 2 * delta / -math.expm1(-epsilon)
    assert bad == pytest.approx(2.647e-3, rel=1e-3)
    assert bad > printed
    assert bad <= conditioning_failure(epsilon, delta, dhat)


def test_two_sided_reading_of_max_information_is_false() -> None:
    # T-07, Lemma A.6(1) as printed: a shared fair bit has one bit, yet joint and product are not (ln 2, 0)-close
    joint = np.array([[0.5, 0.0], [0.0, 0.5]])
    product = np.full((2, 2), 0.25)
    assert finite_law.max_information(joint) == pytest.approx(1)
    assert finite_law.hockey_stick(joint, product, math.log(2)) == pytest.approx(0)
    assert finite_law.hockey_stick(product, joint, math.log(2)) == pytest.approx(0.5)
    assert not finite_law.is_indistinguishable(joint, product, math.log(2), 0.0)


def random_pairs(seed: int, count: int):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        p = rng.dirichlet(np.full(8, 10 ** rng.uniform(-1, 1)))
        q = p * np.exp(rng.normal(0, 10 ** rng.uniform(-2, 0.3), size=8))
        yield p, q / q.sum()


def test_pointwise_failure_holds_on_random_laws() -> None:
    closest = 0.0
    for p, q in random_pairs(6, 2000):
        epsilon = 0.1
        delta = max(finite_law.hockey_stick(p, q, epsilon), finite_law.hockey_stick(q, p, epsilon))
        for s in (0.02, 0.1, 0.5):
            exact = finite_law.pointwise_delta(p, q, epsilon + s)
            assert exact <= pointwise_failure(epsilon, min(delta, 0.99), s) + 1e-9
            if delta > 1e-12:
                closest = max(closest, exact / pointwise_failure(epsilon, min(delta, 0.99), s))
        assert pointwise_failure(epsilon, delta) <= pointwise_failure(epsilon, delta, method="paper")
    assert closest > 0.5


def test_conditioning_holds_on_random_laws() -> None:
    rng = np.random.default_rng(7)
    for p, q in random_pairs(8, 1000):
        p, q = p.reshape(4, 2), q.reshape(4, 2)
        equal = bool(rng.random() < 0.5)
        if equal:
            q = q / q.sum(axis=1, keepdims=True) * p.sum(axis=1, keepdims=True)
        epsilon, dhat = 0.1, float(10 ** rng.uniform(-3, -0.5))
        delta = max(finite_law.hockey_stick(p, q, epsilon), finite_law.hockey_stick(q, p, epsilon))
        factor = 1 if equal else 3
        bad = 0.0
        for one, two in zip(p, q, strict=True):
            bad += one.sum() * (
                not finite_law.is_indistinguishable(one / one.sum(), two / two.sum(), factor * epsilon, dhat)
            )
        assert bad <= conditioning_failure(epsilon, min(delta, 0.99), dhat, "equal" if equal else "different") + 1e-9


def test_values() -> None:
    epsilon, delta, dhat = 0.5, 1e-6, 1e-3
    by_hand = (1 + math.exp(0.5)) * 1e-3 + delta + 2 * delta / -math.expm1(-0.5)
    assert conditioning_failure(epsilon, delta, dhat) == pytest.approx(by_hand, rel=1e-12)
    assert conditioning_failure(0.5, 0.0, 0.1) == 0
    assert conditioning_failure(800.0, 1e-310, 0.5) == 1  # e^800 1e-310 is far above 1
    assert pointwise_failure(0.1, 1e-6, method="paper") == approx_to_pointwise(0.1, 1e-6).delta
    for s in (0.1, math.nan):
        with pytest.raises(InvalidParameter, match="s must"):
            pointwise_failure(0.1, 1e-6, s=s, method="paper")
