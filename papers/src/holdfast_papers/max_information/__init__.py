"""Rogers et al. (2016): codes that reach the lower bound, p-values after looking."""
