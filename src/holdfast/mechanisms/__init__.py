"""Mechanisms: how one question is answered with noise, and what the answer costs.

A mechanism is a frozen set of public parameters with `.cost`, `.guarantee` and `release(...)`. Values and noisy
thresholds never appear in a repr or an error. `audit` looks for evidence that a mechanism spends more than it says.

Under other names: the exponential mechanism, report noisy max and permute-and-flip are methods of `Selection` (Gumbel
noise is the exponential method's distribution); AboveThreshold, Sparse and NumericSparse are `above_threshold`,
`sparse` and `numeric_sparse`; the geometric mechanism is `Laplace` on `noise.Grid(0)`.
"""

from holdfast.mechanisms import local
from holdfast.mechanisms.additive import Gaussian, Laplace
from holdfast.mechanisms.answer import Answer
from holdfast.mechanisms.auditor import Audit, audit, clopper_pearson
from holdfast.mechanisms.base import LocalEstimate, Mechanism
from holdfast.mechanisms.local import (
    BitFlip,
    LeakyResponse,
    LocalGaussian,
    LocalLaplace,
    OneHotGaussian,
    OneHotLaplace,
    RandomizedResponse,
)
from holdfast.mechanisms.selection import Selection
from holdfast.mechanisms.sparse_mechanisms import (
    GaussianSparseVector,
    SparseVector,
    above_threshold,
    numeric_sparse,
    sparse,
    sparse_vector,
)
from holdfast.mechanisms.sparse_run import SparseAnswer, SparseAnswers, SparseRun

__all__ = [
    "Answer",
    "Audit",
    "BitFlip",
    "Gaussian",
    "GaussianSparseVector",
    "Laplace",
    "LeakyResponse",
    "LocalEstimate",
    "LocalGaussian",
    "LocalLaplace",
    "Mechanism",
    "OneHotGaussian",
    "OneHotLaplace",
    "RandomizedResponse",
    "Selection",
    "SparseAnswer",
    "SparseAnswers",
    "SparseRun",
    "SparseVector",
    "above_threshold",
    "audit",
    "clopper_pearson",
    "local",
    "numeric_sparse",
    "sparse",
    "sparse_vector",
]
