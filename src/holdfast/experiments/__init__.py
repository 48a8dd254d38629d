"""Experiments: the figures and tables of the papers, re-created with our numbers beside theirs.

`holdfast reproduce` lists and runs them. Each module holds one experiment; the rest are the parts they are made of:
codes over GF(2), composition games with their adversaries, exact laws of random walks, and analysts who ask with the
answerers they ask (`holdfast simulate`).
"""
