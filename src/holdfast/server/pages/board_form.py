"""The part of the picker that sets a leaderboard up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.guard.scoring.board import Board
from holdfast.server.pages.policy_form import number_of

RULES: dict[str, tuple[str, str]] = {
    "intervals": (
        "Intervals",
        "Who submits says what score they expect. It is confirmed, or corrected with an interval.",
    ),
    "ladder": ("Ladder", "A score is shown only if it beats the best so far by a whole step. No guess needed."),
}
"""The rules to pick from."""

DEFAULTS = {
    "board": "",
    "board_key": "",
    "board_label": "",
    "board_metric": "accuracy",
    "board_rule": "intervals",
    "board_step": "",
    "board_positive": "",
    "board_low": "",
    "board_high": "",
    "board_models": "",
}


def board_of(fields: Mapping[str, str], kinds: Mapping[str, str]) -> dict[str, Any] | None:
    """The board that a filled form asks for, as plain data; None where its name is left empty.

    `kinds` are those of the sample's columns: the positive label is read as the label's kind.

    Examples
    --------
    >>> made = board_of(DEFAULTS | {"board": "churn", "board_key": "id", "board_label": "gone"}, {"gone": "boolean"})
    >>> made["metric"], made["rule"], made["models"], board_of(DEFAULTS, {})
    ('accuracy', 'intervals', False, None)
    """
    given = {name: fields.get(name) or usual for name, usual in DEFAULTS.items()}
    if not given["board"]:
        if given["board_key"] or given["board_label"]:
            raise InvalidParameter("the leaderboard must have a name")
        return None
    made: dict[str, Any] = {
        "name": given["board"],
        "key": given["board_key"],
        "label": given["board_label"],
        "metric": given["board_metric"],
        "rule": given["board_rule"],
    }
    if given["board_step"] and given["board_rule"] == "ladder":
        made["step"] = number_of("step", given["board_step"])
    if given["board_positive"]:
        made["positive"] = _value(given["board_positive"], kinds.get(given["board_label"], "text"))
    if given["board_metric"] == "mae":
        made |= {name: number_of(name, given[f"board_{name}"]) for name in ("low", "high")}
    if given["board_models"]:
        made["models"] = True
    return Board.from_dict(made).to_dict()


def _value(text: str, kind: str) -> Any:
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise InvalidParameter("the positive label must be true or false")
        return text.lower() == "true"
    return text if kind == "text" else number_of("the positive label", text)


__all__ = ["DEFAULTS", "RULES", "board_of"]
