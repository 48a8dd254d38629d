"""Inference after looking: intervals for adaptively chosen means, corrected p-values, streams of tests."""

__all__: list[str] = []
