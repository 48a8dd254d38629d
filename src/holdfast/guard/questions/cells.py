"""Declared cells of a histogram: categories of a column, or bins of a number, and a last cell for every other row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.data.schema import Schema
from holdfast.data.statistics import Contingency, Histogram
from holdfast.data.statistics.declared_categories import categories_of
from holdfast.errors import InvalidParameter

OTHER = "other"


@dataclass(frozen=True)
class Cells:
    """What to count, and what to call each count."""

    statistic: Contingency | Histogram
    labels: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data in one spelling."""
        return {"cells": self.statistic.to_dict(), "labels": list(self.labels)}


def cells_of(column: Any, categories: Any, edges: Any, schema: Schema) -> Cells:
    """The cells of a column: its declared categories, or bins between edges.

    Examples
    --------
    >>> cells_of("sex", ["f", "m"], None, Schema({"sex": "text"})).labels
    ('f', 'm', 'other')
    >>> cells_of("age", None, [18, 40, 65], Schema({"age": "integer"})).labels
    ('[18, 40)', '[40, 65]', 'other')

    A declared category may itself be called "other":

    >>> cells_of("sex", ["f", "other"], None, Schema({"sex": "text"})).labels
    ('f', 'other', 'any other')
    """
    if not isinstance(column, str) or column not in schema:
        raise InvalidParameter(f"column must be one of the schema, got {str(column)[:60]!r}")
    if edges is not None:
        if categories is not None:
            raise InvalidParameter("categories and edges cannot both be given: cells are named or measured")
        bins = Histogram(f'"{column}"', tuple(listed("edges", edges)))
        ends = bins.edges
        last = len(ends) - 2
        spelt = [_number(end) for end in ends]
        labels = [f"[{spelt[i]}, {spelt[i + 1]}{']' if i == last else ')'}" for i in range(last + 1)]
        return Cells(bins, _with_rest(labels))
    known = schema[column]
    if categories is None and known.values is None and known.kind != "boolean":
        raise InvalidParameter(
            f"categories or edges must be given for column {column!r}: cells are declared, never looked up"
        )
    declared = categories_of(schema, column, None if categories is None else tuple(listed("categories", categories)))
    return Cells(Contingency((column,), (declared,)), _with_rest([_label(one) for one in declared]))


def listed(name: str, values: Any) -> Sequence[Any]:
    """Values that came as a list, or an error: a text is no list of letters here."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise InvalidParameter(f"{name} must be a list")
    return values


def _with_rest(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels and one more for every other row; a cell that shared its label would be lost from the answer."""
    rest = OTHER
    while rest in labels:
        rest = f"any {rest}"
    return (*labels, rest)


def _number(end: float) -> str:
    """As short as tells it apart from every other number."""
    short = f"{end:g}"
    return short if float(short) == end else repr(end)


def _label(category: Any) -> str:
    return str(category).lower() if isinstance(category, bool) else str(category)


__all__ = ["OTHER", "Cells", "cells_of", "listed"]
