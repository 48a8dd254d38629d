"""Correlated records: dependence models, Markov quilts, Bayesian differential privacy, and holdouts that know it.

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

#: Each name and the module of this package that it lives in.
_HOME = {
    "BayesianAccountant": "bayesian_privacy",
    "Blocks": "blocks.blocks",
    "Certificate": "bayesian_privacy",
    "Colouring": "blocks.colouring",
    "CorrelatedThresholdout": "holdout.thresholdout",
    "DependenceModel": "model",
    "DependentHoldout": "holdout.reusable",
    "DependentRows": "holdout.dependent_rows",
    "GaussianField": "fields.gaussian",
    "HiddenChain": "chains.windows",
    "InhomogeneousChain": "chains.markov",
    "IntervalChain": "chains.interval",
    "Ising": "networks.ising",
    "ListedModel": "model",
    "MarkovChain": "chains.markov",
    "ModelClass": "model",
    "Network": "networks.network",
    "OrderChain": "chains.windows",
    "Overview": "model_overview",
    "Panel": "holdout.panel",
    "Quilt": "model",
    "QuiltModel": "model",
    "Split": "holdout.splits",
    "certify": "bayesian_privacy",
    "chain_from_history": "chains.interval",
    "check_split": "holdout.splits",
    "colour_blocks": "blocks.colouring",
    "colour_chain": "blocks.colouring",
    "colour_quilts": "blocks.colouring",
    "laplace_sum_leakage": "auditor",
    "markov_quilt_noise": "bayesian_privacy",
    "mechanism_leakage": "auditor",
    "model_from_dict": "model_file",
    "overview": "model_overview",
    "read_model": "model_file",
    "split_groups": "holdout.splits",
    "split_time": "holdout.splits",
    "to_bdp": "bayesian_privacy",
    "to_dp": "bayesian_privacy",
    "worst_mechanism": "auditor",
}

if TYPE_CHECKING:
    from holdfast.correlated import series_model
    from holdfast.correlated.auditor import laplace_sum_leakage, mechanism_leakage, worst_mechanism
    from holdfast.correlated.bayesian_privacy import (
        BayesianAccountant,
        Certificate,
        certify,
        markov_quilt_noise,
        to_bdp,
        to_dp,
    )
    from holdfast.correlated.blocks.blocks import Blocks
    from holdfast.correlated.blocks.colouring import Colouring, colour_blocks, colour_chain, colour_quilts
    from holdfast.correlated.chains.interval import IntervalChain, chain_from_history
    from holdfast.correlated.chains.markov import InhomogeneousChain, MarkovChain
    from holdfast.correlated.chains.windows import HiddenChain, OrderChain
    from holdfast.correlated.fields.gaussian import GaussianField
    from holdfast.correlated.holdout.dependent_rows import DependentRows
    from holdfast.correlated.holdout.panel import Panel
    from holdfast.correlated.holdout.reusable import DependentHoldout
    from holdfast.correlated.holdout.splits import Split, check_split, split_groups, split_time
    from holdfast.correlated.holdout.thresholdout import CorrelatedThresholdout
    from holdfast.correlated.model import DependenceModel, ListedModel, ModelClass, Quilt, QuiltModel
    from holdfast.correlated.model_file import model_from_dict, read_model
    from holdfast.correlated.model_overview import Overview, overview
    from holdfast.correlated.networks.ising import Ising
    from holdfast.correlated.networks.network import Network


__getattr__, __dir__ = lazy(__name__, _HOME, ("series_model",))

__all__ = [
    "BayesianAccountant",
    "Blocks",
    "Certificate",
    "Colouring",
    "CorrelatedThresholdout",
    "DependenceModel",
    "DependentHoldout",
    "DependentRows",
    "GaussianField",
    "HiddenChain",
    "InhomogeneousChain",
    "IntervalChain",
    "Ising",
    "ListedModel",
    "MarkovChain",
    "ModelClass",
    "Network",
    "OrderChain",
    "Overview",
    "Panel",
    "Quilt",
    "QuiltModel",
    "Split",
    "certify",
    "chain_from_history",
    "check_split",
    "colour_blocks",
    "colour_chain",
    "colour_quilts",
    "laplace_sum_leakage",
    "markov_quilt_noise",
    "mechanism_leakage",
    "model_from_dict",
    "overview",
    "read_model",
    "series_model",
    "split_groups",
    "split_time",
    "to_bdp",
    "to_dp",
    "worst_mechanism",
]
