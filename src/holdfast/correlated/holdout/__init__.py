"""Holdouts for dependent rows: declared dependence, splits, guess and check, and Thresholdout."""
