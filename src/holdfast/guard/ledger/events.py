"""What a ledger's answers were, as events in the style of the dp_accounting library, and a tight report from them.

The events need no other library; `to_dp_accounting` makes objects of them where dp_accounting is installed. Costs are
for neighbours that replace one row, so the accountant to feed is `RdpAccountant` with `REPLACE_ONE`. Two traps of
dp_accounting 0.4.4: its `PLDAccountant` with `REPLACE_ONE` doubles the sensitivity of Gaussian events, and composes
several randomised responses as if they were one. `pld_report` builds its distributions itself and has neither.

The report is for reading afterwards. It is not a budget: composing by privacy loss distributions is proved for costs
fixed in advance, and a guard's are chosen along the way. The guard's own filters decide what is admitted.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.accounting import GDP, ZCDP, ApproxDP, Cost, PointwiseDP, PureDP
from holdfast.bounds.conversions import zcdp_to_dp
from holdfast.bounds.numerics.exact import decimal_fraction, float_down, up
from holdfast.core import arguments
from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import GuaranteeUnavailable, NotInstalled
from holdfast.guard.ledger.entry import Entry


def costs_of(entries: Iterable[Entry]) -> list[tuple[Cost | None, int]]:
    """Return each privacy cost that was charged, and how often. None stands for answers without noise, which are not
    differentially private.

    A question that was charged before it was answered is counted once, at the entry that charged it. The run of a
    Thresholdout holdout is charged completely by the entry that opened the guard. The cost of a planned mean is in the
    details of its answer.

    Examples
    --------
    >>> import holdfast as hf
    >>> guard = hf.Guard.open(None, hf.data.table({"age": list(range(100))}), hf.guard.Policy(questions=100))
    >>> _ = guard.ask(hf.guard.check("age > 50", 0.5))
    >>> costs_of(guard.ledger.entries())
    [(None, 1)]
    """
    counted: Counter[str] = Counter()
    for entry in entries:
        body = entry.body
        cost = body.get("cost") or body.get("answer", {}).get("details", {}).get("privacy")
        paid = entry.kind in ("reserved", "answered") and "paid" not in body
        if paid or (entry.kind == "opened" and cost is not None):
            counted[to_canonical_json(cost)] += 1
    read = {text: _read(text) for text in counted}
    return [(read[text], count) for text, count in counted.items()]


def to_events(costs: Iterable[tuple[Cost | None, int]]) -> list[dict[str, Any]]:
    """Return the costs as events of the package dp_accounting: for each, the name of the event, its parameters, and how
    often it occurred.

    A pure cost becomes a binary randomised response, from which every mechanism with that cost can be simulated
    (Kairouz, Oh and Viswanath 2015). A `GDP` cost becomes a Gaussian mechanism with noise multiplier `1/mu`.
    Approximate, point-wise and Renyi costs have no event, and answers without noise are not private.

    Examples
    --------
    >>> to_events([(PureDP(1.0), 3), (GDP(0.5), 1), (None, 2)])
    [{'event': 'RandomizedResponseDpEvent', 'noise_parameter': 0.537..., 'num_buckets': 2, 'count': 3},
     {'event': 'GaussianDpEvent', 'noise_multiplier': 2.0, 'count': 1}, {'event': 'NonPrivateDpEvent', 'count': 2}]
    """
    return [_event(cost) | {"count": count} for cost, count in costs]


def _event(cost: Cost | None) -> dict[str, Any]:
    match cost:
        case PureDP(epsilon):
            share = math.nextafter(2 / (up(math.exp(epsilon), 2) + 1), 0.0) if epsilon < 700 else 0.0
            return {"event": "RandomizedResponseDpEvent", "noise_parameter": share, "num_buckets": 2}
        case GDP(mu) if mu > 0:
            return {"event": "GaussianDpEvent", "noise_multiplier": float_down(1 / decimal_fraction(mu))}
        case ZCDP(rho):
            return {"event": "ZCDpEvent", "rho": rho, "xi": 0.0}
        case None:
            return {"event": "NonPrivateDpEvent"}
        case _ if cost.is_zero:
            return {"event": "NoOpDpEvent"}
    return {"event": "NonPrivateDpEvent" if cost.kind == "bits" else "UnsupportedDpEvent"}


def to_dp_accounting(events: Iterable[Mapping[str, Any]]) -> Any:
    """Return the costs as one `ComposedDpEvent` of the package dp_accounting, for its
    `RdpAccountant(neighboring_relation=REPLACE_ONE)`.

    Examples
    --------
    >>> type(to_dp_accounting(to_events([(GDP(0.5), 2)]))).__name__
    'ComposedDpEvent'
    """
    try:
        from dp_accounting import dp_event  # type: ignore[import-untyped]
    except ImportError:
        raise _missing() from None
    composed = []
    for event in events:
        values = {name: value for name, value in event.items() if name not in ("event", "count")}
        single = getattr(dp_event, event["event"])(**values)
        composed.append(single if event["count"] == 1 else dp_event.SelfComposedDpEvent(single, event["count"]))
    return dp_event.ComposedDpEvent(composed)


def pld_report(costs: Iterable[tuple[Cost | None, int]], delta: float) -> dict[str, Any]:
    """Return the `epsilon` at `delta` of these costs together, as if they had been fixed in advance. It is for
    information, not for deciding which questions to admit.

    Pure, approximate and Gaussian costs are composed by their privacy loss distributions, with the arithmetic of
    dp_accounting, which rounds towards a larger epsilon. A zCDP cost has no such distribution. The rhos of such costs
    are summed and converted to an epsilon at half of `delta`, which is added; the distributions then get the other half
    of `delta`.

    Raises
    ------
    GuaranteeUnavailable
        Where some answer was not private, or a cost has neither form.

    Examples
    --------
    >>> round(pld_report([(GDP(0.5), 2)], delta=1e-6)["epsilon"], 2)
    3.31
    """
    delta = arguments.probability("delta", delta)
    try:
        from dp_accounting.pld import common, privacy_loss_distribution  # type: ignore[import-untyped]
    except ImportError:
        raise _missing() from None
    composed, rho, count = None, 0.0, 0
    for cost, times in costs:
        count += times
        match cost:
            case PureDP(epsilon):
                parameters = common.DifferentialPrivacyParameters(epsilon, 0.0)
            case ApproxDP(epsilon, own) | PointwiseDP(epsilon, own):
                parameters = common.DifferentialPrivacyParameters(epsilon, own)
            case GDP(mu):
                parameters = mu
            case ZCDP(each):
                rho = up(rho + up(each * times))
                continue
            case _:
                what = "answers without noise" if cost is None else f"{type(cost).__name__} costs"
                raise GuaranteeUnavailable(
                    f"the privacy loss distribution cannot be computed, because the ledger contains {what}, which "
                    "have none"
                )
        if cost.is_zero:
            continue
        part = (
            privacy_loss_distribution.from_gaussian_mechanism(1 / parameters)
            if isinstance(parameters, float)
            else privacy_loss_distribution.from_privacy_parameters(parameters)
        ).self_compose(times)
        composed = part if composed is None else composed.compose(part)
    share = delta / 2 if rho and composed is not None else delta
    epsilon = 0.0 if composed is None else float(composed.get_epsilon_for_delta(share))
    if rho:
        epsilon = up(epsilon + zcdp_to_dp(rho, share))
    return {
        "epsilon": epsilon,
        "delta": delta,
        "answers": count,
        "neighbours": "replace one row",
        "holds_for": "costs that were fixed in advance; what was admitted adaptively is bounded by the guard's filter",
    }


def _read(text: str) -> Cost | None:
    plain = json.loads(text)
    return None if plain is None else Cost.from_dict(plain)


def _missing() -> NotInstalled:
    return NotInstalled("dp_accounting is not installed: `pip install dp-accounting`", name="dp_accounting")


__all__ = ["costs_of", "pld_report", "to_dp_accounting", "to_events"]
