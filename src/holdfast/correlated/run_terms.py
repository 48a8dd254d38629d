"""The quilts of a whole model that a run of Algorithm 1 may be planned with: the same bounds for every record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from holdfast.bounds.correlated.quilt_terms import QuiltTerms
from holdfast.correlated.blocks import Blocks
from holdfast.correlated.chain import MarkovChain
from holdfast.correlated.graph import components
from holdfast.correlated.ising import Ising
from holdfast.correlated.model_class import ModelClass
from holdfast.correlated.network import Network
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

_EVERY, _STEP, _WEAK = 64, 1.15, 1e-12
_LONG = 20_000


def run_terms(model: Any) -> tuple[QuiltTerms, ...]:
    """Terms for Theorems 1 and 2, one for each shape of quilt that is valid for all records; the planner chooses.

    Chains, their classes and hidden or higher-order ones: the quilt of equal lags, for every lag up to 64 and then a
    few in each octave, until the influence is negligible. Blocks: the block. Networks: the Markov blankets, and the
    parts without edges between them taken as blocks. Empty where no such quilt is known (Gaussian fields have none).

    A plan may ask for many more records than the model has, so the terms of a chain are those of the same chain at any
    length: a lag that only a short chain's ends cut off is not taken for the trivial quilt.

    Examples
    --------
    >>> from holdfast.correlated import MarkovChain
    >>> found = run_terms(MarkovChain([[0.9, 0.1], [0.4, 0.6]], 10**6))
    >>> found[0].size, round(found[0].influence, 6), len(found)
    (1, 3.583519, 44)
    """
    if isinstance(model, Blocks):
        return (model.terms(),)
    if isinstance(model, (Network, Ising)):
        return tuple(_of_network(model))
    members: tuple[Any, ...] = model.models if isinstance(model, ModelClass) else (model,)
    if not all(callable(getattr(one, "terms", None)) for one in members):
        return ()
    if any(isinstance(one, Blocks) for one in members):
        return (_all_of([one.terms() for one in members]),) if all(isinstance(m, Blocks) for m in members) else ()
    long = [_lengthened(one) for one in members]
    found = []
    for lag in _lags(min(one.n for one in long)):
        if not all(_whole(one, lag) for one in long):
            break
        found.append(_all_of([one.terms(lag, lag) for one in long]))
        if found[-1].influence < _WEAK:
            break
    return tuple(terms for terms in found if math.isfinite(terms.influence))


def _lengthened(model: Any) -> Any:
    """The same chain, if it is a short one, with room for longer quilts; other models are left as they are."""
    if not isinstance(model, MarkovChain) or model.n >= _LONG:
        return model
    plain = model.to_dict()
    try:
        return MarkovChain(model.matrix, _LONG, plain["start"], plain.get("respect_support", True))
    except InvalidParameter:  # a law that never settles is known for its own length only
        return model


def _whole(model: Any, lag: int) -> bool:
    """Whether a longer model has the same terms: nothing is cut off at every record.

    A Markov chain needs a record with both sides whose law, and that of all that its sides reach, has settled. The
    terms of other models do not look at the ends, but for the size.
    """
    if isinstance(model, MarkovChain):
        return model.tables.settled.since + 2 * lag + 4 <= model.n
    return bool(model.terms(lag, lag).size < model.n)


def _all_of(terms: list[QuiltTerms]) -> QuiltTerms:
    """What holds for every model of a class."""
    surcharge = max(one.surcharge for one in terms if one.surcharge is not None)
    influence = max(one.influence for one in terms)
    return QuiltTerms(max(one.size for one in terms), influence, surcharge, max(one.classes for one in terms))


def _lags(n: int) -> Iterator[int]:
    lag = 1.0
    while lag <= n:
        yield math.ceil(lag)
        lag = lag + 1 if lag < _EVERY else lag * _STEP


def _of_network(model: Network | Ising) -> Iterator[QuiltTerms]:
    blankets = _blankets(model)
    if math.isfinite(blankets):
        yield QuiltTerms(1, blankets, None, 1)
    if isinstance(model, Network):
        parts = [sum(node < model.n for node in part) for part in components(model.graph)]
    else:
        parts = [quilt.size for record in range(model.n) for quilt in model.quilts(record) if not quilt.quilt]
    yield QuiltTerms(max(parts), 0.0, 0.0, max(parts))


def _blankets(model: Network | Ising) -> float:
    """The largest influence of a record on its Markov blanket."""
    if isinstance(model, Ising):
        return max(model.blanket_influence(record) for record in range(model.n))
    worst = 0.0
    for record in range(model.n):
        try:
            worst = max(worst, model.quilt(record, model.blanket(record)).influence)
        except GuaranteeUnavailable:
            return math.inf
    return worst


__all__ = ["run_terms"]
