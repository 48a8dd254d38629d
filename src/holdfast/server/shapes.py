"""The shapes of requests and answers, for checking what comes in and for the OpenAPI page.

Questions and policies are checked by the guard itself, whose words are better; their schemas are made from its own
classes (`question_schema`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from holdfast.guard.scoring.board import Metric, Rule
from holdfast.server.auth.tokens import Role
from holdfast.server.http import CODES
from holdfast.server.question_schema import POLICY, QUESTION

# --- Shapes -----------------------------------------------------------------------------------------------------------

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
EpochName = Annotated[int, Field(ge=1)] | Literal["all"] | None
EPOCH: Any = Field(
    default=None,
    description="Of a guard that was extended: the number of an epoch, or `all` of them as one sample. By default the "
    "latest, where the guard is that of the first epoch",
)


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


class NewInvitation(_In):
    """An invitation to be made."""

    places: int | None = Field(
        default=None, ge=1, le=100_000, description="How many it lets in; by default 1, or 9 mates"
    )
    days: float = Field(default=30.0, gt=0, le=3650, description="How long it is good")
    team: Name | None = Field(default=None, description="The participant whose mates it lets in; by default new ones")


class Joining(_In):
    """Somebody who signs up by an invitation."""

    invitation: Annotated[str, StringConstraints(min_length=1, max_length=500)] = Field(
        description="Its text, or the link that has it"
    )
    name: Name | None = Field(default=None, description="What to be called; left out for a team's invitation")


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
        default=None, max_length=10_000, description="name, kind, and if known values and nullable of each"
    )


class NewGuard(_In):
    """A guard to be made over a sample."""

    name: Name
    sample: Identity
    policy: PolicyData | None = Field(
        default=None, description="Left out: the policy that these rows were guarded by before"
    )
    allow_overlap: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = None


class NewEpoch(_In):
    """The next epoch of a guard, over a sample of new rows."""

    name: Name
    sample: Identity


class Ask(_In):
    """One question."""

    question: Question
    epoch: EpochName = EPOCH


class AskMany(_In):
    """Questions that were chosen together."""

    questions: list[Question] = Field(min_length=1)
    epoch: EpochName = EPOCH


class Sql(_In):
    """A statement in SQL."""

    statement: Annotated[str, StringConstraints(min_length=1, max_length=20_000)] = Field(
        examples=["select sex, avg(income), count(*) from people where age between 20 and 30 group by sex"]
    )
    explain: bool = Field(default=False, description="Only say what it would cost; nothing is asked")
    practice: bool = Field(
        default=False, description="Answer from made-up rows of the declared columns: marked, kept nowhere, at no cost"
    )
    spend: dict[str, Any] | None = Field(default=None, description="What each of its questions may cost")


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
    row_key_numbered: bool | None = Field(
        description="Whether the row key is a running number, which unrelated samples have too; null if not known"
    )
    fingerprint: str
    n: Whole
    schema_: dict[str, Any] = Field(alias="schema")
    created: datetime


class Samples(BaseModel):
    """Every sample."""

    samples: list[SampleFacts]


Status = Literal["open", "paused", "closed", "expired", "ended"]


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
    status: Status
    overrides: Whole
    overlaps: Annotated[int, Field(ge=0, description="Other guards that have some of the same rows")]
    not_compared: Annotated[
        int,
        Field(
            ge=0,
            description="Guarded data sets that its rows could not be compared with when it was opened: those of "
            "earlier versions until they are opened with their rows, and damaged ones",
        ),
    ]
    epoch_number: Annotated[int, Field(ge=1, description="Which epoch of a guard that was extended this is")]
    epochs: Annotated[list[dict[str, Any]], Field(description="All of its epochs; empty where there is one")]
    entries: Whole
    progress: dict[str, Any]
    remaining: dict[str, Any]
    analysts: dict[str, dict[str, Any]]


class DamagedGuard(BaseModel):
    """A guard whose ledger contradicts itself, in a list: nothing that it holds is believed, or shown."""

    id: str
    name: str
    created: datetime
    dataset: str
    status: Literal["damaged"]
    problem: str = Field(description="What is wrong, for stewards; `holdfast verify` says more")


class Guards(BaseModel):
    """Every guard that the token reaches."""

    guards: list[GuardFacts | DamagedGuard]


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
    widening: float | None = Field(None, description="By what part later intervals are wider because of this answer")
    final_widening: float | None = Field(None, description="The same for the interval of a final")


class Answers(BaseModel):
    """Answers in the order of the questions."""

    answers: list[AnswerFacts]


class SqlFacts(BaseModel):
    """The table that a statement gave; with `explain`, `estimates`, `admitted` and `reason` instead of a table."""

    questions: list[dict[str, Any]]
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    intervals: list[dict[str, Any]] = Field(default=[], description="About the population")
    about_rows: list[dict[str, Any]] = Field(default=[], description="About these rows alone, through the noise")
    note: str = Field("", description="Which rows are in no group")
    practice: bool = Field(False, description="Whether it is about made-up rows")
    answers: list[AnswerFacts] = []
    cost: dict[str, Any] | None = None
    estimates: list[dict[str, Any]] = []
    admitted: bool = True
    reason: str = ""
    totals: list[float | None] = Field(
        default=[], description="With `explain`: half the width of each question that is shown as a count or a sum"
    )


class TestFacts(BaseModel):
    """What a test could show, by public numbers alone."""

    __test__ = False  # not a class of tests, whatever its name makes pytest think

    level: float
    least_p_value: float
    can_reject: bool
    method: str
    replicates: int | None
    proved: Literal["exact", "asymptotic", "empirical"]
    certified: bool
    inconclusive: float
    advice: list[str]


class EstimateFacts(BaseModel):
    """What asking would cost and give."""

    cost: dict[str, Any] | None
    half_width: float | None
    admitted: bool
    repeated: bool
    reason: str
    remaining: dict[str, Any]
    least_tolerance: float | None
    test: TestFacts | None
    passes_within: list[float] | None = Field(None, description="Between which values of the rows a guess passes")
    failure_price: dict[str, float | None] | None = Field(
        None, description="`widening` and `final_widening` of a guess that fails near its rows"
    )
    advice: str = Field("", description="Another policy that would give a much narrower answer")


class Remaining(BaseModel):
    """What may still be asked."""

    status: Status
    yours: dict[str, Any]
    total: dict[str, Any]


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
    """A page of entries. `next` is the `first` (or `before`) of the page after it, null at the end."""

    entries: list[EntryFacts]
    next: int | None


class VerificationFacts(BaseModel):
    """What was verified, what is wrong, and what is genuine and should be known."""

    ok: bool
    ledgers: Whole
    entries: Whole
    receipts: Whole
    overrides: Whole
    signers: list[str]
    findings: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    checkpoints: list[dict[str, Any]]


class TreeHeadFacts(BaseModel):
    """A signed head of the Merkle tree over a ledger's entries (RFC 6962)."""

    tree_head: Literal[1]
    dataset: str
    sequence: Whole
    root: str
    public_key: str
    signature: str


