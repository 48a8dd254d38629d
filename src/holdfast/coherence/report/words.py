"""What an audit can and cannot show, in plain sentences that every report carries."""

CAN = (
    "That the predictions for a group differ between people in the release and people held out by more than chance "
    "gives, for the learners, lenses and groups that were tried.",
    "How large that difference is, with the floor that chance alone gives at this group size beside it.",
    "With repeated splits: that the release breaks the tolerance alpha more often than beta allows, on this data.",
)
CANNOT = (
    "That a release is safe. Another learner, another lens or another group may show what these did not.",
    "Anything about other data, or about people who are not in this file.",
    "Whether predictions are right: accuracy never enters, only the difference that being released makes.",
    "Other harms, such as singling people out: coherence is one necessary condition beside others.",
    "Leaks in groups that are too small for this alpha: there, chance alone exceeds it.",
)
SINGLE = (
    "How often alpha is exceeded: the release was made once, so there is one split and no probability to estimate.",
    "Anything at all, if who was in the release was not decided by a uniformly random choice.",
)
PARTIAL = ("What is missing would have shown. It is listed above and counts neither as passed nor as failed.",)

__all__ = ["CAN", "CANNOT", "PARTIAL", "SINGLE"]
