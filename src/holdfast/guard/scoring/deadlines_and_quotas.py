"""Until when a board takes submissions, and how many of each participant: deadlines with time zones, and quotas.

A deadline is stored as RFC 9557 writes it, `2026-12-01T23:59:00+01:00[Europe/Berlin]`: the moment, and the zone that
people read it in. A quota counts the submissions that were answered; the same submission again is the same one, and
free. Days are those of UTC, so that they are the same for everybody.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused

if TYPE_CHECKING:
    from holdfast.guard.ledger.transaction import View
    from holdfast.guard.scoring.board import Board

_DEADLINE = re.compile(r"(?P<moment>[0-9T:.+\- ]*?[0-9Z])(?:\[(?P<in_brackets>[^\]]+)\]| (?P<named>[A-Za-z][\w/+-]*))?")
_LONGEST = 100


def stored_deadline(given: Any) -> str:
    """A deadline as it is stored: its moment, and its zone where one is named; without either it is UTC.

    Examples
    --------
    >>> stored_deadline("2026-12-01T23:59 Europe/Berlin")
    '2026-12-01T23:59:00+01:00[Europe/Berlin]'
    >>> stored_deadline("2026-12-01T23:59"), stored_deadline("2026-12-01T23:59-05:00")
    ('2026-12-01T23:59:00+00:00', '2026-12-01T23:59:00-05:00')
    """
    text = given.isoformat() if isinstance(given, datetime) else given
    allowed = "a time such as '2026-12-01T23:59 Europe/Berlin', '2026-12-01T23:59+01:00' or, in UTC, '2026-12-01T23:59'"
    read = _DEADLINE.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= _LONGEST else None
    if read is None:
        raise InvalidParameter(f"deadline must be {allowed}, got {str(given)[:_LONGEST]!r}")
    zone = read["in_brackets"] or read["named"]
    try:
        moment = datetime.fromisoformat(read["moment"])
        place = UTC if zone is None else ZoneInfo(zone)
        aware = moment.replace(tzinfo=place) if moment.tzinfo is None else moment
        aware = aware if zone is None else aware.astimezone(place)
        is_there = aware.astimezone(UTC).astimezone(place).replace(tzinfo=None) == aware.replace(tzinfo=None)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidParameter(f"deadline must be {allowed}, got {text!r}: {str(error)[:100]}") from None
    except KeyError:
        raise InvalidParameter(
            f"deadline must name a time zone that this machine knows, such as Europe/Berlin, got {zone!r}"
        ) from None
    if zone is not None and not is_there:
        raise InvalidParameter(
            f"deadline must be a time that exists in the time zone {zone}, got {text!r}, which is skipped when clocks "
            "are put forward; give an earlier or a later time, or the time in UTC"
        )
    return aware.isoformat() + ("" if zone is None else f"[{zone}]")


def moment_of(deadline: str) -> datetime:
    """The moment of a stored deadline.

    Examples
    --------
    >>> moment_of("2026-12-01T23:59:00+01:00[Europe/Berlin]").isoformat()
    '2026-12-01T22:59:00+00:00'
    """
    return datetime.fromisoformat(deadline.partition("[")[0]).astimezone(UTC)


def deadline_words(deadline: str) -> str:
    """A stored deadline as people read it: in its own zone, and in UTC.

    Examples
    --------
    >>> deadline_words("2026-12-01T23:59:00+01:00[Europe/Berlin]")
    '1 Dec 2026, 23:59 Europe/Berlin (22:59 UTC)'
    >>> deadline_words("2026-12-01T23:59:00+00:00"), deadline_words("2026-12-01T23:59:00-05:00")
    ('1 Dec 2026, 23:59 UTC', '1 Dec 2026, 23:59 UTC-05:00 (2 Dec, 04:59 UTC)')
    """
    text, _, zone = deadline.partition("[")
    local, moment = datetime.fromisoformat(text), moment_of(deadline)
    here = f"{local.day} {local:%b %Y, %H:%M}"
    if local.utcoffset() == moment.utcoffset() and zone in ("", "UTC]"):
        return f"{here} UTC"
    day = "" if local.date() == moment.date() else f"{moment.day} {moment:%b}, "
    return f"{here} {zone.removesuffix(']') or 'UTC' + text[-6:]} ({day}{moment:%H:%M} UTC)"


def stored_deadlines(given: Any) -> tuple[str, ...]:
    """The deadlines of a board's phases, earliest first; a single one may be given as itself."""
    several = (given,) if isinstance(given, (str, datetime)) else given
    if not isinstance(several, Sequence) or not 0 < len(several) <= 10:
        raise InvalidParameter("deadline must be a time, or a list of times with one for each phase")
    stored = tuple(map(stored_deadline, several))
    if any(moment_of(a) >= moment_of(b) for a, b in pairwise(stored)):
        raise InvalidParameter("deadline must be a list of times, each later than the one before it")
    return stored


