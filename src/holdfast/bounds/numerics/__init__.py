"""Numerical parts that theorems are computed with: rounding, searches, tails."""
