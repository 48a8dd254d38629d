"""Boards and what was submitted to them, as a caller may see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from holdfast.data.schema import Schema
from holdfast.errors import QuestionRefused
from holdfast.guard.leaderboard import Scores, place_of
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.policy import SCORE, Policy
from holdfast.guard.questions import Score
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.board import chosen as chosen_board
from holdfast.guard.standing import Standing
from holdfast.server.asking import ask_all
from holdfast.server.roles import Caller
from holdfast.server.state import Server

_KEPT: WeakKeyDictionary[Server, dict[str, Scores]] = WeakKeyDictionary()


def scores_of(server: Server, ledger: Ledger) -> Scores:
    """What a guard's ledger says about its boards; each worker keeps what it has read of a ledger."""
    kept = _KEPT.setdefault(server, {})
    return kept.setdefault(ledger.dataset, Scores(ledger))


def facts_of(entry: Entry) -> dict[str, Any]:
    """What may be shown of an answered submission to whoever made it."""
    question, place = entry.body["question"], place_of(entry)
    names = ("board", "metric", "rule", "name", "predictions", "count", "guess", "tolerance")
    return {
        "sequence": place.sequence,
        "time": place.time,
        "analyst": place.analyst,
        **{name: question[name] for name in names},
        **entry.body["answer"],
        "improved": place.improved,
        "confirmed": place.confirmed,
        "certified": place.certified,
    }


def board_of(policy: Policy, name: str | None) -> Board:
    """The board that a request names, or the only one."""
    return chosen_board(policy.boards, name)


def wanted(server: Server, guard: str, caller: Caller, board: str | None) -> tuple[Board, Schema, int]:
    """The board, and what its columns are: everything that the file is read by."""
    standing = server.guards.ledger(guard, caller).look(Standing.of)
    if SCORE not in (standing.policy.kinds or ()):
        raise QuestionRefused("predictions are not scored here: the policy has no board, or does not allow scores")
    standing.require_open()
    return board_of(standing.policy, board), standing.schema, standing.n


def scored(server: Server, guard: str, caller: Caller, question: Score, key: str | None) -> Mapping[str, Any]:
    """Ask, and say what the ledger holds of it."""
    (answer,) = ask_all(server.guards, guard, caller, [question], None if key is None else [key])
    (entry,) = server.guards.chain(guard).entries(answer.sequence, answer.sequence)
    return facts_of(entry) | {"repeated": answer.repeated, "receipt": answer.receipt}


__all__ = ["board_of", "facts_of", "scored", "scores_of", "wanted"]
