"""A report read back from its JSON: strictly what `Report.to_dict` writes, so that the page can be made anew from it.

The file may come from anybody. Every member is checked for its type, its range and its length, findings and cases must
fit together, and what was read must give the same data again. Texts stay texts: `html` escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, TypeVar, cast

from holdfast.coherence.failures import KINDS as FAILURES
from holdfast.coherence.report.content import (
    BINS,
    GROUPS,
    OFFENDERS,
    SCHEMA,
    Curve,
    Distribution,
    Repeats,
    Report,
    Utility,
)
from holdfast.coherence.significance import CROSS, MAX_T, NONE
from holdfast.coherence.verdict import (
    EXIT_STATUS,
    INCOHERENT,
    UNJUDGED,
    AlphaPoint,
    CaseFinding,
    GroupFinding,
    Verdict,
)
from holdfast.errors import InvalidParameter

LETTERS = 20_000
"""Of one text, at most."""
FINDINGS, CASES, LISTED, SPLITS = 50_000, 200, 20_000, 10_000
"""Findings, pairs of learner and lens, lines of any other list, and splits, at most."""
_EARLIER_STATUS = 2
"""The exit status of an incoherent release in reports of versions before 0.2."""
_STATUSES = {*EXIT_STATUS, *UNJUDGED}
_MEMBERS = (
    "schema title outcome exit_status partial alpha beta level paragraph findings cases sensitivity messages mode rows "
    "splits too_small too_small_unnamed offenders distributions curves repeats utilities limits theory setting failures"
).split()
_SHARES = frozenset(
    "lower upper noise_share p_value p_adjusted least_p membership_p omnibus omnibus_adjusted auc above noise".split()
)
_RANGES = {"excess_low": (-1e6, 1e6), "excess_high": (-1e6, 1e6), "inside": (0.0, 1e15), "outside": (0.0, 1e15)}
"""Of numbers that are neither shares nor distances and predictions, which are within -2 and 2."""
_T = TypeVar("_T")


def read(plain: Any) -> Report:
    """Return the report that was saved as this plain data.

    If the data are not what `Report.to_dict` writes, `InvalidParameter` is raised.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> from holdfast.coherence.report import build, html
    >>> from holdfast.coherence.significance import assess
    >>> from holdfast.coherence.verdict import judge
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(1200), "ill": rng.integers(0, 2, 1200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> tested = assess(trials, permutations=999)
    >>> report = build(trials, tested, judge(tested, 0.5), title="people")
    >>> html(read(report.to_dict())) == html(report)
    True
    """
    whole = _object("the report", plain, _MEMBERS)
    if whole["schema"] != SCHEMA or isinstance(whole["schema"], bool):
        raise InvalidParameter(
            f"schema must be {SCHEMA}, the only version of reports that this release of Holdfast reads"
        )
    judged = _verdict(whole)
    by_name = {(f.learner, f.lens, f.group): f for f in judged.findings}
    offenders = tuple(_offender(entry, by_name) for entry in _list("offenders", whole["offenders"], OFFENDERS))
    problems = tuple(line for line in judged.messages if line.startswith("PARTIAL"))
    report = Report(
        title=_text("title", whole["title"]),
        verdict=judged,
        mode=_one_of("mode", whole["mode"], ("repeated", "single")),
        rows=_whole("rows", whole["rows"]),
        splits=_whole("splits", whole["splits"], SPLITS),
        offenders=offenders,
        shown_groups=tuple(dict.fromkeys(f.group for f in judged.findings))[:GROUPS],
        too_small=tuple(_too_small(entry) for entry in _list("too_small", whole["too_small"], FINDINGS)),
        unnamed=_whole("too_small_unnamed", whole["too_small_unnamed"]),
        distributions=_several("distributions", whole, Distribution, OFFENDERS, _check_distribution),
        curves=_several("curves", whole, Curve, OFFENDERS, _check_curve),
        repeats=_several("repeats", whole, Repeats, OFFENDERS, _check_repeats),
        utilities=_several("utilities", whole, Utility, CASES, lambda _: None),
        problems=problems,
        notes=tuple(line for line in judged.messages if line not in problems),
        limits=_texts("limits", whole["limits"]),
        theory=_texts("theory", whole["theory"]),
        setting=_setting(whole["setting"]),
        failures=tuple(_failure(entry) for entry in _list("failures", whole["failures"], SPLITS)),
    )
    if report.to_dict() != whole:  # what was read is all there was
        raise InvalidParameter(
            "the report must be unchanged since `holdfast audit` wrote it, but some of its data differ"
        )
    return report


def _verdict(whole: Mapping[str, Any]) -> Verdict:
    findings = _several("findings", whole, GroupFinding, FINDINGS, _check_finding)
    cases = _several("cases", whole, CaseFinding, CASES, _check_case)
    outcome = _one_of("outcome", whole["outcome"], EXIT_STATUS)
    statuses = [EXIT_STATUS[outcome], *([_EARLIER_STATUS] if outcome == INCOHERENT else [])]
    if whole["exit_status"] not in statuses:
        raise InvalidParameter(f"exit_status must be {EXIT_STATUS[outcome]} in a report with the outcome {outcome}")
    if not cases or outcome not in {case.outcome for case in cases}:
        raise InvalidParameter("outcome must be the outcome of one of the cases in the report")
    groups = {f.group for f in findings}
    pairs = {(case.learner, case.lens) for case in cases}
    named = {(f.learner, f.lens, f.group) for f in findings}
    if len(pairs) != len(cases) or len(named) != len(findings) or len(findings) != len(groups) * len(pairs):
        raise InvalidParameter("findings must have exactly one entry for each learner, lens and group")
    if not {(learner, lens) for learner, lens, _ in named} <= pairs:
        raise InvalidParameter("findings must name only learners and lenses that are in the report's cases")
    return Verdict(
        outcome=outcome,
        exit_status=int(whole["exit_status"]),
        partial=_typed("partial", whole["partial"], bool),
        alpha=_number("alpha", whole["alpha"], 1e-300, 2.0),
        beta=_number("beta", whole["beta"], 0.0, 1.0),
        level=_number("level", whole["level"], 0.0, 1.0),
        findings=findings,
        cases=cases,
        sensitivity=_several("sensitivity", whole, AlphaPoint, LISTED, _check_point),
        paragraph=_text("paragraph", whole["paragraph"]),
        messages=_texts("messages", whole["messages"]),
    )


def _several(
    name: str, whole: Mapping[str, Any], kind: type[_T], most: int, checked: Callable[[_T], None]
) -> tuple[_T, ...]:
    """A list of one of the library's records; the types of its fields say what each member must be."""
    names = [field.name for field in fields(cast(Any, kind))]
    types = {field.name: str(field.type) for field in fields(cast(Any, kind))}
    items = []
    for plain in _list(name, whole[name], most):
        given = _object(f"each of {name}", plain, names)
        items.append(kind(**{field: _member(f"{name}: {field}", field, given[field], types[field]) for field in names}))
        checked(items[-1])
    return tuple(items)


def _member(name: str, short: str, value: Any, type_: str) -> Any:
    if type_.endswith(" | None"):
        if value is None:
            return None
        type_ = type_.removesuffix(" | None")
    low, high = (0.0, 1.0) if short in _SHARES else _RANGES.get(short, (-2.0, 2.0))
    match type_:
        case "str":
            return _text(name, value)
        case "bool":
            return _typed(name, value, bool)
        case "int":
            return _whole(name, value)
        case "float":
            return _number(name, value, low, high)
        case "tuple[str, ...]":
            return _texts(name, value)
        case "tuple[float, ...]":
            return tuple(_number(name, item, low, high) for item in _list(name, value, SPLITS))
    raise AssertionError(type_)


def _check_finding(found: GroupFinding) -> None:
    _one_of("findings: status", found.status, _STATUSES)
    if not found.sentences or found.above > found.asked or found.measured > found.asked:
        raise InvalidParameter(
            "each of the findings must have a sentence, and it must not count more splits than were asked for"
        )


def _check_case(case: CaseFinding) -> None:
    _one_of("cases: outcome", case.outcome, EXIT_STATUS)
    _one_of("cases: test", case.test, (CROSS, MAX_T, NONE))


def _check_point(point: AlphaPoint) -> None:
    _one_of("sensitivity: outcome", point.outcome, EXIT_STATUS)


def _check_distribution(shown: Distribution) -> None:
    bins = max(len(shown.edges) - 1, 0)
    if bins > BINS or len(shown.inside) != bins or len(shown.outside) != bins:
        raise InvalidParameter(f"each of the distributions must have at most {BINS} bins, and as many counts as bins")
    rising = all(a < b for a, b in pairwise(shown.edges))
    if not rising or (bins and (shown.edges[0], shown.edges[-1]) != (-1.0, 1.0)):
        raise InvalidParameter("the edges of the distributions must rise from -1 to 1")


def _check_curve(curve: Curve) -> None:
    sizes = {len(curve.alphas), len(curve.above), len(curve.noise)}
    if len(sizes) != 1 or len(curve.alphas) < 2 or min(curve.alphas) < 0 or max(curve.alphas) <= 0:
        raise InvalidParameter("each of the curves must have at least two alphas, and one proportion for each alpha")


def _check_repeats(found: Repeats) -> None:
    if len(found.distances) < 2 or len(found.distances) != len(found.chance):
        raise InvalidParameter("repeats must have at least two distances, and as many distances by chance")
    if min(*found.distances, *found.chance) < 0:
        raise InvalidParameter("the distances in repeats must be at least 0")


def _offender(plain: Any, known: Mapping[tuple[str, str, str], GroupFinding]) -> GroupFinding:
    names = tuple(_text("offenders", part) for part in _list("offenders", plain, 3))
    if len(names) != 3 or names not in known or known[names].excess is None:
        raise InvalidParameter(
            "each of the offenders must be one of the findings, named by its learner, lens and group"
        )
    return known[names]


def _too_small(plain: Any) -> tuple[str, str]:
    given = _object("each of too_small", plain, ("name", "size"))
    return _text("too_small: name", given["name"]), _text("too_small: size", given["size"])


def _setting(plain: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(plain, Mapping) or len(plain) > LISTED:
        raise InvalidParameter(f"setting must be an object of at most {LISTED} texts")
    return tuple((_text("setting", name), _text("setting", value)) for name, value in plain.items())


def _failure(plain: Any) -> dict[str, Any]:
    given = _object("each of failures", plain, ("split", "learner", "lens", "kind", "message"))
    _whole("failures: split", given["split"], SPLITS)
    for name in ("learner", "lens"):
        if given[name] is not None:
            _text(f"failures: {name}", given[name])
    _one_of("failures: kind", given["kind"], FAILURES)
    _text("failures: message", given["message"])
    return dict(given)


def _object(name: str, plain: Any, members: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(plain, Mapping):
        raise InvalidParameter(f"{name} must be a JSON object")
    if set(plain) != set(members):
        unknown, missing = set(plain) - set(members), set(members) - set(plain)
        problems = [f"{len(unknown)} unknown"] if unknown else []
        problems += [f"{', '.join(sorted(missing)[:5])} missing"] if missing else []
        raise InvalidParameter(f"{name} must have the members that `holdfast audit` writes: {'; '.join(problems)}")
    return plain


def _list(name: str, plain: Any, most: int) -> list[Any]:
    if not isinstance(plain, list) or len(plain) > most:
        raise InvalidParameter(f"{name} must be a list of at most {most:,} entries")
    return plain


def _texts(name: str, plain: Any) -> tuple[str, ...]:
    return tuple(_text(name, line) for line in _list(name, plain, LISTED))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LETTERS:
        raise InvalidParameter(f"{name} must be a text of at most {LETTERS:,} characters")
    if any(letter < " " and letter not in "\n\t" for letter in value):
        raise InvalidParameter(f"{name} must be a text without control characters")
    return value


def _whole(name: str, value: Any, most: int = 10**15) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise InvalidParameter(f"{name} must be a whole number from 0 to {most}")
    return value


def _number(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidParameter(f"{name} must be a number")
    if not low <= value <= high:  # NaN is not, and nor is a whole number that no float holds
        raise InvalidParameter(f"{name} must be a number from {low:g} to {high:g}")
    return float(value)


def _typed(name: str, value: Any, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise InvalidParameter(f"{name} must be {'true or false' if kind is bool else kind.__name__}")
    return value


def _one_of(name: str, value: Any, known: Any) -> str:
    if not isinstance(value, str) or value not in known:
        raise InvalidParameter(f"{name} must be one of {', '.join(sorted(known))}")
    return value
