"""Correlated records: dependence models, Markov quilts, Bayesian differential privacy, and holdouts that know it.

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lazy import lazy

#: Each name and the module of this package that it lives in.
_HOME = {
    "BayesianAccountant": "accountant",
    "Blocks": "blocks",
    "Certificate": "certificate",
    "Colouring": "colouring",
    "CorrelatedThresholdout": "thresholdout",
    "DependenceModel": "model",
    "DependentHoldout": "holdout",
    "DependentRows": "dependent_rows",
    "GaussianField": "gaussian_field",
    "HiddenChain": "hidden_chain",
    "InhomogeneousChain": "chain_steps",
    "IntervalChain": "interval_chain",
    "Ising": "ising",
    "ListedModel": "listed_model",
    "MarkovChain": "chain",
    "ModelClass": "model_class",
    "Network": "network",
    "OrderChain": "order_chain",
    "Overview": "model_overview",
    "Panel": "panel",
    "Quilt": "quilt",
    "QuiltModel": "model",
    "Split": "splitting",
    "certify": "certificate",
    "chain_from_history": "chain_history",
    "check_split": "splitting",
    "colour_blocks": "colouring",
    "colour_chain": "colouring",
    "colour_quilts": "colouring",
    "laplace_sum_leakage": "auditor",
    "markov_quilt_noise": "conversion",
    "mechanism_leakage": "auditor",
    "model_from_dict": "model_file",
    "overview": "model_overview",
    "read_model": "model_file",
    "split_groups": "splitting",
    "split_time": "splitting",
    "to_bdp": "conversion",
    "to_dp": "conversion",
    "worst_mechanism": "worst_case",
}

if TYPE_CHECKING:
    from holdfast.correlated import series_model
    from holdfast.correlated.accountant import BayesianAccountant
    from holdfast.correlated.auditor import laplace_sum_leakage, mechanism_leakage
    from holdfast.correlated.blocks import Blocks
    from holdfast.correlated.certificate import Certificate, certify
    from holdfast.correlated.chain import MarkovChain
    from holdfast.correlated.chain_history import chain_from_history
    from holdfast.correlated.chain_steps import InhomogeneousChain
    from holdfast.correlated.colouring import Colouring, colour_blocks, colour_chain, colour_quilts
    from holdfast.correlated.conversion import markov_quilt_noise, to_bdp, to_dp
    from holdfast.correlated.dependent_rows import DependentRows
    from holdfast.correlated.gaussian_field import GaussianField
    from holdfast.correlated.hidden_chain import HiddenChain
    from holdfast.correlated.holdout import DependentHoldout
    from holdfast.correlated.interval_chain import IntervalChain
    from holdfast.correlated.ising import Ising
    from holdfast.correlated.listed_model import ListedModel
    from holdfast.correlated.model import DependenceModel, QuiltModel
    from holdfast.correlated.model_class import ModelClass
    from holdfast.correlated.model_file import model_from_dict, read_model
    from holdfast.correlated.model_overview import Overview, overview
    from holdfast.correlated.network import Network
    from holdfast.correlated.order_chain import OrderChain
    from holdfast.correlated.panel import Panel
    from holdfast.correlated.quilt import Quilt
    from holdfast.correlated.splitting import Split, check_split, split_groups, split_time
    from holdfast.correlated.thresholdout import CorrelatedThresholdout
    from holdfast.correlated.worst_case import worst_mechanism


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
