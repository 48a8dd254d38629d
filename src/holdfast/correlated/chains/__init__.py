"""Markov chains as dependence models: of known, bounded, changing, higher-order and hidden transitions."""
