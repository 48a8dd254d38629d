"""Holdfast inside other people's tools; thin over `holdout` and `guard`, imported only when used."""
