"""Methods: everything in the library that answers questions, behind one interface, by name."""

from holdfast.simulation.answerers.base import Answerer, Design, Reply, Values
from holdfast.simulation.answerers.registry import Entry, Naive, answerer, answerers

__all__ = ["Answerer", "Design", "Entry", "Naive", "Reply", "Values", "answerer", "answerers"]
