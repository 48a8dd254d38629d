"""Reusing real holdouts: Adult, CIFAR-10, MMLU-Pro, and the loop of an agent."""
