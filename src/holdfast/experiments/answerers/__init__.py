"""Answerers: everything in the library that answers questions, behind one small door, by name."""

from holdfast.experiments.answerers.base import Answerer, Design, Reply, Values
from holdfast.experiments.answerers.naive import Naive
from holdfast.experiments.answerers.registry import Entry, answerer, answerers

__all__ = ["Answerer", "Design", "Entry", "Naive", "Reply", "Values", "answerer", "answerers"]
