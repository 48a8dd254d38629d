"""The figures and tables of the papers, re-created with our numbers next to theirs; `holdfast reproduce` runs them.

Each folder holds the experiments about one subject. The modules at the top list, run, keep and show them.
"""
