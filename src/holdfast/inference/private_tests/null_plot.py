"""Pictures: the null distribution of a test with its statistic in it, and power against the number of records.

Altair is imported when a picture is asked for; it comes with the `plots` extra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.chi_square import mixture_density
from holdfast.core.extras import named_extras
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.goodness_of_fit import kernel
from holdfast.inference.private_tests.gwas import tail
from holdfast.inference.private_tests.local.channel import channel_of
from holdfast.inference.private_tests.local.fit import fit as local_fit
from holdfast.inference.private_tests.minimum_chi_square import fit_model
from holdfast.inference.private_tests.monte_carlo import null_counts
from holdfast.inference.private_tests.noise_law import NoiseLaw
from holdfast.inference.private_tests.null_models import Independence, independence_statistic
from holdfast.inference.private_tests.power import Power
from holdfast.inference.private_tests.result import TestResult

Array = NDArray[np.float64]
_DRAWS = 20_000
_POINTS = 240
#: Critical values from which a statistic is far outside its null distribution.
_FAR = 4.0


@dataclass(frozen=True)
class NullLaw:
    """A density on a grid: in closed form, or the histogram of `draws` simulated statistics."""

    x: Array
    density: Array
    draws: int


def null_law(
    result: TestResult,
    *,
    p0: Any = None,
    shape: tuple[int, int] | None = None,
    rng: np.random.Generator | None = None,
) -> NullLaw:
    """Return the distribution with which the statistic of `result` was compared.

    It follows from public numbers and noisy counts, so it costs nothing more.

    Parameters
    ----------
    result : TestResult
        A conclusive result of `gof`, `independence`, `gwas`, `homogeneity` or a local test.
    p0 : list, optional
        The null probabilities; needed for Monte Carlo tests of goodness of fit, whose distribution is simulated again
        here.
    shape : (r, c), optional
        Of the table; needed for Monte Carlo tests of independence.
    rng : numpy Generator, optional
        Of that simulation.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof
    >>> law = null_law(gof([240, 262, 238, 260], [0.25] * 4, rho=0.01))
    >>> law.draws, bool(abs(np.trapezoid(law.density, law.x) - 1) < 0.02)
    (0, True)
    """
    if result.null_returned is not None:
        raise GuaranteeUnavailable(
            f"there is no statistic to draw, because the test is inconclusive: {result.null_returned}"
        )
    if result.statistic is None or result.critical_value is None:
        raise InvalidParameter(f"this plot does not support the test {result.test}")
    known = result.details
    shown = result.critical_value if np.isfinite(result.critical_value) else 0.0
    reach = 1.15 * max(result.statistic, 2 * shown, 1.0)
    if known.get("m") is not None:
        return _simulated(result, p0, shape, np.random.default_rng() if rng is None else rng, reach)
    if "sd" in known:
        low = min(-4 * known["sd"], 1.15 * result.statistic)
        edges = np.linspace(low, max(reach, 4 * known["sd"]), _POINTS + 1)
        return NullLaw(_middles(edges), -np.diff(tail(edges, known["sd"])) / np.diff(edges), 0)
    x = _grid(reach, shown)
    if "weights" in known:
        return NullLaw(x, np.asarray(mixture_density(x, known["weights"])), 0)
    if "degrees" in known:
        return NullLaw(x, np.asarray(mixture_density(x, [1.0], degrees=known["degrees"])), 0)
    raise InvalidParameter(f"this plot does not support the test {result.test}")


def null_chart(
    result: TestResult,
    *,
    p0: Any = None,
    shape: tuple[int, int] | None = None,
    rng: np.random.Generator | None = None,
) -> Any:
    """Draw the null distribution, its rejection region and the value of the statistic, as an Altair chart.

    Parameters
    ----------
    result, p0, shape, rng
        As in `null_law`.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof
    >>> chart = null_chart(gof([240, 262, 238, 260], [0.25] * 4, rho=0.01))
    >>> "layer" in chart.to_dict()
    True
    """
    with named_extras():
        import altair as alt

    law = null_law(result, p0=p0, shape=shape, rng=rng)
    assert result.statistic is not None
    assert result.critical_value is not None
    cut = result.critical_value
    rows = [
        {"x": float(x), "density": float(y), "beyond": bool(x > cut)} for x, y in zip(law.x, law.density, strict=True)
    ]
    top = float(np.max(law.density[np.isfinite(law.density)]))
    # A density that is infinite at zero would flatten everything else.
    scale = alt.Scale(domain=[0, min(top, 4 * float(np.quantile(law.density, 0.9)) or top)], clamp=True)
    # A statistic far outside would squeeze the distribution into a line; a square-root axis shows both.
    far = result.statistic > _FAR * cut and "sd" not in result.details
    x_axis = alt.X("x:Q", title="statistic", scale=alt.Scale(type="sqrt") if far else alt.Undefined)
    title = alt.Title(
        f"{result.test}: {result.decision} at {result.alpha:g} (p = {result.p_value:.3g})",
        subtitle=f"n = {result.n}; null distribution "
        + (f"from {law.draws} simulated tables" if law.draws else "in the limit"),
    )
    base = alt.Chart(alt.InlineData(values=rows), title=title)
    area = base.mark_area(opacity=0.25, color="#2a6f97").encode(
        x=x_axis, y=alt.Y("density:Q", title="density", scale=scale)
    )
    beyond = (
        base.transform_filter("datum.beyond")
        .mark_area(opacity=0.6, color="#c1666b")
        .encode(x=x_axis, y=alt.Y("density:Q", scale=scale))
    )
    marks = [
        {"x": cut, "what": f"critical value {cut:.4g}"},
        {"x": result.statistic, "what": f"statistic {result.statistic:.4g}"},
    ]
    marks = [mark for mark in marks if np.isfinite(float(mark["x"]))]  # type: ignore[arg-type]
    rules = (
        alt.Chart(alt.InlineData(values=marks))
        .mark_rule(strokeWidth=2)
        .encode(
            x=x_axis,
            color=alt.Color(
                "what:N",
                title=None,
                sort=[str(mark["what"]) for mark in marks],
                scale=alt.Scale(range=["#c1666b", "#222222"]),
                legend=alt.Legend(orient="bottom", labelLimit=0),
            ),
        )
    )
    return (area + beyond + rules).properties(width=560, height=260)


def power_chart(curves: Mapping[str, Sequence[Power]], title: str = "Power") -> Any:
    """Draw the power against n, one line for each test, as an Altair chart.

    Parameters
    ----------
    curves : mapping
        From a label to the powers of `power_curve`.
    title : str
        Of the picture.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof_power
    >>> curve = [gof_power([0.25] * 4, [0.26, 0.24, 0.24, 0.26], n, rho=0.00125) for n in (1_000, 10_000)]
    >>> power_chart({"projected": curve}).to_dict()["title"]
    'Power'
    """
    with named_extras():
        import altair as alt

    rows = [{"test": label, "n": point.n, "power": point.power} for label, points in curves.items() for point in points]
    if not rows:
        raise InvalidParameter("curves must hold at least one point")
    return (
        alt.Chart(alt.InlineData(values=rows), title=title)
        .mark_line(point=True)
        .encode(
            x=alt.X("n:Q", scale=alt.Scale(type="log", nice=False), title="records"),
            y=alt.Y("power:Q", scale=alt.Scale(domain=[0, 1]), title="power"),
            color=alt.Color(
                "test:N", title=None, sort=list(curves), legend=alt.Legend(orient="bottom", columns=2, labelLimit=0)
            ),
        )
        .properties(width=560, height=320)
    )


def _simulated(
    result: TestResult, p0: Any, shape: tuple[int, int] | None, rng: np.random.Generator, reach: float
) -> NullLaw:
    values = _draws(result, p0, shape, rng)
    edges = np.linspace(0, max(min(reach, _FAR * (result.critical_value or 1.0)), float(np.quantile(values, 0.99))), 61)
    heights, _ = np.histogram(values, bins=edges)
    return NullLaw(_middles(edges), heights / (values.size * np.diff(edges)), values.size)


def _draws(result: TestResult, p0: Any, shape: tuple[int, int] | None, rng: np.random.Generator) -> Array:
    """Statistics of fresh tables under the null that the test used."""
    known, n = result.details, result.n
    if known.get("local"):
        channel = channel_of(known["randomizer"])
        if "fitted" not in known:
            null = _null(p0)
            return np.asarray(channel.statistic(channel.draw(rng, n, null, _DRAWS), n, null))
        if not known["model"].startswith("independence"):
            raise InvalidParameter(f"this plot does not support the model {known['model']}")
        model = Independence(*_shape(shape, known["fitted"]))
        drawn = channel.draw(rng, n, known["fitted"].ravel(), _DRAWS // 10)
        return np.asarray(local_fit(drawn, n, channel, model).statistic)
    noise: NoiseLaw = known["noise"]
    if "statistic" in known:
        null = _null(p0)
        drawn = null_counts(rng, n, null, noise, _DRAWS, exact=False)
        return np.asarray(kernel(known["statistic"])(drawn, n, null, noise.variance))
    if "fitted" in known and "independence" in result.test:
        p = np.maximum(known["fitted"], 0.0).reshape(_shape(shape, known["fitted"]))
        drawn = null_counts(rng, n, (p / p.sum()).ravel(), noise, _DRAWS // 4, exact=False)
        statistics = fit_model(drawn, Independence(*p.shape), n=n, variance=noise.variance).projected
        return np.asarray(statistics[~np.isnan(statistics)])
    if "rows" in known:
        p = np.outer(known["rows"], known["columns"])
        drawn = null_counts(rng, n, (p / p.sum()).ravel(), noise, _DRAWS // 4, exact=False).reshape(-1, *p.shape)
        statistics = independence_statistic(drawn, n)
        return np.asarray(statistics[~np.isnan(statistics)])
    raise InvalidParameter(f"this plot does not support the test {result.test}")


def _null(p0: Any) -> Array:
    if p0 is None:
        raise InvalidParameter(
            "p0 must be given, because the plot simulates the null distribution of a Monte Carlo test again"
        )
    return probabilities("p0", p0)


def _grid(reach: float, critical: float) -> Array:
    """Points above zero, most of them where the distribution is."""
    inner = min(reach, _FAR * critical) if critical > 0 else reach
    points = np.linspace(0, inner, _POINTS + 1)[1:]
    return np.concatenate([points, np.linspace(inner, reach, 25)[1:]]) if reach > inner else points


def _shape(shape: tuple[int, int] | None, fitted: Array) -> tuple[int, int]:
    if shape is None and fitted.ndim != 2:
        raise InvalidParameter(
            "shape must be given, because the plot simulates the null distribution of a Monte Carlo test again"
        )
    r, c = shape if shape is not None else fitted.shape
    return r, c


def _middles(edges: Array) -> Array:
    return np.asarray(0.5 * (edges[1:] + edges[:-1]))
