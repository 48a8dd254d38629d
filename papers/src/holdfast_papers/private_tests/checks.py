"""What a run of private tests is held to. Each check is wrong with probability at most 1e-6 a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from holdfast_papers.binomial import ERROR, agrees, exceeds
from holdfast_papers.private_tests.cache import Results
from holdfast_papers.private_tests.recorded import Recorded, Where
from holdfast_papers.private_tests.settings import ALPHA, Setting, Trial
from holdfast_papers.registry import Check

Books = Mapping[tuple[Where, Trial], Recorded]


@dataclass(frozen=True)
class Within:
    """The level of a test is at most `high`, and at least `low`, in every setting of level."""

    test: Trial
    high: float
    low: float = 0.0
    why: str = "as measured before"


@dataclass(frozen=True)
class Exact:
    """The level is alpha, no more and no less: Monte Carlo, simple null, continuous noise, `alpha (m + 1)` whole."""

    test: Trial


@dataclass(frozen=True)
class Broken:
    """A test that is wrong on purpose: its level is above alpha in every setting with n in this range."""

    test: Trial
    up_to: int
    at_least: int = 0


@dataclass(frozen=True)
class Beats:
    """The first test rejects at least as often as the second, on the same records, from n = `at_least` on."""

    first: Trial
    second: Trial
    at_least: int = 0


@dataclass(frozen=True)
class Near:
    """The power at one place is within .02 of a number, as asked for."""

    test: Trial
    where: Where
    value: float


Claim = Within | Exact | Broken | Beats | Near


def place(setting: Setting) -> Where:
    """Under what a recorded number is found."""
    return setting.name, setting.budget, setting.n


def is_level(setting: Setting) -> bool:
    """Whether the null is true."""
    if setting.null:
        return setting.null == setting.truth
    p = np.array(setting.truth)
    if setting.family == "gwas":
        return bool(np.allclose(p[:3], p[3:]))
    table = p.reshape(setting.shape)
    return bool(np.allclose(table, np.outer(table.sum(axis=1), table.sum(axis=0))))


def same(count: int, runs: int, recorded: Recorded) -> bool:
    """Whether a count and a recorded share can come from one probability: Fisher's exact test, neither tail below
    half of 1e-6, at the recorded count that is nearest to ours among those that round to it.

    Examples
    --------
    >>> same(560, 1000, Recorded(0.564, 4000)), same(680, 1000, Recorded(0.564, 4000))
    (True, False)
    """
    from scipy.stats import hypergeom

    room = recorded.half + recorded.slack
    low = max(0, math.ceil((recorded.value - room) * recorded.runs - 1e-9))
    high = min(recorded.runs, math.floor((recorded.value + room) * recorded.runs + 1e-9))
    theirs = min(max(round(count / runs * recorded.runs), low), high)
    law = hypergeom(runs + recorded.runs, count + theirs, runs)
    return bool(min(law.cdf(count), law.sf(count - 1)) >= ERROR / 2)


def count_of(results: Results, setting: Setting, test: Trial) -> tuple[int, int]:
    """Rejections and runs."""
    reject = results[setting, test].reject
    return int(reject.sum()), reject.size


def recorded_check(results: Results, books: Books) -> Check | None:
    """Every share that was recorded before is met."""
    held, missed = 0, []
    for setting, test in results:
        recorded = books.get((place(setting), test))
        if recorded is None:
            continue
        count, runs = count_of(results, setting, test)
        if same(count, runs, recorded):
            held += 1
        else:
            missed.append(f"{test.label} at {place(setting)}: {count / runs:.4f} against {recorded.value}")
    if not held and not missed:
        return None
    detail = f"{held} shares agree within binomial limits of both runs" + (
        "; not " + "; ".join(missed) if missed else ""
    )
    return Check("shares measured before by an independent program are met", not missed, detail)


def judge(claim: Claim, results: Results) -> Check:
    """Whether a claim survives."""
    if isinstance(claim, Near):
        return _near(claim, results)
    if isinstance(claim, Beats):
        return _beats(claim, results)
    judged = {
        setting: count_of(results, setting, test)
        for setting, test in results
        if test == claim.test and is_level(setting)
    }
    shares = [count / runs for count, runs in judged.values()]
    spread = f"{min(shares):.4f} to {max(shares):.4f} over {len(judged)} settings" if judged else "no setting"
    if isinstance(claim, Within):
        bad = [s for s, (k, runs) in judged.items() if exceeds(k, runs, claim.high)]
        bad += [s for s, (k, runs) in judged.items() if exceeds(runs - k, runs, 1 - claim.low)]
        name = f"{claim.test.label}: level at most {claim.high:g}" + (f", at least {claim.low:g}" if claim.low else "")
        return Check(name + f" ({claim.why})", bool(judged) and not bad, spread + _listed(bad))
    if isinstance(claim, Exact):
        bad = [s for s, (k, runs) in judged.items() if not agrees(k, runs, ALPHA)]
        return Check(
            f"{claim.test.label}: level exactly {ALPHA:g} (proved)", bool(judged) and not bad, spread + _listed(bad)
        )
    inside = {s: c for s, c in judged.items() if claim.at_least <= s.n <= claim.up_to}
    bad = [s for s, (k, runs) in inside.items() if not exceeds(k, runs, ALPHA)]
    shares = [k / runs for k, runs in inside.values()]
    reach = f"n = {claim.up_to:,}" if claim.at_least == claim.up_to else f"every n up to {claim.up_to:,}"
    name = f"{claim.test.label}: visibly above {ALPHA:g} at {reach}"
    spread = f"{min(shares):.4f} to {max(shares):.4f} over {len(inside)} settings" if inside else "no setting"
    return Check(name, bool(inside) and not bad, spread + _listed(bad))


def discordant(results: Results, setting: Setting, first: Trial, second: Trial) -> tuple[int, int, int]:
    """Where only the first rejected, where only the second did, and runs that both had."""
    a, b = results[setting, first].reject, results[setting, second].reject
    both = min(a.size, b.size)
    a, b = a[:both], b[:both]
    return int((a & ~b).sum()), int((b & ~a).sum()), both


def _beats(claim: Beats, results: Results) -> Check:
    settings = [s for s, test in results if test == claim.first and (s, claim.second) in results]
    settings = [s for s in settings if s.n >= claim.at_least and not is_level(s)]
    bad, gaps = [], []
    for setting in settings:
        ours, theirs, runs = discordant(results, setting, claim.first, claim.second)
        gaps.append((ours - theirs) / runs)
        if exceeds(theirs, ours + theirs, 0.5):  # McNemar's exact test, one-sided
            bad.append(setting)
    name = f"{claim.first.label} rejects at least as often as {claim.second.label}"
    name += f" from n = {claim.at_least:,} on" if claim.at_least else ""
    detail = f"differences {min(gaps):+.4f} to {max(gaps):+.4f} over {len(gaps)} settings" if gaps else "no setting"
    return Check(name, bool(gaps) and not bad, detail + _listed(bad))


def _near(claim: Near, results: Results) -> Check:
    for setting, test in results:
        if test == claim.test and place(setting) == claim.where:
            count, runs = count_of(results, setting, test)
            share = count / runs
            # In a short run the binomial limits are wider than .02, and it is they that decide.
            ok = abs(share - claim.value) <= 0.02 or (runs < 10_000 and agrees(count, runs, claim.value))
            detail = f"{share:.4f} in {runs:,} runs at {setting.name}, rho = {float(setting.rho):g}, n = {setting.n:,}"
            return Check(f"power of {test.label} within .02 of {claim.value:g}", ok, detail)
    return Check(f"power of {claim.test.label} within .02 of {claim.value:g}", False, "not run")


def _listed(bad: Iterable[Setting]) -> str:
    names = [f"{s.name}, rho = {float(s.rho):g}, n = {s.n:,}" for s in bad]
    return f"; not at {'; '.join(names)}" if names else ""


__all__ = [
    "Beats",
    "Books",
    "Broken",
    "Claim",
    "Exact",
    "Near",
    "Within",
    "count_of",
    "discordant",
    "is_level",
    "judge",
    "place",
    "recorded_check",
    "same",
]
