"""Processes that open overlapping samples, are killed, and open them again: a program of `tests.guard.forked`."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from typing import Any

import alembic.command
import numpy as np

import holdfast as hf
from holdfast.errors import LedgerConflict
from holdfast.guard import Guard, Policy
from holdfast.guard.ledger import faults, postgres, sql, sqlite
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.store import Store
from tests.guard.forked import Mode, Say, child, ended, serve

LOADED = (alembic.command, postgres, sql, sqlite)
"""Imported before the first fork, so that no child has to."""
ROUNDS = 3
CASES = [
    ("ledger.begin", 4),
    *((name, turn) for name in ("ledger.written", "ledger.committed") for turn in (1, 2, 3)),
    *(("opening.marked", turn) for turn in (1, 2)),
]
"""Steps, and how often they are reached until the plug is pulled: an opening that overlaps two others is tried, which
is not written, marks both and then opens."""


def sample(seed: int, extra: int = 0) -> hf.data.Sample:
    """Rows that a seed gives; `extra` adds a column of its own, so that the fingerprint is another."""
    rows: dict[str, Any] = {"x": np.random.default_rng(seed).random(200)}
    if extra:
        rows |= {f"c{extra}": np.full(200, extra)}
    return hf.data.table(rows, engine="numpy")  # which has no threads that a fork would lose


def open_it(store: Store, seed: int, extra: int) -> str:
    return Guard.open(store, sample(seed, extra), Policy(questions=9), allow_overlap="on purpose").dataset


def killed_while_opening(where: str, key: str) -> dict[str, Any]:
    """Kill the opening of a third guard over the same rows at every step of every commit; then open it again."""
    seeds = {case: 100 + number for number, case in enumerate(CASES)}

    def first(say: Say) -> None:
        store = open_store(where, key=key)
        say([[open_it(store, seed, extra) for extra in (0, 1)] for seed in seeds.values()])

    def killed(say: Say, case: tuple[str, int]) -> None:
        count = 0

        def pull_the_plug(reached: str) -> None:
            nonlocal count
            count += reached == case[0]
            if count == case[1]:
                os.kill(os.getpid(), signal.SIGKILL)

        store = open_store(where, key=key)
        faults.set_hook(pull_the_plug)
        open_it(store, seeds[case], 2)

    def again(say: Say) -> None:
        store = open_store(where, key=key)
        say([open_it(store, seed, 2) for seed in seeds.values()])

    others = ended(*child(first))[1][0]
    killings = [ended(*child(partial(killed, case=case)))[0] for case in CASES]
    after_kill = ended(*child(lambda say: say(_states(where, key))))[1][0]
    thirds = ended(*child(again))[1][0]
    after = ended(*child(lambda say: say(_states(where, key))))[1][0]
    found = [
        {"case": case, "killed": status, "others": pair, "third": third}
        for case, status, pair, third in zip(CASES, killings, others, thirds, strict=True)
    ]
    return {"cases": found, "after_kill": after_kill, "after": after}


def _states(where: str, key: str) -> dict[str, Any]:
    """For each guard the ledgers that it knows to share rows, and how many marks it has."""
    from holdfast.guard.state import GuardState

    states = {}
    with open_store(where, key=key) as store:
        for name in store.datasets():
            ledger = store.ledger(name)
            if ledger.head().sequence:
                marks = sum(entry.kind == "overlapped" for entry in ledger.entries())
                states[name] = [sorted(ledger.look(GuardState.of).overlaps), marks]
    return states


def opened_at_once(where: str, key: str) -> dict[str, Any]:
    """Two processes open samples of the same rows at the same moment, without a reason and with one."""
    found = []
    open_store(where, key=key).close()
    for number in range(2 * ROUNDS):
        reason, begins = "on purpose" if number % 2 else None, time.time() + 0.15

        def opening(say: Say, extra: int, reason: str | None = reason, seed: int = number, at: float = begins) -> None:
            store, rows = open_store(where, key=key), sample(seed, extra)
            rows.fingerprint()
            time.sleep(max(0.0, at - time.time()))
            try:
                say(Guard.open(store, rows, Policy(questions=9), allow_overlap=reason).dataset)
            except LedgerConflict as refusal:
                say(f"refused: {refusal}")

        started = [child(partial(opening, extra=extra)) for extra in (1, 2)]
        said = [ended(*one)[1][0] for one in started]
        found.append({"reason": reason, "said": said})
    return {"cases": found, "states": ended(*child(lambda say: say(_states(where, key))))[1][0]}


MODES: dict[str, Mode] = {"killed": killed_while_opening, "at once": opened_at_once}

if __name__ == "__main__":
    Guard.open(None, sample(1), Policy(questions=9))  # loads what every child needs
    serve(MODES)