class InclusionFacts(BaseModel):
    """The path of hashes from an entry to the root over the first `size` entries, the lowest first."""

    inclusion: Literal[1]
    dataset: str
    sequence: Whole
    size: Whole
    path: list[str]


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
    """RFC 9457 problem details. `code` is stable; the parameter that was refused is named where one was."""

    type: str
    title: str
    status: int
    detail: str
    code: Literal[tuple(CODES)]  # type: ignore[valid-type]
    request_id: str | None = None
    errors: list[dict[str, str]] | None = None
    parameter: str | None = None
    value: bool | int | float | str | None = None
    allowed: str | None = None


# --- Submission shapes ------------------------------------------------------------------------------------------------
# The shapes of submissions and leaderboards, for the OpenAPI page. Clients rely on them.

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
    value: float | None = Field(description="The score that is shown: a guess that passed, or rounded; null for none")
    interval: Ends | None = Field(description="Holds the score, with every other interval of the guard")
    passed: bool | None = Field(
        description="As in every answer; `confirmed` and `improved` say what it means here: an improvement on a ladder "
        "is paid for as a failed check, and is none; a first submission to a ladder that has a guess is a check of it"
    )
    cost: dict[str, Any] | None
    guarantee: dict[str, Any]
    details: dict[str, Any]
    improved: bool | None = Field(
        description="On a ladder: whether it beat the best so far; of a repeat, whether nothing has beaten it since"
    )
    confirmed: bool | None = Field(description="On a board of intervals: whether the guess passed")
    certified: bool
    finished: bool = Field(description="False where a submitted model could not be evaluated on all rows")
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
    finished: bool = Field(description="False where a submitted model could not be evaluated on all rows")


