"""From max-information to coherence: Claim 2, Lemma 1 and Theorem 3, and Theorem 3 without rounded constants."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.coherence import sharp
from holdfast.bounds.coherence.ratio import (
    MODES,
    SPLIT,
    GroupSize,
    Mode,
    even_rows,
    log_ratio,
    tolerance,
)
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

SHARE = 0.5
"""The share of `beta/groups` that pays for the slack of max-information; the rest pays for chance. The paper's."""


def fixed_terms(alpha: float, mode: str) -> dict[str, float]:
    """The terms of Theorem 3 that depend on the tolerance alone."""
    step = 10.6 if mode == "paper" else 32 / 3
    return {
        "resolution": up(144 * math.log(6 / alpha) / alpha / alpha),
        "step": up(step / alpha),
        "floor": 80.0,
    }


def closed_size(alpha: float, load: float, mode: str) -> dict[str, float]:
    """The five terms of Theorem 3, `load = zeta + ln(16 r)` or what a sharper count puts there. Not checked.

    Examples
    --------
    >>> {name: round(term, 4) for name, term in closed_size(0.5, 22.6762, "paper").items()}["chance"]
    3011.3994
    """
    terms = {"chance": up(33.2 * load / alpha / alpha), "halves": up(16.6 * load)}
    return terms | fixed_terms(alpha, mode)


def closed_load(alpha: float, size: float, mode: str) -> float | None:
    """The largest load that a group of `size` rows carries; None if the tolerance alone already needs more rows."""
    if size < max(fixed_terms(alpha, mode).values()):
        return None
    return min(size * alpha * alpha / 33.2, size / 16.6)


def size_at(alpha: float, lam: float, nats: float, n: int | None, mode: str) -> GroupSize:
    """Theorem 3 at `Lambda = lam`, in any mode. Arguments are not checked."""
    closed = closed_size(alpha, nats + math.log(16) + lam, mode)
    if mode != "sharp":
        return GroupSize(max(closed.values()), mode, n, closed)
    if n is None:
        raise InvalidParameter("n must be given in sharp mode: it says how evenly a split cuts a group")
    target = math.log1p(-SHARE) - lam - nats
    exact = sharp.smallest_size(n, alpha / 2, target)
    return GroupSize(min(exact, max(closed.values())), mode, n)


@theorem(
    "coherence.max-information-size",
    statement="least group size at which a release with bounded max-information enforces coherence",
    source="Enforcing Demographic Coherence, Theorem 3; sharp: derived, holdfast.bounds.coherence.sharp",
    conditions=f"{SPLIT}; max-information at slack beta/(2 groups) below nats; any lens and learner; sharp: alpha < 2",
    unit="rows",
    provenance="mixed",
)
def max_information_size(
    alpha: float, beta: float, groups: int, nats: float, n: int | None = None, mode: Mode = "paper"
) -> GroupSize:
    """Return the group size from which (alpha, beta)-coherence holds, with its terms.

    - "paper": `max{33.2 (zeta + ln(16 r))/alpha^2, 144 ln(6/alpha)/alpha^2, 16.6 (zeta + ln(16 r)), 10.6/alpha, 80}`
      with `r = groups/beta`. Printed for beta in (0, 2); taken here for (0, 1].
    - "corrected": the same with `32/(3 alpha)`; it never binds.
    - "sharp": the smallest `m` with `exp(zeta) (m'-1) q(n, m', alpha/2) <= beta/(2 groups)` for every `m' >= m`, or
      "corrected" if that is smaller. Needs `n`.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance of predictions in [-1, 1]: in (0, 2], below 2 in sharp mode. A share `s` of a
        group flipped from certain no to certain yes is `2 s`.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    nats : float
        Max-information at slack `beta/(2 groups)`, at least 0.
    n : int, optional
        Rows in the data set, both halves, even.
    mode : str
        "paper", "corrected" or "sharp".

    Examples
    --------
    >>> found = max_information_size(0.5, 1e-3, 20, 10.0)
    >>> round(found.size, 6), found.binding
    (3011.382929, 'chance')
    >>> max_information_size(0.2, 0.05, 1, 0.0, 1_000_000, "sharp").rows
    2440
    """
    check.choice("mode", mode, MODES)
    alpha = tolerance(alpha, mode)
    nats = check.real("nats", nats, at_least=0)
    return size_at(alpha, log_ratio(beta, groups), nats, None if n is None else even_rows(n), mode)


