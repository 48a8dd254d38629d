"""The form with which a steward puts another policy in the place of the one that was fixed, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.server.pages.policy_form import number_of, shares_of

FIELDS = ("questions", "failures", "budget", "analysts", "expires", "reason", "sure")


def filled(policy: Mapping[str, Any]) -> dict[str, str]:
    r"""The form as it stands before anything is changed.

    Examples
    --------
    >>> plain = Policy(questions=50, analysts={"ann": 0.5}).to_dict()
    >>> filled(plain)["questions"], filled(plain)["analysts"]
    ('50', 'ann 50%')
    """
    cap = policy["privacy"] or {}
    budget = cap.get("epsilon", cap.get("rho"))
    shares = policy["analysts"] or {}
    return {
        "questions": "" if policy["questions"] is None else str(policy["questions"]),
        "failures": "" if policy["failures"] is None else str(policy["failures"]),
        "budget": "" if budget is None else f"{budget:.12g}",
        "analysts": "\n".join(f"{name} {share * 100:.10g}%" for name, share in shares.items()),
        "expires": (policy["expires"] or "")[:16],
        "reason": "",
        "sure": "",
    }


def policy_of(fields: Mapping[str, str], before: Mapping[str, Any]) -> Policy:
    """The policy that the form asks for: the one before it, with what was changed."""
    if not fields["reason"]:
        raise InvalidParameter("a reason must be given: it is recorded for good")
    if fields["sure"] != "yes":
        raise InvalidParameter("tick the box: after an override no later answer is certified")
    made = dict(before)
    for name in ("questions", "failures"):
        text = fields[name]
        made[name] = check.whole(name, number_of(name, text), at_least=0, at_most=10**9) if text else None
    if before["privacy"] is not None:
        unit = "epsilon" if before["privacy"].get("epsilon") is not None else "rho"
        made["privacy"] = before["privacy"] | {unit: number_of("privacy budget", fields["budget"])}
    made["analysts"] = shares_of(fields["analysts"]) or None
    made["expires"] = fields["expires"] or None
    changed = Policy.from_dict(made)
    if changed == Policy.from_dict(before):
        raise InvalidParameter("something must be changed: this is the policy that is in place")
    return changed


__all__ = ["FIELDS", "filled", "policy_of"]
