"""Intervals for one fixed question on independent rows, at a given share of the failure probability.

A holdout that fixes its questions by a short transcript may use any of them at the transcript's share.
"""
