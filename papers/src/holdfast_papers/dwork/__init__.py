"""Dwork et al. (2015): reusing a holdout, Figures 2 to 4."""
