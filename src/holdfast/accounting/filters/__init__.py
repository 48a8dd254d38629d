"""Filters: whether a cost may still be spent. One a file; `holdfast.accounting` exports them all."""
