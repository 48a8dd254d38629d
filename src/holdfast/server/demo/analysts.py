"""The demo's customers, the two analysts who ask about them, and their leaderboard."""

from __future__ import annotations

import csv
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.guard.guard import Guard
from holdfast.guard.policy import Policy

# --- Sample -----------------------------------------------------------------------------------------------------------
# Customers of a shop, made up: who has gone, and why as far as there is a why.
#
# The rows are drawn from a written distribution with a fixed seed, so that they are the same everywhere and weigh
# nothing in the
# package. `gone` depends on `months`, `calls` and `plan`. The twenty hints are fair coins, 0 or 1: they say nothing.

NAME = "demo customers"
ROW_KEY = "customer"
ROWS = 20_000
HINTS = tuple(f"hint_{i:02d}" for i in range(1, 21))
PLANS = ("basic", "plus", "pro")
_SEED = 8321
Row = Mapping[str, Any]


def rows(n: int, seed: int = _SEED) -> list[dict[str, Any]]:
    """Customers drawn from the distribution; another seed gives others of the same population.

    Examples
    --------
    >>> one = rows(1)[0]
    >>> list(one)[:8], one["plan"] in PLANS
    (['customer', 'age', 'plan', 'months', 'calls', 'bill', 'gone', 'hint_01'], True)
    """
    law = random.Random(seed)  # the same stream in every Python
    people = []
    for i in range(n):
        months, calls = int(60 * law.random() ** 2), int(10 * law.random() ** 2)
        plan = PLANS[min(2, int(3 * law.random() ** 1.4))]
        chance = 0.12 + (0.33 if months < 6 else 0.0) + (0.25 if calls > 3 else 0.0) - (0.07 if plan == "pro" else 0.0)
        person: dict[str, Any] = {
            "customer": i + 1,
            "age": 18 + int(52 * law.random()),
            "plan": plan,
            "months": months,
            "calls": calls,
            "bill": round(8 + 25 * law.random() + {"basic": 0, "plus": 15, "pro": 40}[plan], 2),
            "gone": law.random() < chance,
        }
        person |= {hint: int(law.random() < 0.5) for hint in HINTS}
        people.append(person)
    return people


@lru_cache(maxsize=1)
def customers() -> list[dict[str, Any]]:
    """Return the demo's rows."""
    return rows(ROWS)


def rows_csv() -> str:
    """Return the demo's rows as a CSV file."""
    people = customers()
    lines = [",".join(people[0])]
    lines += [",".join(_cell(value) for value in person.values()) for person in people]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- Analysts ---------------------------------------------------------------------------------------------------------
# Two analysts: Ann guesses from last year's customers; Greg tries rules on a few rows until one looks good.
#
# Neither sees a row behind the guard. What they have of their own are other customers of the same population.

POLICY: dict[str, Any] = {
    "confidence": 0.95,
    "questions": 400,
    "privacy": {"kind": "pure-dp", "epsilon": 0.05},
    "spend": {"kind": "pure-dp", "epsilon": 0.01},
    "analysts": {"ann": 0.75, "greg": 0.06},
}
"""The demo's guard: 400 questions, three quarters for Ann and a few for Greg; five noisy answers in all."""

STORY: dict[str, float] = {"believed": 0.75, "low": 0.42, "high": 0.63}
"""Greg's best idea, for the first page: what he believes, and between what the guard says that the truth is."""

_LAST_YEAR, _FEW = 5_000, 60
_ANNS_SEED, _GREGS_SEED = 2025, 7


@dataclass(frozen=True)
class Step:
    """What an analyst asks, and what they believe before the answer comes."""

    analyst: str
    question: Mapping[str, Any]
    believed: float | None
    about: str


