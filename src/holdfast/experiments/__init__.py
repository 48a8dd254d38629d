"""The experiments package."""
