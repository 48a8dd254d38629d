"""Intervals for the statistic of a fixed question: means, means among some rows, and procedures."""
