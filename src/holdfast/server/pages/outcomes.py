"""The verdicts of audits in plain words."""

from __future__ import annotations

OUTCOMES: dict[str, tuple[str, str, str]] = {
    "INCOHERENT": ("bad", "✗", "Who was released changes what is predicted about people, by more than was allowed."),
    "LEAK BELOW ALPHA": ("warn", "!", "Predictions depend on who was released, but less than was allowed."),
    "LEAK": ("warn", "!", "Predictions depend on who was released. How much is usual, one split cannot say."),
    "UNDERPOWERED": ("warn", "?", "Nothing was found, but the audit could not have found everything it asks about."),
    "NO EVIDENCE": ("good", "✓", "No dependence on who was released was seen. That is no proof that there is none."),
}
"""Each verdict: its colour, its mark, and a sentence for somebody who has not read the paper."""

__all__ = ["OUTCOMES"]
