"""The client's side: every randomizer that a person, or the program on their device, runs before anything leaves them.

A category: `RandomizedResponse` (few categories), `BitFlip` (many), `OneHotLaplace` and `OneHotGaussian` (noise on a
one-hot row). A number in a public range: `LocalLaplace`, `LocalGaussian`. Each is a frozen set of public parameters
with `release(values)` for the client, and `estimate(answers)` for whoever collects the answers.
"""

from holdfast.mechanisms.local_numbers import LocalGaussian, LocalLaplace
from holdfast.mechanisms.one_hot import OneHotGaussian, OneHotLaplace
from holdfast.mechanisms.randomized_response import BitFlip, LeakyResponse, RandomizedResponse

__all__ = [
    "BitFlip",
    "LeakyResponse",
    "LocalGaussian",
    "LocalLaplace",
    "OneHotGaussian",
    "OneHotLaplace",
    "RandomizedResponse",
]
