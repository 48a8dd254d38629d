"""Tests chosen after looking: what was run on the rows, and the correction of the p-values that follow."""
