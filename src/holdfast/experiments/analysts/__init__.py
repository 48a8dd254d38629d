"""Analysts: people who ask, honest, greedy and hostile, on rows whose population is known exactly."""

from holdfast.experiments.analysts.interview import Interview, Run
from holdfast.experiments.analysts.registry import ANALYSTS, Analyse, Analyst, analyst

__all__ = ["ANALYSTS", "Analyse", "Analyst", "Interview", "Run", "analyst"]