class InvitationFacts(BaseModel):
    """What may be shown of an invitation."""

    id: str
    guard: str
    team: str | None = Field(description="Whose mates it lets in; null where it lets in new participants")
    places: int
    used: int
    inviter: str
    created: datetime
    expires: datetime
    revoked: datetime | None


class IssuedInvitation(InvitationFacts):
    """An invitation that was made. Its text is in this answer alone."""

    invitation: str = Field(description="hi_<id>_<secret>")
    link: str = Field(description="Where people sign up with it")


class Invitations(BaseModel):
    """Invitations to a guard, and who signed up by them."""

    invitations: list[InvitationFacts]
    participants: list[dict[str, Any]] = Field(description="Names, and when they signed up")


class Joined(BaseModel):
    """Somebody who signed up. The token is in this answer alone."""

    token: str
    name: str
    guard: str


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
    public_keys: bool = Field(description="Whether a submission that names no row of the sample is refused")
    baseline: float | None = Field(description="What a submission claims that claims no score where one is needed")
    known_rows: bool = Field(description="Whether the final assumes that labels alone are left to chance")
    classes: list[Any] | None = Field(description="Of metrics of classes: the labels that there are")
    k: int | None = Field(description="Of top-k: how many labels a prediction may name")
    expression: str | None = Field(description="Of a metric of one's own: what is averaged")
    denominator: str | None
    max_denominator: float | None
    greater_is_better: bool
    also: list[Metric] = Field(description="What the final shows next to the metric")
    deadline: list[str] | None = Field(description="Until when submissions are taken, by RFC 9557; one for each phase")
    quota: int | None = Field(description="Submissions of each participant in all")
    daily: int | None = Field(description="Submissions of each participant on one day of UTC")
    finalists: int = Field(description="Submissions that each participant may choose for a final")
    by: str | None = Field(description="The column in whose groups the final shows the metric too")
    by_values: list[Any] | None = Field(description="The groups of that column")
    groups: str | None = Field(description="The column of groups, each of which counts once")
    group_counts: list[int] | None = Field(description="Groups of the explored rows and of each reserve")
    public: bool = Field(description="Whether everybody sees the board without a token")


class ContestPlaceFacts(BaseModel):
    """A submission in the result of a final."""

    label: str
    analyst: str
    name: str
    sequence: int
    value: float | None
    interval: Ends
    rank: tuple[int, int]
    better_than: int = Field(description="How many others it is certainly better than")
    shown: float | None = Field(description="The score that was shown before the final")


class ContestResultFacts(BaseModel):
    """The result of a final, best score first."""

    board: str
    metric: Metric
    rising: bool
    phase: int
    phases: int
    n: int = Field(description="Reserved rows that it was decided on")
    confidence: float
    places: list[ContestPlaceFacts]
    better: list[tuple[str, str]] = Field(description="Labels of which the first is certainly better than the second")
    certified: bool
    assumption: str
    time: str
    dataset: str
    sequence: int
    hash: str
    also: dict[str, Any] = Field(description="By further metrics and in groups: values and intervals by label")
    receipt: dict[str, Any] | None
    late: int = Field(description="Submissions and choices that came in while it was computed")
    groups: str | None = Field(description="The column of groups, which n counts then")
    small_groups: list[str] = Field(description="The metric in groups of fewer than 10 reserved rows, not shown")


class RevealedAnswer(BaseModel):
    """An answer with its exact value."""

    sequence: int
    value: Any
    interval: Any


class Revealed(BaseModel):
    """Every answer before the first final of a contest, in order; empty before it."""

    revealed: list[RevealedAnswer]


