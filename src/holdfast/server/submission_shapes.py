"""The shapes of submissions and leaderboards, for the OpenAPI page. Clients rely on them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from holdfast.guard.scoring.board import Metric, Rule

Number = Annotated[int, Field(ge=1)]
Ends = Annotated[list[float], Field(min_length=2, max_length=2)]


class SubmissionFacts(BaseModel):
    """A scored submission, as the ledger holds it. The predictions themselves are not kept: only their digest."""

    sequence: Number = Field(description="The ledger's entry")
    time: datetime
    analyst: str
    board: str
    metric: Metric
    rule: Rule
    name: str
    predictions: str = Field(description="SHA-256 of the predictions in the order of their keys, or of the model")
    count: Number = Field(description="How many predictions there were; of a model, how many rows there are")
    guess: float | None
    tolerance: float | None
    value: float | None = Field(description="The score that is shown: a guess that stood, or rounded; null for none")
    interval: Ends | None = Field(description="Holds the score, with every other interval of the guard")
    passed: bool | None = Field(description="As in every answer; `confirmed` and `improved` say what it means here")
    cost: dict[str, Any] | None
    guarantee: dict[str, Any]
    details: dict[str, Any]
    improved: bool | None = Field(description="On a ladder: whether it beat the best so far")
    confirmed: bool | None = Field(description="On a board of intervals: whether the guess stood")
    certified: bool
    remaining: dict[str, Any]


class ScoredSubmission(SubmissionFacts):
    """What a submission is answered with."""

    repeated: bool = Field(description="Whether this submission was scored before; then it cost nothing now")
    receipt: dict[str, Any] | None


class Submissions(BaseModel):
    """A page of submissions in order. `next` is the `first` of the page that follows, null at the end."""

    submissions: list[SubmissionFacts]
    next: int | None


class PlaceFacts(BaseModel):
    """A place on a leaderboard."""

    sequence: Number
    time: datetime
    analyst: str
    name: str
    value: float | None
    interval: Ends | None
    improved: bool | None
    confirmed: bool | None
    rank: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = Field(
        description="The best and the worst rank that it can have, given all intervals"
    )
    tied: list[Number] = Field(description="Entries whose intervals overlap with this one's")
    certified: bool


class LeaderboardFacts(BaseModel):
    """A leaderboard, best first."""

    board: dict[str, Any] = Field(description="The board as the policy declares it")
    rising: bool = Field(description="Whether more is better")
    range: Ends
    confidence: float = Field(description="With which all intervals hold at once")
    submissions: Annotated[int, Field(ge=0)]
    places: list[PlaceFacts]


class BoardFacts(BaseModel):
    """A board as the policy declares it."""

    name: str
    key: str
    label: str
    metric: Metric
    rule: Rule
    step: float | None
    best: Literal["analyst", "board"]
    positive: Any
    eps: float
    low: float | None
    high: float | None
    models: bool = Field(description="Whether a model may be submitted in the place of predictions")


class Boards(BaseModel):
    """Every board of a guard."""

    boards: list[BoardFacts]


__all__ = [
    "BoardFacts",
    "Boards",
    "LeaderboardFacts",
    "PlaceFacts",
    "ScoredSubmission",
    "SubmissionFacts",
    "Submissions",
]
