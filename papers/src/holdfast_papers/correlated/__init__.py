"""Zhao (2017) and correlated records: figures, counterexamples, coverage, a real panel."""
