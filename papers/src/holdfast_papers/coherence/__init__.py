"""Demographic coherence: Figures 2 and 3, Table 1, predictors and significance."""