@theorem(
    "coherence.sampling-noise-size",
    statement="group size from which two halves differ pointwise by a gap with probability at most mu, by chance alone",
    source="Enforcing Demographic Coherence, Claim 2 and Lemma 1",
    conditions="n even, uniform half split; predictor fixed before the split; gap in (0, 1)",
    unit="rows",
)
def sampling_noise_size(gap: float, mu: float) -> GroupSize:
    """Return `max{4.15 ln(4/mu)/a^2, 16/(3a), 8.3 ln(4/mu), 40}`, the size condition of Claim 2.

    From there on `Pr[|F_a(y) - F_b(y)| >= a] <= mu` for each `y`. Printed `5.3/a` in the claim; Lemma 1 and the proof
    have `16/3`. Compared with exact hypergeometric sums, never violated; not re-proved.

    Parameters
    ----------
    gap : float
        The gap `a` of the distribution functions, in (0, 1).
    mu : float
        Failure probability at one point, in (0, 1].

    Examples
    --------
    >>> found = sampling_noise_size(0.1, 1e-6)
    >>> round(found.size, 6), found.binding
    (6308.749041, 'chance')
    """
    gap = check.real("gap", gap, above=0, below=1)
    slack = math.log(4) - math.log(check.probability("mu", mu, one=True))
    terms = {
        "chance": up(4.15 * slack / gap / gap),
        "step": up(16 / (3 * gap)),
        "halves": up(8.3 * slack),
        "floor": 40.0,
    }
    return GroupSize(max(terms.values()), "paper", None, terms)


@theorem(
    "coherence.sampling-noise-failure",
    statement="probability that the distance in one group exceeds twice the gap, after a release",
    source="Enforcing Demographic Coherence, Lemma 1 (Claim 2 at nats = eta = 0)",
    conditions="size at least coherence.sampling-noise-size; max-information at slack eta below nats",
    unit="probability",
)
def sampling_noise_failure(size: int, mu: float, nats: float = 0.0, eta: float = 0.0, mode: Mode = "paper") -> float:
    """Return Lemma 1's `2 mu (m + 1) exp(zeta) + eta`; in the other modes `mu (m + 1) exp(zeta) + eta`.

    It bounds `Pr[W1 > 2a]`. Claim 2 prints `a` for `2a`; a gap of `a` at every point of [-1, 1] integrates to `2a`. The
    leading 2 is not needed.

    Parameters
    ----------
    size : int
        Rows of the group.
    mu : float
        Failure probability at one point.
    nats : float
        Max-information of the release.
    eta : float
        Its slack.
    mode : str
        "paper" keeps the factor 2.

    Examples
    --------
    >>> round(sampling_noise_failure(7000, 1e-6, 2.0, 1e-3), 10)
    0.1044615635
    """
    check.choice("mode", mode, MODES)
    size = check.whole("size", size, at_least=1)
    log_mu = math.log(check.probability("mu", mu, one=True))
    nats = check.real("nats", nats, at_least=0)
    eta = check.probability("eta", eta, zero=True, one=True)
    exponent = log_mu + math.log(size + 1) + nats + (math.log(2) if mode == "paper" else 0.0)
    return 1.0 if exponent >= 0 else min(1.0, up(math.exp(exponent)) + eta)


__all__ = [
    "SHARE",
    "closed_load",
    "closed_size",
    "fixed_terms",
    "max_information_size",
    "sampling_noise_failure",
    "sampling_noise_size",
    "size_at",
]
