"""Correlated records: dependence models, Markov quilts, Bayesian differential privacy, and holdouts that know it.

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lazy import lazy

#: Each name and the module of this package that it lives in.
_HOME = {
    "CorrelatedThresholdout": "thresholdout",
    "DependenceModel": "model",
    "DependentHoldout": "holdout",
    "DependentRows": "dependent_rows",
    "MarkovChain": "chain",
    "Panel": "panel",
    "Quilt": "quilt",
    "QuiltModel": "model",
    "Split": "splitting",
    "check_split": "splitting",
    "split_groups": "splitting",
    "split_time": "splitting",
}

if TYPE_CHECKING:
    from holdfast.correlated.chain import MarkovChain
    from holdfast.correlated.dependent_rows import DependentRows
    from holdfast.correlated.holdout import DependentHoldout
    from holdfast.correlated.model import DependenceModel, QuiltModel
    from holdfast.correlated.panel import Panel
    from holdfast.correlated.quilt import Quilt
    from holdfast.correlated.splitting import Split, check_split, split_groups, split_time
    from holdfast.correlated.thresholdout import CorrelatedThresholdout


__getattr__, __dir__ = lazy(__name__, _HOME)

__all__ = [
    "CorrelatedThresholdout",
    "DependenceModel",
    "DependentHoldout",
    "DependentRows",
    "MarkovChain",
    "Panel",
    "Quilt",
    "QuiltModel",
    "Split",
    "check_split",
    "split_groups",
    "split_time",
]
