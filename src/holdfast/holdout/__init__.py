"""Holdouts: stateful answerers over a guess and a guarded sample, and the plans that say what each can certify."""

__all__: list[str] = []
