"""Gaussian Markov fields as dependence models."""
