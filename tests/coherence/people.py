"""People made up for audits: a unique key, an age, a number, a town, and an illness that the number foretells."""

import numpy as np

from holdfast.coherence import Target

ILL = Target("ill = 1")


def people(n=600, seed=1):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2)).round(2)
    return {
        "key": rng.permutation(n),
        "age": rng.integers(0, 90, n),
        "z": z[:, 0],
        "town": np.array(["A", "B", "C"])[rng.integers(0, 3, n)],
        "ill": (rng.random(n) < 1 / (1 + np.exp(-z[:, 0]))).astype(int),
    }
