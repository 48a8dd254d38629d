"""The overview of a declared model: influence, quilt, noise, effective sample size and the rows that a run needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.bounds.correlated.thresholdout import RunPlan, plan_run
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.search import first_at_least
from holdfast.bounds.one_question.means import MeanFamily, Side
from holdfast.bounds.parameters import MOST
from holdfast.core import arguments
from holdfast.correlated.blocks.blocks import Blocks
from holdfast.correlated.chains.markov import MarkovChain
from holdfast.correlated.chains.windows import HiddenChain
from holdfast.correlated.fields.gaussian import GaussianField
from holdfast.correlated.holdout.dependent_rows import BLOCKS, CHAIN, STATIONARY, DependentRows, MeanBound
from holdfast.correlated.model import ModelClass, Quilt, Surcharge, check_surcharge
from holdfast.correlated.model_file import Model
from holdfast.correlated.networks.graph import components
from holdfast.correlated.networks.ising import Ising
from holdfast.correlated.networks.network import Network
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.holdout.planning.methods import PlannedRun, Use

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
    if not all(callable(getattr(member, "terms", None)) for member in members):
        return ()
    if any(isinstance(member, Blocks) for member in members):
        return (_all_of([member.terms() for member in members]),) if all(isinstance(m, Blocks) for m in members) else ()
    long = [_lengthened(member) for member in members]
    quilts = []
    for lag in _lags(min(member.n for member in long)):
        if not all(_whole(member, lag) for member in long):
            break
        quilts.append(_all_of([member.terms(lag, lag) for member in long]))
        if quilts[-1].influence < _WEAK:
            break
    return tuple(terms for terms in quilts if math.isfinite(terms.influence))


def _lengthened(model: Any) -> Any:
    """The same chain, if it is a short one, with room for longer quilts; other models are left as they are."""
    if not isinstance(model, MarkovChain) or model.n >= _LONG:
        return model
    plain = model.to_dict()
    try:
        return MarkovChain(model.matrix, _LONG, plain["start"], plain.get("respect_support", True))
    except InvalidParameter:  # a distribution that never settles is known for its own length only
        return model


def _whole(model: Any, lag: int) -> bool:
    """Whether a longer model has the same terms: nothing is cut off at every record.

    A Markov chain needs a record with both sides whose distribution, and that of all that its sides reach, has settled.
    The terms of other models do not look at the ends, but for the size.
    """
    if isinstance(model, MarkovChain):
        return model.tables.settled.since + 2 * lag + 4 <= model.n
    return bool(model.terms(lag, lag).size < model.n)


def _all_of(terms: list[QuiltTerms]) -> QuiltTerms:
    """What holds for every model of a class."""
    surcharge = max(quilt.surcharge for quilt in terms if quilt.surcharge is not None)
    influence = max(quilt.influence for quilt in terms)
    return QuiltTerms(max(quilt.size for quilt in terms), influence, surcharge, max(quilt.classes for quilt in terms))


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


ONE_BLOCK = "one block"
_NO_DP = "a Gaussian field has no DP level: only linear queries are covered, by their exact leakage"


@dataclass(frozen=True)
class Privacy:
    """What a release costs under the model.

    `epsilon_dp` and `quilt` are None for Gaussian fields, which have `shift` instead: how far a sum moves with one
    record, at the worst record and the worst that may be known.
    """

    epsilon_bdp: float
    epsilon_dp: float | None
    surcharge: Surcharge
    sensitivity: float
    noise_scale: float
    quilt: Quilt | None
    shift: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "epsilon_bdp": self.epsilon_bdp,
            "epsilon_dp": self.epsilon_dp,
            "surcharge": self.surcharge,
            "sensitivity": self.sensitivity,
            "noise_scale": self.noise_scale,
            "influence": None if self.quilt is None else self.quilt.influence,
            "quilt": None if self.quilt is None else self.quilt.to_dict(),
            "shift": self.shift,
        }


@dataclass(frozen=True)
class Holdout:
    """What the certified holdout for dependent rows (`DependentHoldout`) reaches.

    `half_width` is the least tolerance of the last planned check if none has failed before it, for values in [0, 1];
    earlier checks have a little less. `after_failures` is that of the last check after all planned failures, each of
    which was off by a little: it showed the cell next to what passes. `needed` is how many independent rows the records
    must be worth for the wanted tolerance after all failures, and `records` about how many records of this kind that
    takes; infinite where all depend on each other as one block, of which more are worth no more.
    """

    effective_n: float
    rule: str
    questions: int
    confidence: float
    failures: int
    half_width: float
    after_failures: float
    needed: float | None = None
    records: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "effective_n": self.effective_n,
            "rule": self.rule,
            "questions": self.questions,
            "confidence": self.confidence,
            "failures": self.failures,
            "half_width": self.half_width,
            "after_failures": self.after_failures,
            "needed_effective_n": self.needed,
            "needed_records": self.records,
        }


@dataclass(frozen=True)
class Overview:
    """The results of `overview`. For results that are not there, `missing` has the reason.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> found = overview(Blocks([5] * 400), questions=100)
    >>> found.description, found.n, found.refusal
    ('400 independent blocks of at most 5 records, 2000 in all', 2000, '')
    >>> round(found.holdout.effective_n), round(found.holdout.half_width, 4)
    (400, 0.1087)
    """

    description: str
    n: int
    privacy: Privacy | None
    holdout: Holdout | None
    tau: float | None
    run: RunPlan | None
    missing: dict[str, str]
    notes: tuple[str, ...]
    names: tuple[str, ...] | None = None

    def name(self, node: int) -> str:
        """Return the name of a node: its name in a network, otherwise its number."""
        return str(node) if self.names is None else self.names[node]

    @property
    def refusal(self) -> str:
        """The reason why the model does not allow what was asked for; empty if it does.

        It is not allowed if no part of the question has an answer. It is also not allowed if an accuracy was asked for
        that neither the certified holdout nor Algorithm 1 (Thresholdout for dependent records) reaches with these
        records.
        """
        if self.privacy is None and self.holdout is None:
            return "; ".join(self.missing.values())
        if self.tau is None:
            return ""
        checked = self.holdout is not None and self.holdout.after_failures <= self.tau
        if checked or (self.run is not None and self.run.n <= self.n):
            return ""
        reasons = []
        if self.holdout is None:
            reasons.append(self.missing["holdout"])
        else:
            more = self.holdout.records
            need = ", and more of one block are worth no more: declare blocks, or how records forget each other"
            if more is not None and math.isfinite(more):
                need = f" and would need about {more:,.0f} records"
            elif self.holdout.needed == math.inf:
                need = " and would need more than 10^18 independent records"
            reasons.append(f"the certified holdout reaches {self.holdout.after_failures:.4g}{need}")
        if self.run is None:
            reasons.append(self.missing["algorithm 1"])
        elif not self.run.feasible:
            reasons.append(f"Algorithm 1 cannot: {self.run.reason}")
        else:
            reasons.append(f"Algorithm 1 needs {self.run.n:,} records")
        return f"{self.n:,} records of this model do not certify {self.tau:g}: " + "; ".join(reasons)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        privacy = None if self.privacy is None else self.privacy.to_dict()
        if privacy is not None and privacy["quilt"] is not None and self.names is not None:
            quilt = privacy["quilt"]
            quilt |= {"names": [self.name(j) for j in quilt["quilt"]], "record_name": self.name(quilt["record"])}
        return {
            "model": self.description,
            "n": self.n,
            "privacy": privacy,
            "holdout": None if self.holdout is None else self.holdout.to_dict(),
            "tau": self.tau,
            "algorithm_1": None if self.run is None else self.run.to_dict(),
            "missing": dict(self.missing),
            "notes": list(self.notes),
            "feasible": not self.refusal,
            "refusal": self.refusal or None,
        }


def overview(
    model: Model,
    *,
    epsilon_bdp: float | None = None,
    epsilon_dp: float | None = None,
    sensitivity: float = 1.0,
    surcharge: Surcharge = "sharp",
    record: int | str | None = None,
    questions: int = 100,
    confidence: float = 0.95,
    failures: int = 10,
    tau: float | None = None,
    budget: int = 10,
) -> Overview:
    """Return what a model implies for private releases, for checks, and for the number of records that an accuracy
    requires.

    Parameters
    ----------
    model : DependenceModel
        Of any kind.
    epsilon_bdp, epsilon_dp : float, optional
        The Bayesian level that is wanted (1 by default), or the DP level that was spent.
    sensitivity : float
        Of the query: how far one record can move it.
    surcharge : str
        "sharp", "two" or "paper".
    record : int or str, optional
        Show the quilt of this record, by number or by its name in a network, instead of the one that decides.
    questions, confidence, failures
        The plan of the certified holdout.
    tau : float, optional
        A wanted accuracy of every answer, in (0, 1): says how many records it takes, by the certified holdout and by
        Algorithm 1 with `budget` overrulings (`correlated.holdout-size`).
    budget : int
        Overrulings of Algorithm 1, at most `questions`.

    Examples
    --------
    >>> found = overview(MarkovChain([[0.9, 0.1], [0.4, 0.6]], 30_000), tau=0.1, questions=1000)
    >>> round(found.privacy.epsilon_dp, 6), found.privacy.quilt.size, round(found.privacy.noise_scale, 4)
    (0.075242, 11, 13.2904)
    >>> round(found.holdout.effective_n), found.holdout.rule, round(found.holdout.half_width, 4)
    (10000, 'stationary chain by its gap', 0.0245)
    >>> found.run.n > 10**6, found.refusal
    (True, '')
    """
    if epsilon_bdp is not None and epsilon_dp is not None:
        raise InvalidParameter(
            "epsilon_bdp, the level that is wanted, and epsilon_dp, the level that is spent, must not both be given"
        )
    check_surcharge(surcharge)
    sensitivity = arguments.real("sensitivity", sensitivity, above=0)
    if epsilon_dp is not None:
        epsilon_dp = arguments.real("epsilon_dp", epsilon_dp, above=0)
    wanted = arguments.real("epsilon_bdp", 1.0 if epsilon_bdp is None else epsilon_bdp, above=0)
    use = Use(
        arguments.whole("questions", questions, at_least=1, at_most=MOST),
        arguments.whole("failures", failures, at_least=0, at_most=MOST),
        arguments.probability("confidence", confidence),
    )
    if tau is not None:
        tau = arguments.real("tau", tau, above=0, below=1)
        budget = arguments.whole("budget", budget, at_least=1, at_most=use.questions)
    missing: dict[str, str] = {}
    privacy = _try(missing, "privacy", lambda: _privacy(model, wanted, epsilon_dp, sensitivity, surcharge, record))
    holdout = _try(missing, "holdout", lambda: _holdout(model, use, tau))
    run = None
    if tau is not None:
        run = _try(missing, "algorithm 1", lambda: _run(model, tau, use, budget))
    notes = () if isinstance(model, GaussianField) else model.notes()
    names = model.names if isinstance(model, Network) else None
    return Overview(model.describe(), model.n, privacy, holdout, tau, run, missing, notes, names)


def _try(missing: dict[str, str], name: str, make: Any) -> Any:
    try:
        return make()
    except GuaranteeUnavailable as error:
        missing[name] = str(error)
        return None


def _privacy(
    model: Model,
    wanted: float,
    spent: float | None,
    sensitivity: float,
    surcharge: Surcharge,
    record: int | str | None,
) -> Privacy:
    if isinstance(record, str) and not isinstance(model, Network):
        raise InvalidParameter(f"record must be a whole number from 0 to {model.n - 1}, got {record!r:.60}")
    if isinstance(model, GaussianField):
        if spent is not None:
            raise GuaranteeUnavailable(_NO_DP)
        scale = model.noise_scale(wanted, sensitivity)
        return Privacy(wanted, None, surcharge, sensitivity, scale, None, model.worst_shift().value)
    level = model.epsilon_dp(wanted, surcharge) if spent is None else spent
    bayesian = wanted if spent is None else model.epsilon_bdp(spent, surcharge)
    if record is not None:
        quilt = model.best_quilt(record, bayesian, surcharge)  # type: ignore[arg-type]  # a name, of a network's node
    elif spent is None:
        quilt = model.worst_quilt(bayesian, surcharge)
    else:
        quilt = model.dearest_quilt(spent, surcharge)
    return Privacy(bayesian, level, surcharge, sensitivity, up(sensitivity / level), quilt)


def _holdout(model: Model, use: Use, tau: float | None) -> Holdout:
    rows, rule = dependent_rows(model)
    run = PlannedRun(rows.n, use, _narrowest(rows))
    after = run.tolerance(run.worst)
    effective = rows.effective_n
    needed = records = None
    if tau is not None:
        needed = _needed(tau, use)
        grows = math.isfinite(needed) and rule != ONE_BLOCK
        records = float(math.ceil(rows.n * needed / effective)) if grows else math.inf
    return Holdout(
        effective, rule, use.questions, use.confidence, use.failures, run.tolerance(0), after, needed, records
    )


def dependent_rows(model: Model) -> tuple[DependentRows, str]:
    """Return the model as a declaration for the certified holdout, and the rule that gives its effective size.

    Examples
    --------
    >>> dependent_rows(Blocks([4] * 10))[1]
    'independent blocks'
    """
    chain = _chain_of(model)
    if chain is not None:
        routes = DependentRows.markov(chain.n, chain.matrix).routes
        best = max(routes.values(), key=lambda route: route.effective_n)
        return DependentRows(chain.n, model.describe(), routes), best.name
    rows = DependentRows.of(model)
    if rows.effective_n <= 1:
        return rows, ONE_BLOCK
    if isinstance(model, ModelClass):
        return rows, "least of its models"
    if isinstance(model, (Blocks, Network, Ising)):
        return rows, BLOCKS
    if isinstance(model, GaussianField):
        return rows, STATIONARY if model.is_first_order else BLOCKS
    return rows, CHAIN


def _chain_of(model: Model) -> MarkovChain | None:
    """The stationary chain whose two bounds hold for the model: itself, or the hidden one."""
    if isinstance(model, HiddenChain):
        plain = model.to_dict()
        model = MarkovChain(plain["transition"], plain["n"], plain["start"])
    return model if isinstance(model, MarkovChain) and model.stationary else None


def _narrowest(rows: DependentRows) -> MeanFamily:
    """The interval of each share's narrowest route, as the holdout uses it."""

    def ends(mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
        return rows.narrowest(log_share).ends(mean, n, log_share, low, high, side)

    return MeanFamily("narrowest", ends, curved=any(route.blocks is not None for route in rows.routes.values()))


def _needed(tau: float, use: Use) -> float:
    """How many independent rows the records must be worth for this tolerance after all failures; by Hoeffding."""

    def spare(log_size: float) -> float:
        size = math.exp(log_size)
        run = PlannedRun(math.ceil(size), use, MeanBound("wanted", size).family)
        return tau - run.tolerance(run.worst)

    top = math.log(MOST)
    return math.exp(first_at_least(spare, 0.0, 0.0, top)) if spare(top) >= 0 else math.inf


def _run(model: Model, tau: float, use: Use, budget: int) -> RunPlan:
    if isinstance(model, GaussianField):
        raise GuaranteeUnavailable(
            "Algorithm 1 (Thresholdout) cannot be planned for a Gaussian field, because it has no Markov quilts"
        )
    terms = run_terms(model)
    if not terms:
        raise GuaranteeUnavailable(
            "Algorithm 1 (Thresholdout) cannot be planned here, because no Markov quilt of one shape with finite "
            "influence is known for all records"
        )
    return plan_run(tau, use.beta, use.questions, budget, terms)
