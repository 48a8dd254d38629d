"""Tests from answers that people randomized themselves: what arrives is private already, so tests cost nothing."""

from holdfast.inference.private_tests.local.channel import channel_of, make_randomizer
from holdfast.inference.private_tests.local.collected import Collected, collect, collect_pairs, received
from holdfast.inference.private_tests.local.gof import gof, gof_batch, simulate_sums

__all__ = [
    "Collected",
    "channel_of",
    "collect",
    "collect_pairs",
    "gof",
    "gof_batch",
    "make_randomizer",
    "received",
    "simulate_sums",
]
