"""Leaderboards: who is where as far as intervals tell, and the form that submits predictions."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse

from holdfast.core import arguments
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.contest import STYLE, Contest, ContestResult, contest
from holdfast.guard.leaderboard import Leaderboard, Place, Scores
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import View
from holdfast.guard.policy import SCORE
from holdfast.guard.questions.choose import Choose
from holdfast.guard.questions.contest_final import ContestFinal, finalists, intake_of
from holdfast.guard.questions.score import Score
from holdfast.guard.scoring import deadlines_and_quotas, ladder
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.ladder import Rungs
from holdfast.guard.state import GuardState
from holdfast.server.auth.tokens import Caller
from holdfast.server.guards import ask_all
from holdfast.server.http import Problem, StrictJSON, problem_of
from holdfast.server.pages import words
from holdfast.server.pages.policy_form import number_of
from holdfast.server.pages.rendering import field, form_of, go, member, page_router, show, steward
from holdfast.server.pages.welcome import standing_of
from holdfast.server.scheduling import at_multiples
from holdfast.server.state import Server, server_of
from holdfast.server.submissions import read_on
from holdfast.server.views import board_of, described, scored, scores_of, view_headers, wanted

# --- Board view -------------------------------------------------------------------------------------------------------
# A leaderboard as a page shows it: one reading of the ledger, places on one scale, and every submission in order.

METRICS: dict[str, tuple[str, str]] = {
    "accuracy": ("Accuracy", "the proportion of rows whose prediction equals the label"),
    "log-loss": ("Log-loss", "the mean of −ln of the probability that was predicted for the true label, clipped"),
    "brier": ("Brier score", "the mean squared error of the predicted probability"),
    "mae": ("Mean absolute error", "the mean distance between prediction and label, both clipped"),
    "auc": ("AUC", "how often a positive row is ranked above a negative row"),
    "f1": ("F1", "the harmonic mean of precision and recall"),
    "balanced-accuracy": ("Balanced accuracy", "the mean of the classes' recalls"),
    "macro-f1": ("Macro F1", "the mean of the F1 scores of the classes"),
    "kappa": ("Cohen's kappa", "agreement with the labels beyond what chance gives"),
    "top-k": ("Top-k accuracy", "the proportion of rows whose label is among the predicted ones"),
    "rmse": ("RMSE", "the root of the mean squared error, both clipped"),
    "r2": ("R²", "the part of the labels' variance that the predictions explain"),
    "mean": ("Mean of an expression", "the mean of an expression over prediction and label"),
    "ratio": ("Ratio of two means", "the mean of one expression divided by the mean of another"),
}
"""What each metric is called, and what it is."""

_PLACES, _STRIP = 5_000, 60


@dataclass(frozen=True)
class Row:
    """A place, with the score that its analyst claimed where the reader may know it."""

    place: Place
    rank: str
    tied: str
    claimed: float | None
    mine: bool


def view(scores: Scores, ledger: Ledger, board: str, caller: Caller) -> dict[str, Any]:
    """What the page needs: rows best first, the scale they are drawn on, and the latest submissions, oldest first.

    Everybody who reaches the guard sees every place. Claims are shown to those who made them and to stewards.
    """
    standings = scores.leaderboard(board, most=_PLACES)
    best = standings.places
    latest = [place for place in scores.submissions(board) if caller.sees(place.analyst)][-_STRIP:]
    claims = _claims(ledger, {place.sequence for place in (*best, *latest) if caller.sees(place.analyst)})
    rows = [_row(place, best, claims.get(place.sequence), caller) for place in best]
    scale = _scale(standings, [*best, *latest], claims)
    return {
        "found": standings,
        "rows": rows,
        "scale": scale,
        "latest": [(place, claims.get(place.sequence)) for place in reversed(latest)],
        "points": [_point(place, claims.get(place.sequence), scale) for place in latest],
        "summary": summary(rows),
        "step": Rungs.of(standings.board).step if standings.board.rule == "ladder" else None,
    }


def summary(rows: Sequence[Row]) -> str:
    """One sentence about a board for whoever has no time."""
    if not rows:
        return "There is no score on this leaderboard yet."
    if all(row.place.rank is None for row in rows):
        return f"{rows[0].place.analyst} has the best plain score. Plain scores certify nothing: the final decides."
    first, others = rows[0].place, [one.place for one in rows[1:] if one.place.rank and one.place.rank[0] == 1]
    if len(rows) == 1:
        return f"{first.analyst} is the only participant with a score."
    if not others:
        return f"{first.analyst} leads: no other interval overlaps this one."
    names = [place.analyst for place in others]
    listed = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    return f"{first.analyst} and {listed} cannot be told apart: their intervals overlap."


def _claims(ledger: Ledger, sequences: set[int]) -> dict[int, float]:
    claims = {}
    for sequence in sorted(sequences):
        for entry in ledger.entries(sequence, sequence):
            guess = entry.body["question"].get("guess")
            if guess is not None:
                claims[sequence] = float(guess)
    return claims


def _row(place: Place, best: Sequence[Place], claimed: float | None, caller: Caller) -> Row:
    known = {submission.sequence: submission.analyst for submission in best}
    tied = [known[sequence] for sequence in place.tied if sequence in known]
    words = "" if not tied else f"may swap with {', '.join(tied[:3])}" + (" and others" if len(tied) > 3 else "")
    return Row(place, place.rank_text, words, claimed, place.analyst == caller.name)


def _scale(found: Leaderboard, places: Sequence[Place], claims: Mapping[int, float]) -> tuple[float, float]:
    """The part of the metric's range that has something on it."""
    low, high = found.board.range
    ends = [end for place in places if place.interval is not None and place.value is not None for end in place.interval]
    ends += list(claims.values())
    ends += [place.value for place in places if place.interval is None and place.value is not None]
    if not ends:
        return low, high
    step = _round_step(max(max(ends) - min(ends), 0.02 * (high - low)) / 10)
    first, last = math.floor(min(ends) / step - 0.3) * step, math.ceil(max(ends) / step + 0.3) * step
    return max(low, round(first, 12)), min(high, round(last, 12))


