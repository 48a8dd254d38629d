"""What plots share. Altair is handed in by the caller, who imported it when a plot was asked for."""

from __future__ import annotations

from typing import Any


def colour_below(alt: Any, field: str, order: list[str] | None = None) -> Any:
    """A colour whose legend stands below the plot, with its labels whole and in the given order."""
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=0, symbolOpacity=1)
    return alt.Color(field, title=None, legend=legend, **({"sort": order} if order else {}))


def log_axis(alt: Any) -> Any:
    """An axis of a log scale: at every power of ten `0.001`, `10` or `1e-8`, the same way in every plot."""
    return alt.Axis(
        labelExpr="abs(log(datum.value)/LN10 - round(log(datum.value)/LN10)) > 1e-9 ? '' : "
        "datum.value >= 0.001 && datum.value < 1e6 ? format(datum.value, ',~r') : format(datum.value, '.0e')"
    )


__all__ = ["colour_below", "log_axis"]
