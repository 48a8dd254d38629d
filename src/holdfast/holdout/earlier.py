"""Runs that earlier versions wrote: what they showed, weighed by the prior of this one.

Earlier versions gave question `t` after `f` failures the share `beta a_t c_f/(C(t-1, f) K_1 ... K_f)`, where `K_i` is
the number of things that the i-th failure could have shown and `a_t` is 1/questions or `6/(pi^2 t^2)`. Whatever the
course, question `t` used at most `beta a_t` of the failure probability in all. So it has spent `a_t`, and what is left
may be spent by Theorem E with any prior for the past: the Beta mixture for passes and failures, and `1/K_i` for what
failures showed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.core import arguments
from holdfast.holdout.error_budget import Course


def earlier_entries(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of a transcript of format 1 as this version stores them."""
    lines = []
    for entry in entries:
        shown = arguments.whole("shown in the state", entry["shown"], at_least=1)
        lines.append(
            {name: entry[name] for name in ("question", "key", "passed", "value", "interval", "family")}
            | {
                "log_weight": -math.log(shown) if not entry["passed"] else 0.0,
                "log_share": None,
                "extra": 0.0,
                "risk": None,
                "spends": True,
            }
        )
    return lines


def earlier_course(answered: int, failed: int, log_shown: float) -> Course:
    """The course of a run of which an earlier version kept counts: `log_shown` is `ln` of the product of the `K_i`.

    Answers through noise were counted among the questions; they are read as passes, which costs later ones a little and
    is right.
    """
    return Course(answered, answered, failed, 0.0, -abs(log_shown))
