"""The noise package."""
