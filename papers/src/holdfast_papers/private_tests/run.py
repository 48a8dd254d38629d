"""Draw one part of a setting's data sets and run tests on it, all on the same records and, where their noise is of one
kind, on the same noise (spec 7.6).

Records, noise and Monte Carlo replicates come from three streams. That of the records depends on the distribution and
n, not on the budget or on which tests are run; that of the noise on its kind, so that two budgets see one noise at two
scales. In the local model a randomizer's answers are drawn as sums, records included, so there every randomizer has its
own.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.inference.private_tests import Homogeneity, Independence, gof_batch, independence_batch
from holdfast.inference.private_tests.classical import chi_square_critical
from holdfast.inference.private_tests.gwas import output_sd, threshold
from holdfast.inference.private_tests.local import channel_of, make_randomizer
from holdfast.inference.private_tests.local import gof_batch as local_gof_batch
from holdfast.inference.private_tests.local.channel import Channel
from holdfast.inference.private_tests.local.fit import fit as local_fit
from holdfast.inference.private_tests.local.fit import general_batch as local_general_batch
from holdfast.inference.private_tests.minimum_chi_square import MINIMUM_EXPECTED, degrees_of_freedom, fit
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, blocks, p_value, rejects
from holdfast.inference.private_tests.null_models import independence_statistic
from holdfast_papers.private_tests.settings import ALPHA, Setting, Trial

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """Data sets number `index * PART` and up, `size` of them, of one setting."""

    setting: Setting
    seed: int
    index: int
    size: int


@dataclass(frozen=True)
class Decisions:
    """Of one test on the data sets of a part: where it rejected, and where it was conclusive."""

    reject: Flags
    conclusive: Flags


def key(*parts: Any) -> str:
    """A name for plain data, equal exactly when the data are."""
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()


def stream(*parts: Any) -> np.random.Generator:
    """The generator of a stream with this name."""
    return np.random.default_rng(int(key(*parts), 16))


def run_part(part: Part, trials: tuple[Trial, ...]) -> dict[Trial, Decisions]:
    """Run every test on the part's data sets. The answer of a test does not depend on which others are run."""
    return {trial: _RUN[part.setting.family](part, trial) for trial in trials}


def _records(part: Part, p: Array, count: int, what: str = "records") -> NDArray[np.int64]:
    """`size` multinomial counts; one stream for one distribution and n, whatever the budget."""
    rng = stream("records", part.seed, part.index, p.tolist(), count, what)
    return rng.multinomial(count, p, size=part.size)


def _noise_stream(part: Part, kind: str) -> np.random.Generator:
    setting = part.setting
    return stream("noise", part.seed, part.index, setting.family, setting.name, setting.n, kind)


def _replicates(part: Part, trial: Trial) -> np.random.Generator:
    return stream("replicates", part.seed, part.index, asdict(part.setting), asdict(replace(trial, label="")))


def _noisy(part: Part, trial: Trial, counts: NDArray[np.int64]) -> Array:
    if trial.noise == "none":
        return counts.astype(np.float64)
    return counts + trial.noise_law(part.setting).sample(_noise_stream(part, trial.noise), counts.shape)


def _gof(part: Part, trial: Trial) -> Decisions:
    setting = part.setting
    noisy = _noisy(part, trial, _records(part, setting.law(), setting.n))
    batch = gof_batch(
        noisy,
        setting.n,
        setting.null,
        trial.noise_law(setting),
        method=trial.method,  # type: ignore[arg-type]
        alpha=ALPHA,
        p_values=False,
        m=trial.m or DEFAULT_REPLICATES,
        rng=_replicates(part, trial),
    )
    return _all(batch.reject)


def _independence(part: Part, trial: Trial) -> Decisions:
    setting = part.setting
    tables = _records(part, setting.law(), setting.n).reshape(-1, *setting.shape)
    return _table(part, trial, tables)


def _table(part: Part, trial: Trial, tables: NDArray[np.int64]) -> Decisions:
    setting = part.setting
    batch = independence_batch(
        _noisy(part, trial, tables),
        setting.n,
        trial.noise_law(setting),
        method=trial.method,  # type: ignore[arg-type]
        alpha=ALPHA,
        on_null=trial.on_null,  # type: ignore[arg-type]
        m=trial.m or DEFAULT_REPLICATES,
        rng=_replicates(part, trial),
    )
    return Decisions(batch.reject, batch.conclusive)


