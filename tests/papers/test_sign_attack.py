"""The attacks on Theorem D's schedule, reduced: violations as promised, and versions that must fail.

A version that keeps its promise fails these tests with probability at most 1e-6 (`allowed`).
"""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.bounds import interval
from holdfast_papers.widths.sign_attack import allowed, attack, power


def test_violations_are_as_promised_at_a_thousand_rows() -> None:
    width = interval.sign_comparison(1000, 100, 0.05)
    assert width.schedule is not None
    found = attack(1000, width.schedule.sigmas(), 400, 1)
    assert found.violations(width.half_width) <= allowed(400)
    # the test has power against a half-width that is wrong: half of it is left far more often
    assert found.violations(width.half_width / 2) > allowed(400)


def test_plain_means_and_little_noise_fail_at_ten_thousand_rows() -> None:
    width = interval.sign_comparison(10_000, 1000, 0.05)
    assert width.schedule is not None
    sigmas = width.schedule.sigmas()
    runs = 8
    planned = attack(10_000, sigmas, runs, 2)
    little = attack(10_000, 0.3 * sigmas, runs, 3)
    plain = attack(10_000, 0.0 * sigmas, runs, 4)
    assert planned.violations(width.half_width) <= allowed(runs)
    assert plain.violations(width.half_width) == runs > allowed(runs)
    assert little.worst.mean() > 1.2 * planned.worst.mean()
    assert plain.by_attack["posterior mean"].mean() == pytest.approx(power(10_000, 997), rel=0.05)


def test_truths_are_one_half() -> None:
    """With so much noise that nothing is learnt, the attacking questions err like any other."""
    found = attack(400, np.concatenate([np.full(27, 1e3), np.zeros(3)]), 300, 5)
    for errors in found.by_attack.values():
        assert errors.mean() < 0.03
