"""The shapes of requests and answers, for checking what comes in and for the OpenAPI page.

Questions and policies are checked by the guard itself, whose words are better; their schemas are made from its own
classes (`question_schema`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from holdfast.server.errors import CODES
from holdfast.server.question_schema import POLICY, QUESTION
from holdfast.server.roles import Role

NAME = r"^[A-Za-z0-9À-ÖØ-öø-ʯ][A-Za-z0-9À-ÖØ-öø-ʯ _.@+()-]*$"
"""How people name things here. No quotes, angle brackets or control characters, so that a name is harmless anywhere."""
Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=100, pattern=NAME),
    Field(description="Letters, digits, spaces and _.@+()-", examples=["people 2026"]),
]
"""What stewards call things."""

Reason = Annotated[str, StringConstraints(max_length=1000), Field(examples=["the quarter is over"])]
Identity = Annotated[str, StringConstraints(pattern=r"^[a-z]_[0-9a-f]{16}$")]
Question = Annotated[dict[str, Any], Field(json_schema_extra=QUESTION)]
PolicyData = Annotated[dict[str, Any], Field(json_schema_extra=POLICY)]
Whole = Annotated[int, Field(ge=0)]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False)


class NewToken(_In):
    """A token to be made."""

    role: Role
    name: Name
    expires: datetime | None = Field(
        default=None, description="By default 90 days from now", examples=["2030-01-31T12:00:00Z"]
    )
    guards: list[Identity] | None = Field(default=None, max_length=1000, description="The only guards that it reaches")


class RegisterSample(_In):
    """A file or table on the server's side, which must be one that the server was started to allow."""

    name: Name
    path: Annotated[str, StringConstraints(max_length=1000)] | None = Field(
        None, description="Below one of the allowed folders", examples=["people.parquet"]
    )
    source: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        default=None, description="An allowed source"
    )
    row_key: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    columns: list[dict[str, Any]] | None = Field(
        default=None, max_length=10_000, description="name, kind, values of each"
    )


class NewGuard(_In):
    """A guard to be made over a sample."""

    name: Name
    sample: Identity
    policy: PolicyData | None = Field(
        default=None, description="Left out: the policy that these rows were guarded by before"
    )
    allow_overlap: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = None


class Ask(_In):
    """One question."""

    question: Question


class AskMany(_In):
    """Questions that were chosen together."""

    questions: list[Question] = Field(min_length=1)


class WithReason(_In):
    """A steward's act."""

    reason: Reason = ""


class NewPolicy(_In):
    """A policy that takes over, and why."""

    policy: PolicyData
    reason: Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"\S")]


class TokenFacts(BaseModel):
    """A token, without its secret."""

    id: str
    role: Role
    name: str
    guards: list[str] | None
    created: datetime
    expires: datetime
    revoked: datetime | None


class IssuedToken(TokenFacts):
    """A token as it is shown once."""

    token: str


class Tokens(BaseModel):
    """Every token."""

    tokens: list[TokenFacts]


class Me(BaseModel):
    """What the token in use is."""

    id: str
    role: Role
    name: str
    guards: list[str] | None
    expires: datetime
    version: str
    public_key: str | None = Field(description="What signs receipts; pin it to verify them offline")


class SampleFacts(BaseModel):
    """A sample: what is public about it, and not where it lies."""

    id: str
    name: str
    origin: Literal["upload", "path", "source"]
    row_key: str | None
    fingerprint: str
    n: Whole
    schema_: dict[str, Any] = Field(alias="schema")
    created: datetime


class Samples(BaseModel):
    """Every sample."""

    samples: list[SampleFacts]


class GuardFacts(BaseModel):
    """A guard. Analysts see their own part of `analysts` only."""

    id: str
    name: str
    sample: str | None
    created: datetime
    dataset: str
    n: Whole
    schema_: dict[str, Any] = Field(alias="schema")
    policy: dict[str, Any]
    status: Literal["open", "paused", "closed", "expired"]
    overrides: Whole
    entries: Whole
    progress: dict[str, Any]
    remaining: dict[str, Any]
    analysts: dict[str, dict[str, Any]]


class Guards(BaseModel):
    """Every guard that the token reaches."""

    guards: list[GuardFacts]


class AnswerFacts(BaseModel):
    """An answer, as the ledger holds it, and its receipt."""

    value: Any
    interval: Any
    passed: bool | None
    cost: dict[str, Any] | None
    remaining: dict[str, Any]
    guarantee: dict[str, Any]
    details: dict[str, Any]
    sequence: Annotated[int, Field(ge=1)]
    repeated: bool
    receipt: dict[str, Any] | None


class Answers(BaseModel):
    """Answers in the order of the questions."""

    answers: list[AnswerFacts]


class EstimateFacts(BaseModel):
    """What asking would cost and give."""

    cost: dict[str, Any] | None
    half_width: float | None
    admitted: bool
    repeated: bool
    reason: str
    remaining: dict[str, Any]
    least_tolerance: float | None


class Remaining(BaseModel):
    """What may still be asked."""

    status: Literal["open", "paused", "closed", "expired"]
    yours: dict[str, Any]
    whole: dict[str, Any]


class Level(BaseModel):
    """At what level a further p-value from these rows must reject."""

    alpha: float
    level: float


class Adjusted(BaseModel):
    """What a further p-value from these rows is worth."""

    p: float
    adjusted: float


class EntryFacts(BaseModel):
    """An entry of the ledger."""

    dataset: str
    sequence: Annotated[int, Field(ge=1)]
    time: str
    kind: str
    body: dict[str, Any]
    analyst: str | None
    key: str | None
    question: str | None
    previous: str
    hash: str


class Entries(BaseModel):
    """A page of entries. `next` is the `first` of the page that follows, null at the end."""

    entries: list[EntryFacts]
    next: int | None


class VerificationFacts(BaseModel):
    """What was verified, and what is wrong."""

    ok: bool
    ledgers: Whole
    entries: Whole
    receipts: Whole
    overrides: Whole
    signers: list[str]
    findings: list[dict[str, Any]]


class ReportFacts(BaseModel):
    """What is listed of an audit report."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "r_0123456789abcdef",
                "name": "release of May",
                "title": "people.csv",
                "outcome": "LEAK BELOW ALPHA",
                "partial": False,
                "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "size": 48210,
                "uploader": "sam",
                "created": "2026-05-02T09:30:00+00:00",
                "published": None,
            }
        }
    )

    id: str
    name: str
    title: str
    outcome: str = Field(description="The verdict: INCOHERENT, LEAK BELOW ALPHA, LEAK, UNDERPOWERED or NO EVIDENCE")
    partial: bool = Field(description="Whether something failed in the audit")
    digest: str = Field(description="SHA-256 of the JSON file that `holdfast audit` wrote")
    size: Whole
    uploader: str
    created: datetime
    published: datetime | None = Field(description="Since when analysts see it; null: stewards only")


class Reports(BaseModel):
    """Every report that the token may see."""

    reports: list[ReportFacts]


class ProblemFacts(BaseModel):
    """RFC 9457 problem details. `code` is stable."""

    type: str
    title: str
    status: int
    detail: str
    code: Literal[tuple(CODES)]  # type: ignore[valid-type]
    request_id: str | None = None
    errors: list[dict[str, str]] | None = None


__all__ = [name for name in dir() if name[:1].isupper()]
