"""Simulation: analysts who ask and attack, what answers them, and runs of one on the other."""