def _round_step(rough: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten.

    Examples
    --------
    >>> _round_step(0.11), _round_step(0.03)
    (0.2, 0.05)
    """
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(unit * digit for digit in (1, 2, 5, 10) if unit * digit >= rough)


def _point(place: Place, claimed: float | None, scale: tuple[float, float]) -> dict[str, Any]:
    """A submission as `pictures.strip` draws it."""
    low, high = scale
    good = place.improved if place.improved is not None else place.confirmed
    kind = "plain" if good is None else "passed" if good else "failed"
    point: dict[str, Any] = {"kind": kind, "low": None, "high": None, "guess": None, "time": place.time}
    if place.interval is None and place.value is not None and high > low:  # a plain score: a short stroke
        point |= words.plain_stroke(_share(place.value, low, high))
    if place.interval is not None and place.value is not None and high > low:
        point |= {name: _share(end, low, high) for name, end in zip(("low", "high"), place.interval, strict=True)}
        if claimed is not None:
            point["guess"] = _share(claimed, low, high)
    return point


def _share(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


# --- Boards -----------------------------------------------------------------------------------------------------------

router = page_router()
FORMATS = {".csv": "csv", ".parquet": "parquet", ".json": "json"}
"""What may be sent, by how the file's name ends."""
_FIELDS = ("board", "guess", "tolerance", "name")


@router.get("/guards/{guard}/board")
async def board_page(request: Request, guard: str) -> Response:
    """A leaderboard, `?board=`, or the only one."""
    session = await member(request)
    return await _page(request, guard, session.caller, {"board": request.query_params.get("board", "")})


@router.post("/guards/{guard}/submissions")
async def submit(request: Request, guard: str) -> Response:
    """Score a file of predictions. The form's key makes sending it twice the same submission."""
    session = await member(request)
    server, caller = server_of(request), session.caller
    form = await form_of(request, session)
    fields = {name: field(form, name) for name in _FIELDS}
    try:
        question = await _question(server, guard, caller, form, fields)
        key = field(form, "key")[:64] or None
        async with at_multiples(server.settings.answer_grid):
            answer = await server.work(scored, server, guard, caller, question, key)
    except (Problem, HoldfastError) as error:
        problem = problem_of(error)
        if problem.code == "not-found":
            raise
        return await _page(request, guard, caller, fields, problem)
    finally:
        await form.close()
    server.metrics.answer(Score.kind, answer["repeated"])
    return go(f"/guards/{guard}/entries/{answer['sequence']}" + ("?again" if answer["repeated"] else ""))


async def _question(server: Server, guard: str, caller: Caller, form: FormData, fields: Mapping[str, str]) -> Score:
    board, schema, n = await server.work(wanted, server, guard, caller, fields["board"] or None)
    numbers = {name: number_of(name, fields[name]) if fields[name] else None for name in ("guess", "tolerance")}
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.size:
        raise InvalidParameter("choose a file with your predictions")
    format_ = FORMATS.get(Path(file.filename or "").suffix.lower())
    if format_ is None:
        raise InvalidParameter(f"the file's name must end in {', '.join(FORMATS)}")
    place = server.samples.fresh_file(format_)
    try:
        await server.work(_save, place, file.file)
        given = await read_on(server, place, format_, board, schema, n)
    finally:
        place.unlink(missing_ok=True)
    return Score(board.name, given, numbers["guess"], numbers["tolerance"], fields["name"])


@router.post("/guards/{guard}/final")
async def hold_final(request: Request, guard: str) -> Response:
    """Hold the next final of a contest. The form's box and its phase keep it from being held by accident, or twice."""
    session = await steward(request)
    server, caller = server_of(request), session.caller
    form = await form_of(request, session)
    fields = {name: field(form, name) for name in (*_FIELDS, "default", "phase", "sure")}
    try:
        if fields["sure"] != "yes":
            raise InvalidParameter("tick the box to confirm the final, which shows exact scores and ends the phase")
        phase = number_of("phase", fields["phase"])
        question = ContestFinal(fields["board"], fields["default"] or "best", phase)  # type: ignore[arg-type]
        await server.work(ask_all, server.guards, guard, caller, [question], None)
    except (Problem, HoldfastError) as error:
        problem = problem_of(error)
        if problem.code == "not-found":
            raise
        return await _page(request, guard, caller, fields, problem, "The final was not held.")
    return go(f"/guards/{guard}/board?board={quote(fields['board'])}")


@router.get("/guards/{guard}/result")
async def result_page(request: Request, guard: str) -> Response:
    """The result of a final, `?board=&phase=`, as a page of its own that runs nothing; `&as=json` or `csv` is data."""
    session = await member(request)
    server, asked = server_of(request), request.query_params

    def work() -> Response:
        state = contest(server.guards.ledger(guard, session.caller), asked.get("board"))
        return result_response(chosen_result(state, asked.get("phase")), asked.get("as"))

    return await server.work(work)


@router.get("/guards/{guard}/leaderboard.{kind}")
async def leaderboard_file(request: Request, guard: str, kind: str) -> Response:
    """The places as `json` or `csv`, for whoever reaches the guard."""
    session = await member(request)
    server = server_of(request)

    def work() -> Response:
        ledger = server.guards.ledger(guard, session.caller)
        board = board_of(ledger.look(GuardState.of).policy, request.query_params.get("board") or None)
        standings = scores_of(server, ledger).leaderboard(board.name, most=_PLACES)
        return exported(standings, kind, f"leaderboard of {standings.board.name}")

    return await server.work(work)


@router.post("/guards/{guard}/choose")
async def choose(request: Request, guard: str) -> Response:
    """Choose which of the own submissions take part in the final."""
    session = await member(request)
    server, caller = server_of(request), session.caller
    form = await form_of(request, session)
    fields = {name: field(form, name) for name in _FIELDS}
    try:
        entries = [
            arguments.whole("submissions", number_of("submissions", str(entry))) for entry in form.getlist("entry")
        ]
        question = Choose(fields["board"], entries)
        await server.work(ask_all, server.guards, guard, caller, [question], None)
    except (Problem, HoldfastError) as error:
        problem = problem_of(error)
        if problem.code == "not-found":
            raise
        return await _page(request, guard, caller, fields, problem, "Not chosen.")
    return go(f"/guards/{guard}/board?board={quote(fields['board'])}#every")


def chosen_result(found: Contest | None, phase: str | None) -> ContestResult:
    """The result of a phase, or of the latest one."""
    held = {} if found is None else {str(result.phase): result for result in found.results}
    named = phase or max(held, default="")
    if named not in held:
        raise Problem("not-found", "this final was not held yet")
    return held[named]


def result_response(result: ContestResult, kind: str | None) -> Response:
    """A result as a page that runs nothing, or as data. To be made by a worker: a large result takes a while."""
    if kind in ("json", "csv"):
        return exported(result, kind, f"result {result.phase} of {result.board}")
    return HTMLResponse(result.to_html(), headers=view_headers(STYLE))


def exported(found: Leaderboard | ContestResult, kind: str, name: str) -> Response:
    """A leaderboard or a result as JSON or CSV, under a file's name of plain letters."""
    if kind not in ("json", "csv"):
        raise Problem("not-found", "there is a json and a csv of this")
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
    headers = {"Content-Disposition": f'attachment; filename="{plain}.{kind}"'}
    if kind == "json":
        if isinstance(found, ContestResult):  # it keeps its text
            return Response(found.to_json(), media_type=StrictJSON.media_type, headers=headers)
        return StrictJSON(found.to_dict(), headers=headers)
    return Response(found.to_csv(), media_type="text/csv; charset=utf-8", headers=headers)


def contest_times(board: Board, stands: Contest | None) -> dict[str, Any]:
    """When submissions are taken and how many, in words, and what the contest's part of a page is headed."""
    phase = 1 if stands is None else min(stands.phase, stands.phases)
    deadline = deadlines_and_quotas.deadline_of(board, phase)
    moment = None if deadline is None else deadlines_and_quotas.moment_of(deadline)
    quotas = [f"{board.quota} submissions in all"] if board.quota is not None else []
    quotas += [f"{board.daily} submissions on one day of UTC"] if board.daily is not None else []
    heading = "" if stands is None else "The contest has ended" if stands.ended else "The contest is open"
    if stands is not None and stands.phases > 1 and not stands.ended:
        heading = f"Phase {stands.phase} of {stands.phases}"
    late = moment is not None and datetime.now(UTC) >= moment
    if stands is not None and stands.ended:
        deadline, quotas = None, []
    elif late and stands is not None:
        heading = "The final comes next"
    return {
        "heading": heading,
        "deadline": None if deadline is None else deadlines_and_quotas.deadline_words(deadline),
        "moment": None if moment is None else moment.isoformat(),
        "late": late,
        "quotas": f"Each participant has {' and '.join(quotas)}." if quotas else "",
    }


def own_finalists(ledger: Ledger, board: Board, analyst: str) -> set[int]:
    """The entries with which a participant takes part in the next final, chosen or by default."""
    own = [entry for entry in ledger.entries(1) if entry.analyst == analyst]
    taken = ledger.look(lambda view: [intake_of(view, entry) for entry in own])
    return {finalist.sequence for finalist in finalists(taken, board)}


def _is_first(view: View, board: Board, caller: Caller) -> bool:
    """Whether a ladder has nothing to beat yet for this caller, so that a score is claimed."""
    return ladder.place(view, ladder.account(board, caller.name)) is None


def _heading(code: str) -> str:
    return "The form or the file does not fit." if code == "invalid-parameter" else words.heading(code)


def _save(place: Path, source: Any) -> None:
    with place.open("xb") as file:
        place.chmod(0o600)
        while piece := source.read(1 << 20):
            file.write(piece)


async def _page(
    request: Request,
    guard: str,
    caller: Caller,
    fields: Mapping[str, str],
    problem: Problem | None = None,
    refused: str = "Not scored.",
) -> Response:
    server = server_of(request)
    if problem is not None:
        request.state.code = problem.code

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        standing = ledger.look(GuardState.of)
        named = [board.name for board in standing.policy.boards or ()]
        if not named:
            raise Problem("not-found", "this guard has no leaderboard")
        # A name that is none, or none among several, is no reason to show nothing.
        board = board_of(standing.policy, fields["board"] if fields.get("board") in named else named[0])
        facts = described(server, server.guards.row(guard), caller)
        is_first = partial(_is_first, board=board, caller=caller)
        stands = contest(ledger, board.name) if standing.policy.has_contest else None
        # A full budget stops showing scores, and not taking submissions for the final.
        taking = ("open",) if stands is None or stands.ended else ("open", "ended")
        # A score is a check of a share here, and as sharp.
        alike = board.rule == "intervals" and board.metric in ("accuracy", "brier")
        sharp = dict(words.sharpness(ledger)).get("A check") if alike else None
        return view(scores_of(server, ledger), ledger, board.name, caller) | {
            "guard": facts,
            "board": board,
            "boards": named,
            "sharp": sharp,
            "claims": board.rule == "intervals" or (board.rule == "ladder" and ledger.look(is_first)),
            "label_kind": standing.schema[board.label].kind,
            "takes": SCORE in (standing.policy.kinds or ()) and facts["status"] in taking,
            "contest": stands,
            "times": contest_times(board, stands),
            "left": {}
            if caller.steward
            else ledger.look(partial(deadlines_and_quotas.left, board=board, analyst=caller.name)),
            "mine": set() if stands is None else own_finalists(ledger, board, caller.name),
            "standing": standing_of(facts, caller),
        }

    values = await server.work(work)
    problem_words = (
        None if problem is None else {"heading": f"{refused} {_heading(problem.code)}", "why": problem.detail}
    )
    return show(
        request,
        "board.html",
        200 if problem is None else problem.status,
        **values,
        metrics=METRICS,
        shown_at=f"/guards/{guard}",
        fields={name: fields.get(name, "") for name in _FIELDS},
        key=secrets.token_hex(16),
        refusal=problem_words,
    )