class ContestFacts(BaseModel):
    """Where a contest stands."""

    board: dict[str, Any] = Field(description="The board as the policy declares it")
    phase: int = Field(description="The phase that is on, counted from 1; one more than phases after the last final")
    phases: int
    explored: int = Field(description="Rows that scores are shown of")
    reserved: list[int] = Field(description="Rows of each final")
    submissions: int
    participants: int
    without_score: int = Field(description="Submissions that were taken without showing a score")
    finalists: list[str] = Field(description="What would take part in a final now")
    half_width: float | None = Field(description="How sharp a score would be now")
    questions_left: int | None
    failures_left: int | None
    warnings: list[str] = Field(description="What the host should know; empty for analysts")
    results: list[ContestResultFacts]


class Boards(BaseModel):
    """Every board of a guard."""

    boards: list[BoardFacts]


# --- Report schema ----------------------------------------------------------------------------------------------------
# The JSON Schema of an audit report, for the OpenAPI page, and the smallest one that there can be.

_FINDING: dict[str, Any] = {
    "group": "sex = 2",
    "size": 600,
    "learner": "linkage",
    "lens": "everything",
    "status": "NO EVIDENCE",
    "mean": 0.041,
    "floor": 0.043,
    "excess": -0.002,
    "excess_low": -0.01,
    "excess_high": 0.006,
    "largest": 0.09,
    "above": 0,
    "measured": 60,
    "asked": 60,
    "lower": 0.0,
    "upper": 0.0487,
    "noise_share": 0.0,
    "p_value": 0.55,
    "p_adjusted": 0.55,
    "least_p": 0.001,
    "depends": False,
    "membership_p": 0.4,
    "size_needed": None,
    "sentences": ["The mean distance is 0.041; chance alone gives these predictors 0.043."],
}
_CASE: dict[str, Any] = {
    "learner": "linkage",
    "lens": "everything",
    "outcome": "NO EVIDENCE",
    "omnibus": 0.55,
    "omnibus_adjusted": 0.55,
    "test": "cross-evaluation",
    "least_p": 0.001,
    "splits": 60,
    "asked": 60,
    "above": 0,
    "lower": 0.0,
    "upper": 0.0487,
    "noise_share": 0.0,
    "sentence": "linkage, lens everything: no dependence on the split was seen.",
}
EXAMPLE: dict[str, Any] = {
    "schema": 1,
    "title": "people.csv",
    "outcome": "NO EVIDENCE",
    "exit_status": 0,
    "partial": False,
    "alpha": 0.5,
    "beta": 0.05,
    "level": 0.05,
    "paragraph": "NO EVIDENCE: in 1 group no dependence on who was released was seen.",
    "findings": [_FINDING],
    "cases": [_CASE],
    "sensitivity": [{"alpha": 0.5, "outcome": "NO EVIDENCE", "incoherent": [], "unjudged": 0}],
    "messages": [],
    "mode": "repeated",
    "rows": 1200,
    "splits": 60,
    "too_small": [],
    "too_small_unnamed": 0,
    "offenders": [["linkage", "everything", "sex = 2"]],
    "distributions": [],
    "curves": [],
    "repeats": [],
    "utilities": [],
    "limits": [],
    "theory": [],
    "setting": {"splits": "60"},
    "failures": [],
}
"""A report that the library reads, with one group."""

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def _schema(plain: Any) -> dict[str, Any]:
    """The schema of data that looks like an example; texts and lists may be empty, numbers may be whole."""
    schema: dict[str, Any] = {"type": _TYPES[type(plain)]}
    if isinstance(plain, dict):
        schema |= {"properties": {k: _schema(v) for k, v in plain.items() if v is not None}, "required": list(plain)}
    return schema


REPORT: dict[str, Any] = _schema(EXAMPLE) | {
    "title": "Report",
    "description": "What `holdfast audit --out NAME.html` writes to NAME.json; read strictly",
    "additionalProperties": False,
}
REPORT["properties"]["schema"] = {"const": 1}
REPORT["properties"]["setting"] = {"type": "object", "additionalProperties": {"type": "string"}}
