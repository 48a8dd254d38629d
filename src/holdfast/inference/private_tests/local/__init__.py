"""Tests from answers that people randomized themselves: what arrives is private already, so tests cost nothing."""

from holdfast.inference.private_tests.local.channel import channel_of, make_randomizer
from holdfast.inference.private_tests.local.collected import Collected, collect, collect_pairs, received
from holdfast.inference.private_tests.local.fit import (
    general,
    general_batch,
    independence,
    separate_independence,
    separate_noncentrality,
)
from holdfast.inference.private_tests.local.gof import gof, gof_batch, simulate_sums
from holdfast.inference.private_tests.local.power import (
    crossovers,
    independence_noncentrality,
    independence_power,
    model_noncentrality,
    model_power,
    noncentrality,
    power,
    which_randomizer,
    winners,
)

__all__ = [
    "Collected",
    "channel_of",
    "collect",
    "collect_pairs",
    "crossovers",
    "general",
    "general_batch",
    "gof",
    "gof_batch",
    "independence",
    "independence_noncentrality",
    "independence_power",
    "make_randomizer",
    "model_noncentrality",
    "model_power",
    "noncentrality",
    "power",
    "received",
    "separate_independence",
    "separate_noncentrality",
    "simulate_sums",
    "which_randomizer",
    "winners",
]
