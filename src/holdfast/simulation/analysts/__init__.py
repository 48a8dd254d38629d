"""Analysts: people who ask, honest, greedy and hostile, on rows whose population is known exactly."""

from holdfast.simulation.analysts.interview import Interview, Run
from holdfast.simulation.analysts.strategies import ANALYSTS, Analyse, Analyst, analyst

__all__ = ["ANALYSTS", "Analyse", "Analyst", "Interview", "Run", "analyst"]
