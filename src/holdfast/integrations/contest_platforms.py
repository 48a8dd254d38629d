"""Codabench and EvalAI: a scoring program and an `evaluate()` that have predictions scored by a guard.

Both platforms call a program of the host with a file of predictions and show what it returns. Here the program hands
the file to a guard, which shows what the rule of its board allows, and the platform shows that. Where the guard is, is
said by a small JSON file that the host puts next to the reference data:

- `{"server": "https://...", "guard": "contest", "board": "income", "tokens": {"7": "hf_..."}}`: a guard of a server,
  and the token of each participant. A server knows participants by their tokens alone. EvalAI says which team submits,
  so `tokens` has the token of each by its number or its name. Codabench tells its programs nothing about who submits,
  so participants send their own token along in `claim.json`. With `"one_participant": true` everything that is sent
  counts as that of the token in the environment variable `HOLDFAST_TOKEN`, with one quota and one place;
- `{"ledger": "postgresql://... or a file", "rows": "rows.csv", "board": "income"}`: a ledger, and the hidden rows; a
  path that is not absolute is counted from the JSON file. Platforms throw their containers away, so a ledger in a file
  must be on a volume that stays.

A platform that runs `python -m holdfast.integrations.contest_platforms INPUT OUTPUT` runs the Codabench program.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from holdfast.core.strict_json import read_json, to_json
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.analyst import AnalystGuard

SETTINGS = "holdfast.json"
"""The file next to the reference data that says where the guard is."""
CLAIM = "claim.json"
"""A file that a participant may send along: `{"guess": 0.8, "name": "my first", "token": "hf_..."}`."""
FORMATS = (".csv", ".parquet", ".json")
_KNOWN = {"server", "guard", "ledger", "rows", "board", "boards", "split", "analyst", "tokens", "one_participant"}


@contextmanager
def guard_of(
    settings: Mapping[str, Any], folder: Path, analyst: str, token: str | None = None
) -> Iterator[AnalystGuard]:
    """The guard that the settings name, as one participant asks it: under a name, or on a server with a token."""
    if settings.get("server") is not None:
        from holdfast.client import connect

        if token is None and settings.get("one_participant") is not True:
            raise InvalidParameter(
                f"{SETTINGS} names a server, so it must say who submits: tokens with the token of each team (EvalAI), "
                f"or {CLAIM} with the participant's own token (Codabench); with one_participant: true everybody "
                "counts as one participant. Nothing was spent"
            )
        with connect(settings["server"], token, guard=settings.get("guard")) as connection:
            yield connection.guard()
        return
    from holdfast.data import table
    from holdfast.guard.guard import Guard
    from holdfast.guard.ledger import open_store

    ledger = str(settings["ledger"])
    where = ledger if "://" in ledger else folder / ledger
    with open_store(where) as store:
        yield Guard.open(store, table(folder / str(settings["rows"]))).for_analyst(analyst)


def read_settings(path: Path) -> dict[str, Any]:
    """Return where the guard is; `InvalidParameter` says what is missing."""
    try:
        settings = read_json(path.read_bytes())
    except OSError:
        raise InvalidParameter(
            f"{path.name} must be next to the reference data, because it says where the guard is"
        ) from None
    if not isinstance(settings, dict) or not set(settings) <= _KNOWN:
        raise InvalidParameter(
            f"{path.name} must be an object with some of these members and no others: {', '.join(sorted(_KNOWN))}"
        )
    if settings.get("server") is None and not {"ledger", "rows"} <= set(settings):
        raise InvalidParameter(f"{path.name} must name a server, or a ledger and rows")
    tokens = settings.get("tokens", {})
    if not isinstance(tokens, dict) or not all(isinstance(one, str) for one in tokens.values()):
        raise InvalidParameter(f"tokens in {path.name} must be an object with the token of each team")
    if not isinstance(settings.get("one_participant", False), bool):
        raise InvalidParameter(f"one_participant in {path.name} must be true or false")
    return settings


def scored(
    settings: Mapping[str, Any],
    folder: Path,
    file: Path,
    *,
    board: str | None,
    analyst: str,
    claim: Mapping[str, Any] | None = None,
    token: str | None = None,
) -> dict[str, Any]:
    """Have a file of predictions scored; what may be shown of it.

    Returns
    -------
    dict
        `score`, `low` and `high` where something is shown; `certified` is 1 where the interval is; `sentence` says it
        in words.
    """
    claimed = claim or {}
    with guard_of(settings, folder, analyst, token) as guard:
        answer = guard.submit(file, board=board, guess=claimed.get("guess"), name=str(claimed.get("name", ""))[:100])
    shown: dict[str, Any] = {}
    if answer.value is not None:
        shown["score"] = float(answer.value)
    if answer.interval is not None:
        shown |= {"low": float(answer.interval[0]), "high": float(answer.interval[1])}
    certified = answer.guarantee.certified and answer.interval is not None
    return shown | {"certified": int(certified), "sentence": str(answer)}


# --- Codabench --------------------------------------------------------------------------------------------------------


def score_folder(given: Path, out: Path) -> dict[str, Any]:
    r"""Score a submission on Codabench: predictions from `res/`, the host's data from `ref/`, and `scores.json` as
    the output.

    `detailed_results.html` says in words what was shown. An error of the participant is raised, so that the platform
    shows the submission as failed with the text of the error. In that case nothing was spent.

    Examples
    --------
    >>> import tempfile
    >>> import holdfast as hf
    >>> given = Path(tempfile.mkdtemp())
    >>> (given / "res").mkdir()
    >>> (given / "ref").mkdir()
    >>> rows = "id,rich\n" + "".join(f"{i},{str(i % 4 == 0).lower()}\n" for i in range(2000))
    >>> _ = (given / "ref" / "rows.csv").write_text(rows)
    >>> board = hf.guard.Board("income", key="id", label="rich", metric="accuracy", baseline=0.75)
    >>> with hf.guard.ledger.open_store(given / "ref" / "ledger.db") as store:
    ...     _ = hf.Guard.open(store, hf.data.table(given / "ref" / "rows.csv"), hf.guard.Policy(boards=[board]))
    >>> _ = (given / "ref" / "holdfast.json").write_text('{"ledger": "ledger.db", "rows": "rows.csv"}')
    >>> _ = (given / "res" / "p.csv").write_text("id,prediction\n" + "".join(f"{i},false\n" for i in range(2000)))
    >>> score_folder(given, given / "output")["score"]
    0.75
    """
    sent, reference = given / "res", given / "ref"
    settings = read_settings(reference / SETTINGS)
    claim = sent / CLAIM
    files = sorted(one for one in sent.rglob("*") if one.suffix.lower() in FORMATS and one.name != CLAIM)
    if len(files) != 1:
        raise InvalidParameter(
            f"the submission must have one file of predictions ({', '.join(FORMATS)}), got {len(files)}"
        )
    claimed = read_json(claim.read_bytes()) if claim.exists() else {}
    if not isinstance(claimed, dict) or not isinstance(claimed.get("token", ""), str):
        raise InvalidParameter(
            f"{CLAIM} must be an object with some of guess, name and token, and the token must be a text"
        )
    found = scored(
        settings,
        reference,
        files[0],
        board=settings.get("board"),
        analyst=str(settings.get("analyst", "codabench")),
        claim=claimed,
        token=claimed.get("token"),
    )
    out.mkdir(parents=True, exist_ok=True)
    scores = {name: value for name, value in found.items() if name != "sentence"}
    (out / "scores.json").write_text(to_json(scores), encoding="utf-8")
    page = f"<!doctype html><meta charset=utf-8><title>Result</title><p>{escape(found['sentence'])}</p>"
    (out / "detailed_results.html").write_text(page, encoding="utf-8")
    return scores


# --- EvalAI -----------------------------------------------------------------------------------------------------------


def evaluate(
    test_annotation_file: str, user_submission_file: str, phase_codename: str, **kwargs: Any
) -> dict[str, list[dict[str, dict[str, float]]]]:
    """Score a submission on EvalAI. The annotation file has the settings, and the result has one entry for the
    split.

    In the settings `{"boards": {"dev": "income"}}` names the leaderboard of each phase. `split` is EvalAI's name of the
    split, by default `test_split`. The participant is `participant_team` in the metadata that EvalAI hands over. If the
    guard is on a server, `tokens` has the token for this number or for `participant_team_name`. The host's `main.py`
    needs only `from holdfast.integrations.contest_platforms import evaluate`.

    Examples
    --------
    >>> evaluate("nothing.json", "predictions.csv", "dev")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: nothing.json must be next to the reference data, because it says where the ...
    """
    path = Path(test_annotation_file)
    settings = read_settings(path)
    boards = settings.get("boards") or {}
    metadata = kwargs.get("submission_metadata")
    about = metadata if isinstance(metadata, Mapping) else {}
    team, tokens = about.get("participant_team"), settings.get("tokens", {})
    names = [str(one) for one in (team, about.get("participant_team_name")) if one is not None]
    found = scored(
        settings,
        path.parent,
        Path(user_submission_file),
        board=boards.get(phase_codename, settings.get("board")),
        analyst=str(settings.get("analyst", "evalai")) if team is None else f"team {team}",
        token=next((tokens[name] for name in names if name in tokens), None),
    )
    scores = {name.capitalize(): float(value) for name, value in found.items() if name != "sentence"}
    return {"result": [{str(settings.get("split", "test_split")): scores}]}


def main(arguments: Sequence[str]) -> int:
    """Return the Codabench program: two folders; one line on standard error where a submission is refused."""
    if len(arguments) != 2:
        sys.stderr.write("give the input folder and the output folder\n")
        return 2
    try:
        score_folder(Path(arguments[0]), Path(arguments[1]))
    except (HoldfastError, json.JSONDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


__all__ = ["evaluate", "score_folder"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
