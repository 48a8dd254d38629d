"""Discrete networks as dependence models: Bayesian networks, Markov networks and the Ising model."""
