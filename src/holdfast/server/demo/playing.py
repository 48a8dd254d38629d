"""The demo without a server: both analysts ask a guard on an embedded ledger, and what came of it is a table."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.guard.guard import Guard
from holdfast.guard.policy import Policy
from holdfast.server.demo import analysts
from holdfast.server.demo.analysts import Step

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
        said = "" if self.interval is None else f"{self.interval[0]:.3g} to {self.interval[1]:.3g}"
        return (self.step.analyst, self.step.about, believed, said, self.outcome)


def play(ledger: Path) -> Iterator[Played]:
    """Let Ann ask, then Greg until he is refused. The rows and the ledger are real; only the people are made up."""
    from holdfast.data.tables import table

    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as place:
        file = Path(place) / "customers.csv"
        file.write_text(analysts.rows_csv())
        guard = Guard.open(ledger, table(str(file), row_key=analysts.ROW_KEY), Policy.from_dict(analysts.POLICY))
        try:
            for step in analysts.ann():
                yield _asked(guard, step)
            for step in analysts.greg():
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
        writer.writerows(one.cells() for one in played)