def deadline_of(board: Board, phase: int) -> str | None:
    """The deadline of a phase, counted from 1; the last one is that of all later phases too."""
    if not board.deadline:
        return None
    return board.deadline[min(phase, len(board.deadline)) - 1]


def require_in_time(board: Board, phase: int, now: datetime | None = None, *, what: str = "submissions to") -> None:
    """Refuse a submission, or a choice among them, after the deadline of its phase."""
    deadline = deadline_of(board, phase)
    if deadline is not None and (now or datetime.now(UTC)) >= moment_of(deadline):
        raise QuestionRefused(
            f"{what} {board.name!r} were accepted until {deadline_words(deadline)}, and this is later; nothing was "
            "spent"
        )


def account(board: Board, analyst: str) -> str:
    """The name of the public account that counts a participant's submissions."""
    return f"submissions:{board.name}:{hashlib.sha256(analyst.encode()).hexdigest()[:32]}"


def counted(before: Mapping[str, Any] | None, now: datetime | None = None) -> dict[str, Any]:
    """The count after one more submission.

    Examples
    --------
    >>> first = counted(None, datetime(2026, 12, 1, 12, tzinfo=UTC))
    >>> first, counted(first, datetime(2026, 12, 2, 0, tzinfo=UTC))
    ({'number': 1, 'day': '2026-12-01', 'today': 1}, {'number': 2, 'day': '2026-12-02', 'today': 1})
    """
    day = (now or datetime.now(UTC)).date().isoformat()
    number, today = (0, 0) if before is None else (before["number"], before["today"] if before["day"] == day else 0)
    return {"number": number + 1, "day": day, "today": today + 1}


def follows(before: Mapping[str, Any] | None, after: Mapping[str, Any], board: Board) -> bool:
    """Whether a count may come after another one, within the board's quotas: for those who add a ledger up again."""
    day = datetime.fromisoformat(after["day"]).replace(tzinfo=UTC)
    if before is not None and after["day"] < before["day"]:
        return False
    within = after["number"] <= (board.quota or after["number"]) and after["today"] <= (board.daily or after["today"])
    return within and counted(before, day) == dict(after)


def require_quota(view: View, board: Board, analyst: str) -> None:
    """Refuse one submission more than a participant has."""
    if board.quota is None and board.daily is None:
        return
    after = counted(view.account(account(board, analyst)))
    if board.quota is not None and after["number"] > board.quota:
        raise BudgetExhausted(
            f"{analyst!r} has made {board.quota} submissions, which is the most that the board {board.name!r} accepts "
            "from each participant; choose among these for the final; nothing was spent"
        )
    if board.daily is not None and after["today"] > board.daily:
        raise BudgetExhausted(
            f"{analyst!r} has made {board.daily} submissions today, which is the most that the board {board.name!r} "
            "accepts from each participant in a day; the next day begins at 00:00 UTC; nothing was spent"
        )


def left(view: View, board: Board, analyst: str) -> dict[str, int]:
    """How many submissions a participant has left: "in all" and "today", where they are limited."""
    before = view.account(account(board, analyst))
    after = counted(before)
    remaining = {}
    if board.quota is not None:
        remaining["in all"] = max(0, board.quota - after["number"] + 1)
    if board.daily is not None:
        today = max(0, board.daily - after["today"] + 1)
        remaining["today"] = min(today, remaining.get("in all", today))
    return remaining
