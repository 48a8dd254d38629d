"""Odometers: what has been spent so far. One a file; `holdfast.accounting` exports them all."""
