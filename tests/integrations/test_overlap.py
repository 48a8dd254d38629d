"""Whether two tables lie in the same memory: arrays, frames and sparse matrices; False where it cannot be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from holdfast.integrations.sklearn.metric import overlap

TABLE = np.arange(60.0).reshape(20, 3)
ENTRIES = sparse.csr_array(TABLE)
FRAME = pd.DataFrame(TABLE)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (TABLE, TABLE, True),
        (TABLE[:10], TABLE[9:], True),
        (TABLE[:10], TABLE[10:], False),
        (TABLE, TABLE.copy(), False),
        (FRAME, FRAME[5:], True),
        (FRAME[:5], FRAME[5:], False),
        (FRAME[0], FRAME[5:], True),
        (FRAME, FRAME.iloc[:, :0], False),
        (ENTRIES, sparse.csr_array((ENTRIES.data, ENTRIES.indices, ENTRIES.indptr), shape=(20, 3)), True),
        (ENTRIES, ENTRIES.copy(), False),
        (ENTRIES, sparse.lil_array(TABLE), False),
        ([[1.0]], TABLE, False),
        (TABLE, None, False),
    ],
)
def test_shared_memory_is_seen_both_ways(first: Any, second: Any, shared: bool) -> None:
    assert overlap(first, second) is shared
    assert overlap(second, first) is shared


def test_one_and_the_same_object_is_shared_whatever_it_is() -> None:
    rows = [[1.0], [2.0]]
    assert overlap(rows, rows)
    assert not overlap(rows, [[1.0], [2.0]])
