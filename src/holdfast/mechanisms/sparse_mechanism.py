"""What the sparse-vector mechanisms share: how a run begins, and how many runs are simulated at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy.typing as npt

from holdfast.mechanisms.sparse_run import Rules, SparseAnswers, SparseRun, replicate
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid
from holdfast.noise.integers import fits_vector


class SparseMechanism:
    """Public rules of a sparse-vector run (`sparse_run.Rules`); the secret state is in the run."""

    threshold: float
    grid: Grid | None

    @cached_property
    def place(self) -> tuple[Grid, int]:
        """The grid and the index of the public threshold on it."""
        assert self.grid is not None
        return self.grid, self.grid.near_index(self.threshold, "threshold")

    def _check_reach(self: Rules) -> None:
        """Refuse at construction what batches could not draw or compare, so that single questions and batches agree."""
        for scale in self.noises[1:]:
            if scale is not None:
                fits_vector("noise scale", scale)
        _ = self.place

    def start(self: Rules, source: Source | None = None) -> SparseRun:
        """Begin a run; questions are then asked one by one or in batches. The run spends `cost`, whatever happens."""
        return SparseRun(self, source)

    def resume(self: Rules, state: dict[str, Any], source: Source | None = None) -> SparseRun:
        """Continue a run from its `secret_state()`."""
        return SparseRun.resume(self, state, source)

    def release(self: Rules, values: npt.ArrayLike, source: Source | None = None) -> SparseAnswers:
        """Answer a batch of questions in a run of its own.

        Parameters
        ----------
        values : array of float
            The exact statistics, in order.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return SparseRun(self, source).ask_all(values)

    def replicate(self: Rules, values: npt.ArrayLike, runs: int, source: Source | None = None) -> npt.NDArray[Any]:
        """Transcripts of many independent runs, for simulations and audits; see `sparse_run.replicate`."""
        return replicate(self, values, runs, source)


__all__ = ["SparseMechanism"]
