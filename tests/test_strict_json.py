from __future__ import annotations

import json
import math

import numpy as np

from holdfast.strict_json import to_json


def test_infinity_is_strict_json_that_reads_as_infinity() -> None:
    text = to_json({"up": math.inf, "down": [-math.inf], "name": "inf"})
    assert "Infinity" not in text
    assert json.loads(text) == {"up": math.inf, "down": [-math.inf], "name": "inf"}


def test_numpy_scalars_and_big_integers() -> None:
    assert json.loads(to_json({"a": np.float64(0.5), "b": np.int64(3), "c": 10**30})) == {"a": 0.5, "b": 3, "c": 10**30}
