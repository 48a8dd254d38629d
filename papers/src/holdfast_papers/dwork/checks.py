"""What a run of Dwork et al.'s experiment must show: the paper's claims, the integrals, and that the data agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast_papers.binomial import exceeds
from holdfast_papers.dwork.analyst import KS, PARTS
from holdfast_papers.dwork.certified import CONFIDENCE, CertifiedRun
from holdfast_papers.dwork.oracles import oracle, over_threshold_share
from holdfast_papers.dwork.runs import ARMS, CURVES, Mean, Repetitions, most_standard_errors
from holdfast_papers.registry import Check, Table

LIMIT = 5e-4
"""How far the integrals may be off: they are limits for many attributes, without order statistics."""

LAST, PEAK = len(KS) - 1, KS.index(20)
Certified = Mapping[str, Sequence[CertifiedRun]]


def against_oracles(law: Repetitions) -> list[Check]:
    """Every mean curve next to its integral; at most `LIMIT` and so many standard errors off, at error 1e-6 in all."""
    checks = []
    most = most_standard_errors(len(ARMS) * len(PARTS) * len(KS) + 3, law.count)
    for arm in ARMS:
        expected = oracle(law.setting, arm)
        for part in PARTS:
            off = []
            for j in range(len(KS)):
                mean = Mean.of(law.curve(arm, part)[:, j])
                off.append(max(0.0, abs(mean.value - expected.accuracy[part][j]) - LIMIT) / mean.error)
            four = sum(value <= 4 for value in off)
            detail = f"{four} of {len(off)} within 4 standard errors, largest {max(off):.1f}, allowed {most:.1f}"
            checks.append(Check(f"{arm}: accuracy on {part} as the integral says", bool(max(off) <= most), detail))
        taken = Mean.of([run.selected for run in law.runs[arm]])
        checks.append(_near(f"{arm}: attributes taken as the integral says", taken, expected.selected, most))
    over = Mean.of([run.over for run in law.runs["thresholdout"]])
    share = over_threshold_share() * law.setting.d
    checks.append(_near("thresholdout: attribute questions over the threshold", over, share, most))
    return checks


def _near(name: str, mean: Mean, expected: float, most: float) -> Check:
    off = mean.distance(expected)
    return Check(name, off <= most, f"{mean.value:.6g} against {expected:.6g}, {off:.1f} standard errors off")


def same_law(law: Repetitions, data: Repetitions) -> tuple[Table, list[Check]]:
    """Runs by exact distribution next to runs with whole data of the same size."""
    rows: list[dict[str, Any]] = []
    checks = []
    most = most_standard_errors(len(ARMS) * (len(CURVES) * len(KS) + 2), law.count + data.count - 1)
    for arm in ARMS:
        pairs = {
            f"{curve}, k={k}": (Mean.of(law.curve(arm, curve)[:, j]), Mean.of(data.curve(arm, curve)[:, j]))
            for curve in CURVES
            if (arm, curve) != ("standard", "told")
            for j, k in enumerate(KS)
        }
        pairs["attributes taken"] = _counts(law, data, arm, "selected")
        if arm == "thresholdout":
            pairs["over the threshold"] = _counts(law, data, arm, "over")
        worst = max(pairs, key=lambda name: pairs[name][0].distance(pairs[name][1]))
        off = pairs[worst][0].distance(pairs[worst][1])
        detail = f"{len(pairs)} means, the farthest ({worst}) is {off:.1f} standard errors off, allowed {most:.1f}"
        checks.append(Check(f"{arm}: the exact distribution and whole data agree", off <= most, detail))
        for name, (ours, theirs) in pairs.items():
            if name.rpartition("k=")[2] in ("20", "500") or "k=" not in name:
                rows.append(
                    {
                        "holdout": arm,
                        "what": name,
                        "exact distribution": round(ours.value, 5),
                        "whole data": round(theirs.value, 5),
                        "whole data, sd": round(theirs.spread, 5),
                        "standard errors off": round(ours.distance(theirs), 2),
                    }
                )
    title = f"{law.count} runs by exact distribution next to {data.count} with whole data, n = d = {data.setting.n:,}"
    return Table("materialised", title, tuple(rows[0]), tuple(rows)), checks


def _counts(law: Repetitions, data: Repetitions, arm: Any, field: str) -> tuple[Mean, Mean]:
    ours, theirs = ([float(getattr(run, field)) for run in result.runs[arm]] for result in (law, data))
    return Mean.of(ours), Mean.of(theirs)


def claims_no_signal(law: Repetitions, data: Repetitions, certified: Certified) -> tuple[Table, list[Check]]:
    """The paper's statements about Figure 2 and ours about the certified holdout."""
    train, holdout, told = (
        _at(law, *key) for key in (("standard", "train"), ("standard", "told"), ("thresholdout", "told"))
    )
    checks = [
        Check(
            "standard, k=500: 63.3% reported, within half a point", abs(holdout.value - 0.633) <= 0.005, _text(holdout)
        ),
        Check(
            "standard, k=500: the truth is 50%",
            all(bool(r.true[LAST] == 0.5) for r in law.runs["standard"]),
            "by design",
        ),
        Check(
            "standard, k=500: standard deviation about half a point", 0.002 < holdout.spread < 0.0065, _text(holdout)
        ),
        Check("Thresholdout, k=500: told within 2 points of the truth", abs(told.value - 0.5) < 0.02, _text(told)),
    ]
    rows = [
        _claim("standard, k=500, training", "over 63%, sd below 0.5 points", train, data, "standard", "train"),
        _claim("standard, k=500, holdout", "over 63%, sd below 0.5 points", holdout, data, "standard", "told"),
        _claim("standard, k=500, fresh", "50%", _at(law, "standard", "fresh"), data, "standard", "fresh"),
        _claim("Thresholdout, k=500, told", "valid", told, data, "thresholdout", "told"),
        _claim("Thresholdout, k=500, fresh", "50%", _at(law, "thresholdout", "fresh"), data, "thresholdout", "fresh"),
    ]
    return _claims_table(rows, data), checks


