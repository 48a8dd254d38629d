"""The accounting package."""
