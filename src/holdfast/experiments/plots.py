"""What the plots share. Altair is handed in by the caller, who imported it when a plot was asked for."""

from __future__ import annotations

from typing import Any


def colour_below(alt: Any, field: str, order: list[str] | None = None) -> Any:
    """A colour whose legend stands below the plot, with its labels whole and in the given order."""
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=0)
    return alt.Color(field, title=None, legend=legend, **({"sort": order} if order else {}))


__all__ = ["colour_below"]