def claims_signal(law: Repetitions, data: Repetitions, certified: Certified) -> tuple[Table, list[Check]]:
    """The paper's statements about Figure 3 and ours about the certified holdout."""
    standard, told = (law.curve(arm, "told").mean(axis=0) for arm in ARMS)
    true = {arm: np.mean([run.true for run in law.runs[arm]], axis=0) for arm in ARMS}
    useful = {arm: Mean.of([run.useful for run in law.runs[arm]]) for arm in ARMS}
    peak = KS[int(np.argmax(told))]
    best = {KS[int(np.argmax(np.mean([run.low for run in runs], axis=0)))] for runs in certified.values()}
    checks = [
        *(
            Check(
                f"{arm}: the useful attributes are found",
                mean.value > law.setting.signal - 0.1,
                f"{mean.value:.2f} of 20",
            )
            for arm, mean in useful.items()
        ),
        Check(
            "standard: the report grows while the truth falls",
            bool(standard[LAST] > standard[PEAK] + 0.03 and true["standard"][LAST] < true["standard"][PEAK]),
            f"{standard[PEAK]:.4f} at k=20 and {standard[LAST]:.4f} at k=500, truth {true['standard'][PEAK]:.4f} and "
            f"{true['standard'][LAST]:.4f}",
        ),
        Check(
            "Thresholdout: what is told peaks at k=20 or 30 and declines",
            bool(peak in (20, 30) and told[LAST] < 0.56),
            f"k={peak}",
        ),
        Check(
            "Thresholdout: at k=20 a good classifier is found, and told within 2 points",
            bool(abs(told[PEAK] - true["thresholdout"][PEAK]) < 0.02),
            f"told {told[PEAK]:.4f}, truth {true['thresholdout'][PEAK]:.4f}",
        ),
        Check("certified: the best lower limit is at k=20 or 30 on average", best <= {20, 30}, f"k in {sorted(best)}"),
    ]
    rows = []
    for k, j in ((20, PEAK), (500, LAST)):
        for arm in ARMS:
            said = "over the truth" if arm == "standard" and k == 500 else "a good classifier" if k == 20 else "valid"
            rows.append(
                _claim(f"{arm}, k={k}, told", said, Mean.of(law.curve(arm, "told")[:, j]), data, arm, "told", j)
            )
            rows.append(
                _claim(f"{arm}, k={k}, fresh", "", Mean.of(law.curve(arm, "fresh")[:, j]), data, arm, "fresh", j)
            )
    return _claims_table(rows, data), checks


def certified_checks(certified: Certified) -> list[Check]:
    """No run may have more than its share of misses; none has any at k=500."""
    checks = []
    for name, runs in certified.items():
        bad = sum(run.missed > 0 for run in runs)
        asked = sum(run.asked for run in runs)
        detail = f"{bad} of {len(runs)} runs with an interval off the truth, {asked:,} intervals"
        checks.append(
            Check(f"certified, {name}: holds its confidence", not exceeds(bad, len(runs), 1 - CONFIDENCE), detail)
        )
        off = sum(not run.low[LAST] <= run.true[LAST] <= run.high[LAST] for run in runs)
        checks.append(
            Check(f"certified, {name}: never outside its interval at k=500", off == 0, f"{off} of {len(runs)}")
        )
    return checks


def _at(result: Repetitions, arm: Any, curve: Any, j: int = LAST) -> Mean:
    return Mean.of(result.curve(arm, curve)[:, j])


def _text(mean: Mean) -> str:
    return f"{mean.value:.4f}, standard deviation {mean.spread:.4f}, {mean.count} runs"


def _claim(what: str, paper: str, ours: Mean, data: Repetitions, arm: Any, curve: Any, j: int = LAST) -> dict[str, Any]:
    theirs = _at(data, arm, curve, j)
    return {
        "what": what,
        "paper": paper,
        "exact distribution": f"{ours.value:.4f}±{ours.spread:.4f}",
        "whole data": f"{theirs.value:.4f}±{theirs.spread:.4f}",
    }


def _claims_table(rows: list[dict[str, Any]], data: Repetitions) -> Table:
    title = f"The paper's statements next to ours; whole data: {data.count} runs, n = d = {data.setting.n:,}"
    return Table("claims", title, tuple(rows[0]), tuple(rows))


__all__ = ["LIMIT", "against_oracles", "certified_checks", "claims_no_signal", "claims_signal", "same_law"]
