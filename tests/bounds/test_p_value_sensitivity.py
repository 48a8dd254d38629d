"""p-values are sensitive statistics."""

from __future__ import annotations

import math

import numpy as np

from holdfast.bounds.low_sensitivity import bns_deviation
from holdfast.bounds.p_value import sensitivity_floor


def test_p_values_are_out_of_reach_of_bns() -> None:
    # under the theorem's own conditions the radius for a p-value is at least 11
    rng = np.random.default_rng(1)
    for _ in range(200):
        epsilon = rng.uniform(0.001, 1 / 3)
        delta = epsilon / 4 * 10 ** rng.uniform(-12, -1e-9)
        n = math.ceil(math.log(4 * epsilon / delta) / epsilon**2)
        assert bns_deviation(epsilon, delta, n, sensitivity_floor(n)).radius > 11.09 * 0.3737 / 0.37 * 0.99
    assert sensitivity_floor(10, 0.08397) > sensitivity_floor(10)