def _gwas(part: Part, trial: Trial) -> Decisions:
    setting = part.setting
    half, law = setting.n // 2, np.array(setting.truth).reshape(2, 3)
    columns = [_records(part, p / p.sum(), half, name) for p, name in zip(law, ("cases", "controls"), strict=True)]
    tables = np.stack(columns, axis=-1)
    if trial.method in ("classical", "output"):
        chi = independence_statistic(tables, setting.n, minimum_count=0)
        # NaN only where a row is empty, which at these distributions and n >= 200 has probability below 1e-30.
        chi = np.where(np.isnan(chi), 0.0, chi)
        if trial.method == "classical":
            return _all(chi > chi_square_critical(2, ALPHA))
        sd = output_sd(setting.n, float(setting.rho * trial.share))
        return _all(chi + _noise_stream(part, "output").normal(0.0, sd, chi.shape) > threshold(sd, ALPHA))
    if trial.method == "homogeneity":
        model, noise = Homogeneity(2, 3), trial.noise_law(setting)
        noisy = _noisy(part, trial, tables).swapaxes(-1, -2)
        fitted = fit(noisy, np.array([half, half], dtype=np.float64), noise.variance, model, MINIMUM_EXPECTED)
        high = np.nan_to_num(fitted.projected, nan=-1.0) > chi_square_critical(degrees_of_freedom(model), ALPHA)
        return Decisions(high, np.asarray(fitted.conclusive))
    return _table(part, trial, tables)


def _local_gof(part: Part, trial: Trial) -> Decisions:
    setting = part.setting
    null = np.array(setting.null)
    if trial.noise == "none":
        return _gof(part, trial)
    channel = _channel(setting, trial)
    sums = channel.draw(_noise_stream(part, trial.noise), setting.n, setting.law(), part.size)
    if trial.method == "asymptotic":
        return _all(local_gof_batch(sums, setting.n, null, channel.randomizer, alpha=ALPHA))
    rng, p = _replicates(part, trial), np.empty(part.size)
    for rows in blocks(part.size, (trial.m + 1) * null.size):
        mine = sums[rows]
        fresh = channel.draw(rng, setting.n, null, len(mine) * trial.m).reshape(len(mine), trial.m, null.size)
        values = channel.statistic(np.concatenate([mine[:, None, :], fresh], axis=1), setting.n, null)
        p[rows] = p_value(values[:, 0], values[:, 1:])
    return _all(rejects(p, ALPHA))


def _local_independence(part: Part, trial: Trial) -> Decisions:
    setting = part.setting
    if trial.noise == "none":
        return _independence(part, trial)
    channel, model, n = _channel(setting, trial), Independence(*setting.shape), setting.n
    sums = channel.draw(_noise_stream(part, trial.noise), n, setting.law(), part.size)
    if trial.method == "asymptotic":
        return _all(local_general_batch(sums, n, model, channel.randomizer, alpha=ALPHA))
    fitted = local_fit(sums, n, channel, model)
    rng, p = _replicates(part, trial), np.empty(part.size)
    for rows in blocks(part.size, (trial.m + 1) * model.cells):
        law = np.repeat(fitted.law[rows], trial.m, axis=0)
        values = local_fit(channel.draw(rng, n, law / law.sum(axis=1, keepdims=True), len(law)), n, channel, model)
        p[rows] = p_value(fitted.statistic[rows], values.statistic.reshape(-1, trial.m))
    return _all(rejects(p, ALPHA))


def _channel(setting: Setting, trial: Trial) -> Channel:
    budget: dict[str, Any] = {"rho": setting.rho} if trial.noise == "gaussian" else {"epsilon": setting.budget}
    return channel_of(make_randomizer(trial.noise, math.prod(setting.shape), **budget))


def _all(reject: Any) -> Decisions:
    flags = np.asarray(reject, dtype=bool)
    return Decisions(flags, np.ones_like(flags))


_RUN = {
    "gof": _gof,
    "independence": _independence,
    "gwas": _gwas,
    "local-gof": _local_gof,
    "local-independence": _local_independence,
}

__all__ = ["Decisions", "Part", "key", "run_part", "stream"]