def ann() -> Iterator[Step]:
    """Checks of what last year's customers suggest, and three noisy means where she has no guess."""
    before = ann_saw()
    conditions: list[tuple[str, str, Callable[[Row], bool]]] = [
        ("customers who are gone", "gone", lambda row: row["gone"]),
        ("new ones who are gone", "gone and months < 6", lambda row: row["gone"] and row["months"] < 6),
        ("callers who are gone", "gone and calls > 3", lambda row: row["gone"] and row["calls"] > 3),
        ("the young", "age < 30", lambda row: row["age"] < 30),
        ("old customers who stay", "months >= 24 and not gone", lambda row: row["months"] >= 24 and not row["gone"]),
    ]
    for plan in PLANS:
        conditions.append((f"plan {plan}", f"plan = '{plan}'", partial(_has, plan)))
        conditions.append((f"{plan} who are gone", f"gone and plan = '{plan}'", partial(_gone_from, plan)))
    for about, expression, holds in conditions:
        guess = round(sum(map(holds, before)) / len(before), 3)
        yield Step("ann", {"kind": "check", "expression": expression, "guess": guess}, guess, about)
    yield Step("ann", {"kind": "mean", "expression": "bill", "low": 0, "high": 80}, None, "the bill, with noise")
    yield Step("ann", {"kind": "mean", "expression": "calls", "low": 0, "high": 10}, None, "calls, with noise")
    yield Step("ann", {"kind": "mean", "expression": "age", "low": 18, "high": 78}, None, "the age, with noise")


def greg() -> Iterator[Step]:
    """Single hints first, then votes of those that look best on 60 rows; each guess is what he saw there."""
    few = greg_saw()
    scored = sorted(HINTS, key=lambda hint: -abs(_agreement(few, [hint]) - 0.5))
    for hint in scored[:6]:
        yield _step(few, [hint], f"the rule {hint}")
    for size in range(3, 20, 2):
        yield _step(few, scored[:size], f"a vote of his {size} best hints")
    for i, j, k in islice(combinations(range(len(scored)), 3), 1, None):  # he goes on until he is stopped
        yield _step(few, [scored[i], scored[j], scored[k]], "a vote of three")


def ann_saw() -> list[dict[str, Any]]:
    """Last year's customers."""
    return rows(_LAST_YEAR, _ANNS_SEED)


def greg_saw() -> list[dict[str, Any]]:
    """Return the few rows that Greg has."""
    return rows(_FEW, _GREGS_SEED)


def _has(plan: str, row: Row) -> bool:
    return bool(row["plan"] == plan)


def _gone_from(plan: str, row: Row) -> bool:
    return bool(row["gone"]) and _has(plan, row)


def _step(few: Sequence[Row], hints: Sequence[str], about: str) -> Step:
    """Ask whether a vote predicts who goes: each hint turned the way that fits the few rows."""
    seen = round(_agreement(few, hints), 3)
    turned = [(hint, _agreement(few, [hint], turn=False) >= 0.5) for hint in hints]
    votes = " + ".join(hint if yes else f"(1 - {hint})" for hint, yes in turned)
    expression = f"({votes} > {len(hints) / 2:g}) = gone"
    return Step("greg", {"kind": "check", "expression": expression, "guess": seen}, seen, about)


def _agreement(few: Sequence[Row], hints: Sequence[str], turn: bool = True) -> float:
    """How often a vote of hints is right on a few rows."""
    signs = [turn and _agreement(few, [hint], turn=False) < 0.5 for hint in hints]
    right = 0
    for row in few:
        votes = sum(row[hint] != int(sign) for hint, sign in zip(hints, signs, strict=True))
        right += (2 * votes > len(hints)) == row["gone"]
    return right / len(few)


# --- Board ------------------------------------------------------------------------------------------------------------
# The demo's leaderboard: who of the shop's customers will leave? Both analysts know everything about them but that.
#
# Ann fits her rule on last year's customers and says what it scored there. Greg lets hints vote. Each time he adds the
# two that make the vote look best on his own 60 rows, submits, and claims what he saw there.

BOARD_NAME = "who will leave"
BOARD: dict[str, Any] = {"name": BOARD_NAME, "key": ROW_KEY, "label": "gone", "metric": "accuracy"}
"""As the demo's policy declares it."""

Vote = tuple[str, int]
"""A hint, and what it must be to speak for leaving."""
VOTES = (1, 3, 5, 7, 9, 11)
"""How many hints vote in each of Greg's submissions."""


@dataclass(frozen=True)
class Submission:
    """What somebody submits, and the score that they claim for it."""

    analyst: str
    name: str
    claimed: float
    predictions: Mapping[int, bool] = field(repr=False)


