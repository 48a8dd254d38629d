"""A child process: dead is not slow, and thread pools of the parent do not lock it."""

import os
import time

import numpy as np
import pytest

from holdfast.coherence.failures import CuratorFailed, isolated


def test_a_dead_child_is_not_taken_for_a_slow_one_where_another_holds_its_pipe():
    """A process that the child left behind, or one forked next to it by another thread, keeps its pipe open."""

    def dies():
        if os.fork() == 0:
            time.sleep(12)
            os._exit(0)
        os._exit(7)

    with pytest.raises(CuratorFailed, match="ended unexpectedly, with exit status 7"):
        isolated(dies, (), 10.0)


def test_a_child_may_use_the_thread_pools_that_its_parent_used():
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier(max_iter=5)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(3000, 4)), rng.integers(0, 2, 3000)
    expected = boosting.fit(x, y).predict(x)
    found = isolated(lambda: boosting.fit(x, y).predict(x), (), 60.0, "learner")
    np.testing.assert_array_equal(found, expected)
