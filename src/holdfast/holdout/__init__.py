"""Holdouts: stateful answerers over a guess and a guarded sample, and the plans that say what each can certify."""

from holdfast.holdout.reusable import ReusableHoldout

__all__ = ["ReusableHoldout"]