def submissions(customers: Sequence[Row]) -> Iterator[Submission]:
    """Ann's two and Greg's, for these customers."""
    rules: tuple[tuple[str, Callable[[Row], bool]], ...] = (
        ("nobody leaves", lambda row: False),
        ("new and calling often", lambda row: row["months"] < 6 and row["calls"] > 3),
    )
    before = ann_saw()
    for name, rule in rules:
        right = sum(rule(row) == row["gone"] for row in before) / len(before)
        yield Submission("ann", name, round(right, 3), {row[ROW_KEY]: rule(row) for row in customers})
    for votes, seen in climbed(greg_saw()):
        many = len(votes)
        predictions = {row[ROW_KEY]: 2 * sum(row[hint] == speaks for hint, speaks in votes) > many for row in customers}
        name = f"the hint {votes[0][0]}" if many == 1 else f"a vote of {many} hints"
        yield Submission("greg", name, round(seen, 3), predictions)


def climbed(few: Sequence[Row]) -> Iterator[tuple[list[Vote], float]]:
    """Greg's votes and how often each is right on his rows: two more hints a time, exchanged while that looks better.

    Examples
    --------
    >>> [round(seen, 2) for _, seen in climbed(greg_saw())]
    [0.7, 0.75, 0.78, 0.78, 0.78, 0.82]
    """
    gone = [bool(row["gone"]) for row in few]
    ballots = {(hint, speaks): [int(row[hint] == speaks) for row in few] for hint in HINTS for speaks in (1, 0)}

    def right(votes: Sequence[Vote]) -> float:
        cast: list[int] = [sum(yes) for yes in zip(*(ballots[vote] for vote in votes), strict=True)]
        return sum((2 * yes > len(votes)) == truth for yes, truth in zip(cast, gone, strict=True)) / len(few)

    def others(votes: Sequence[Vote]) -> list[Vote]:
        used = {hint for hint, _ in votes}
        return [vote for vote in ballots if vote[0] not in used]

    votes: list[Vote] = []
    for many in VOTES:
        apart = (added for added in combinations(others(votes), many - len(votes)) if len(dict(added)) == len(added))
        votes = max(([*votes, *added] for added in apart), key=right)
        while True:
            changed = [[*votes[:i], vote, *votes[i + 1 :]] for i in range(many) for vote in others(votes)]
            best = max(changed, key=right)
            if right(best) <= right(votes):
                break
            votes = best
        yield list(votes), right(votes)


# --- Playing ----------------------------------------------------------------------------------------------------------
# The demo without a server: both analysts ask a guard on an embedded ledger, and what came of it is a table.

COLUMNS = ("analyst", "asked about", "believed", "guard says", "outcome")


@dataclass(frozen=True)
class Played:
    """A step and what the guard said to it."""

    step: Step
    outcome: str
    value: float | None = None
    interval: tuple[float, float] | None = None

    def cells(self) -> tuple[str, ...]:
        """Return the row of a table."""
        believed = "" if self.step.believed is None else f"{self.step.believed:.3g}"
        ends = "" if self.interval is None else f"{self.interval[0]:.3g} to {self.interval[1]:.3g}"
        return (self.step.analyst, self.step.about, believed, ends, self.outcome)


def play(ledger: Path) -> Iterator[Played]:
    """Let Ann ask, then Greg until he is refused. The rows and the ledger are real; only the people are made up."""
    from holdfast.data.tables import table

    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as place:
        file = Path(place) / "customers.csv"
        file.write_text(rows_csv())
        guard = Guard.open(ledger, table(str(file), row_key=ROW_KEY), Policy.from_dict(POLICY))
        try:
            for step in ann():
                yield _asked(guard, step)
            for step in greg():
                done = _asked(guard, step)
                yield done
                if done.outcome.startswith("refused"):
                    break
        finally:
            guard.shut()


def _asked(guard: Guard, step: Step) -> Played:
    try:
        answer = guard.ask(step.question, analyst=step.analyst)
    except HoldfastError as error:
        return Played(step, f"refused: {error}")
    outcome = {True: "passed", False: "corrected", None: "answered with noise"}[answer.passed]
    return Played(step, outcome, answer.value, tuple(answer.interval))


def best_of_greg(played: list[Played]) -> Played:
    """Return the idea that Greg believes in most, of those that the guard answered."""
    his = [one for one in played if one.step.analyst == "greg" and one.interval is not None]
    return max(his, key=lambda one: one.step.believed or 0.0)


def write(played: list[Played], path: Path) -> None:
    """The table as a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(play.cells() for play in played)
