"""The mechanisms package."""
