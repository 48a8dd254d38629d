"""Composition games and their adversaries, exact random walks, filters and odometers."""
