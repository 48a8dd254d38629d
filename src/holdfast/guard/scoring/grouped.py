"""Boards whose rows come in groups, such as a patient's visits: each group counts once, with the mean of its rows.

Rows of one group may depend on each other in any way; groups are independent. So a submission has one value a group,
its interval is that of a mean over groups, and a reserve takes groups as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import Batch, Held, Texts
from holdfast.data.sample import Sample
from holdfast.data.statistics import UNIT
from holdfast.errors import SampleUnavailable
from holdfast.guard.scoring.board import COUNTS, Board

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.scoring.tally import RowTally

Numbers = NDArray[np.int64]


def group_values(sample: Sample, board: Board, tallies: Sequence[RowTally], groups: int) -> Numbers:
    """One line a submission with the mean of each group's rows, in steps of `2**-30` of the range. Secret.

    Groups are in the order of their names, which is fixed before any row is read.
    """
    assert board.groups is not None
    column = board.groups

    def start() -> tuple[dict[Any, int], Numbers, Numbers]:
        return {}, np.zeros(0, dtype=np.int64), np.zeros((len(tallies), 0), dtype=np.int64)

    def add(before: tuple[dict[Any, int], Numbers, Numbers], batch: Batch) -> tuple[dict[Any, int], Numbers, Numbers]:
        known, rows, sums = before
        names, at = _named(batch[column])
        places = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.intp)
        more = len(known) - len(rows)
        rows, sums = np.append(rows, np.zeros(more, dtype=np.int64)), np.pad(sums, ((0, 0), (0, more)))
        rows += np.bincount(places[at], minlength=len(known))
        for line, one in zip(sums, tallies, strict=True):
            np.add.at(line, places[at], one.values(batch[board.key], batch[board.label]))
        return known, rows, sums

    known, rows, sums = sample.fold((board.key, board.label, column), start, add)
    if int(rows.sum()) != sample.n or len(known) != groups:
        raise SampleUnavailable(CHANGED)
    order = np.array([known[name] for name in sorted(known)], dtype=np.intp)
    steps = sums * UNIT if board.metric in COUNTS else sums
    return np.asarray((steps // rows)[:, order], dtype=np.int64)


def _named(held: Held) -> tuple[list[Any], NDArray[np.intp]]:
    """The different groups of a batch, and which of them each row is in."""
    values, _ = held
    if isinstance(values, Texts):  # its texts may be those of other rows too
        used, at = np.unique(values.codes, return_inverse=True)
        return [values.distinct[code] for code in used.tolist()], at.ravel()
    distinct, at = np.unique(values, return_inverse=True)
    return distinct.tolist(), at.ravel()


def with_group_counts(policy: Policy, parts: Sequence[Sample]) -> Policy:
    """Return the policy whose grouped boards know how many groups the explored rows and each reserve have. Public.

    For opening: it reads the columns of groups.
    """
    if not any(board.groups for board in policy.boards or ()):
        return policy
    boards = []
    for board in policy.boards or ():
        counts = None
        if board.groups is not None:
            counts = [len(part.fold((board.groups,), set, _more(board.groups))) for part in parts]
        boards.append(replace(board, group_counts=counts))
    return replace(policy, boards=boards)


def _more(column: str) -> Any:
    return lambda before, batch: before | set(_named(batch[column])[0])
