"""`holdfast guard`: stewarding guards on a ledger: open, show, log, pause, resume, close, override."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from holdfast.cli import output, remote
from holdfast.cli.guard_input import open_sample, policy_of, read_policy, store_at

_LEDGER = typer.Argument(..., help="A ledger file, or a postgresql:// address.")
_DATASET = typer.Option(None, "--dataset", help="The beginning of the data set's fingerprint; needed among several.")
_POLICY = typer.Option(None, "--policy", help="A JSON file with the policy; the options below go on top.")
_NEW_POLICY = typer.Option(..., "--policy", help="A JSON file with the policy that takes over.")
_REASON = typer.Option("", "--reason", help="Why; recorded.")
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    guard = typer.Typer(help="Steward guards: one door to a sample, and a ledger of what went through it.")
    for name, command in (("open", open_), ("show", show), ("log", log), ("override", override)):
        guard.command(name)(command)
    guard.command("pause")(_status("paused", "Answer nothing until `resume`."))
    guard.command("resume")(_status("open", "Answer again."))
    guard.command("close")(_status("closed", "Answer nothing any more, for good."))
    app.add_typer(guard, name="guard", no_args_is_help=True)


def open_(
    ledger: str = _LEDGER,
    sample: str = typer.Argument(..., help="A .csv or .parquet file with the rows."),
    policy: Path = _POLICY,
    confidence: float = typer.Option(None, "--confidence", help="Probability that every answer holds."),
    privacy: str = typer.Option(None, "--privacy", help="Cap on private questions: pure-dp:EPSILON or zcdp:RHO."),
    spend: str = typer.Option(None, "--spend", help="What a private question costs that names no cost."),
    accounting: str = typer.Option(None, "--accounting", help="filter (a cap) or odometer (a count)."),
    answers: str = typer.Option(None, "--answers", help="mixed, or means: the narrowest intervals for means alone."),
    questions: int = typer.Option(None, "--questions", help="Cap on the number of questions."),
    failures: int = typer.Option(None, "--failures", help="Cap on failed checks that show a value."),
    analyst: list[str] = typer.Option([], "--analyst", help="NAME=SHARE; repeat it."),  # noqa: B008
    expires: str = typer.Option(None, "--expires", help="When it stops answering, e.g. 2030-01-31T12:00 (UTC)."),
    row_key: str = typer.Option(None, "--row-key", help="The column that names the person behind each row."),
    allow_overlap: str = typer.Option(None, "--allow-overlap", help="Why a sample that shares rows may be opened."),
    as_json: bool = _JSON,
) -> None:
    """Put a sample behind a guard. A sample that was opened before keeps its policy and what it has left."""
    from holdfast.guard import Guard

    given = {
        "confidence": confidence,
        "privacy": privacy,
        "spend": spend,
        "accounting": accounting,
        "answers": answers,
        "questions": questions,
        "failures": failures,
        "expires": expires,
    }
    rows = open_sample(sample, row_key)
    with store_at(ledger, create=True) as store:
        guard = Guard.open(store, rows, policy_of(policy, given, analyst), allow_overlap=allow_overlap)
        found = guard.describe()
    rows.close()
    _print(found, as_json)


def show(ledger: str = _LEDGER, dataset: str = _DATASET, as_json: bool = _JSON) -> None:
    """Show what is guarded: policy, status, progress and what is left. LEDGER may be a server's https:// address."""
    from holdfast.guard.stewarding import describe, find

    if remote.is_address(ledger):
        found = remote.describe(ledger, dataset)
    else:
        with store_at(ledger) as store:
            found = [
                describe(one)
                for one in (map(store.ledger, store.datasets()) if dataset is None else [find(store, dataset)])
            ]
    if dataset is not None or len(found) == 1:
        _print(found[0], as_json)
    elif as_json:
        output.print_json({"guards": found})
    else:
        rows = [(one["dataset"][:12], one["n"], one["status"], _left(one["remaining"])) for one in found]
        output.table("Guards", ("data set", "rows", "status", "left"), rows)


def log(
    ledger: str = _LEDGER,
    dataset: str = _DATASET,
    last: int = typer.Option(20, "--last", help="How many entries, counted from the end."),
    as_json: bool = _JSON,
) -> None:
    """Show the last entries of a ledger."""
    from holdfast import check
    from holdfast.guard.stewarding import find

    last = check.whole("--last", last, at_least=1)
    with store_at(ledger) as store:
        chain = find(store, dataset)
        entries = list(chain.entries(max(1, chain.head().sequence - last + 1)))
    if as_json:
        output.print_json({"entries": [entry.to_dict() for entry in entries]})
        return
    rows = [(e.sequence, e.time[:19], e.kind, e.analyst or "", _what(e.body)) for e in entries]
    output.table("Ledger", ("entry", "time (UTC)", "kind", "analyst", "what"), rows)


def override(
    ledger: str = _LEDGER,
    policy: Path = _NEW_POLICY,
    reason: str = typer.Option(..., "--reason", help="Why; recorded."),
    dataset: str = _DATASET,
    as_json: bool = _JSON,
) -> None:
    """Put another policy in place. What was spent stays spent; answers after it say that they are not certified."""
    from holdfast.guard.policy import Policy
    from holdfast.guard.stewarding import describe, find
    from holdfast.guard.stewarding import override as change

    with store_at(ledger) as store:
        chain = find(store, dataset)
        change(chain, Policy.from_dict(read_policy(policy)), reason)
        _print(describe(chain), as_json)


def _status(status: Any, words: str) -> Any:
    def change(ledger: str = _LEDGER, dataset: str = _DATASET, reason: str = _REASON, as_json: bool = _JSON) -> None:
        from holdfast.guard.stewarding import describe, find, set_status

        with store_at(ledger) as store:
            chain = find(store, dataset)
            set_status(chain, status, reason)
            _print(describe(chain), as_json)

    change.__doc__ = f"{words} Recorded with its reason."
    return change


def _print(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        output.print_json(found)
        return
    policy = found["policy"]
    output.facts(
        f"Guard {found.get('name', found['dataset'][:12])}",
        [
            ("status", found["status"]),
            ("rows", f"{found['n']:,}"),
            ("columns", ", ".join(f"{one['name']} {one['kind']}" for one in found["schema"]["columns"])),
            ("confidence", policy["confidence"]),
            (
                "privacy",
                "none" if policy["privacy"] is None else f"{_cost(policy['privacy'])} ({policy['accounting']})",
            ),
            ("questions allowed", ", ".join(policy["kinds"])),
            ("answered", f"{found['progress']['answered']}, {found['progress']['failed']} failed"),
            ("left", _left(found["remaining"])),
            *((f"left for {name}", _left(left)) for name, left in found["analysts"].items()),
            ("expires", policy["expires"] or "never"),
            ("ledger entries", found["entries"]),
        ],
    )


def _left(left: dict[str, Any]) -> str:
    parts = [f"{v:g} {k}" for k, v in left.items() if isinstance(v, (int, float))]
    parts += [f"spent {_cost(v)}" for k, v in left.items() if k == "spent"]
    return ", ".join(parts) or "no cap"


def _cost(cost: dict[str, Any]) -> str:
    return f"{cost['kind']} " + " ".join(f"{k} {v:g}" for k, v in cost.items() if k != "kind")


def _what(body: dict[str, Any]) -> str:
    """One line about an entry: nothing but what was released or recorded."""
    if "answer" in body:
        answer = body["answer"]
        passed = {True: "passed ", False: "failed ", None: ""}[answer["passed"]]
        return f"{body['question']['kind']}: {passed}{json.dumps(answer['value'])[:60]}"
    if "question" in body:
        return str(body["question"]["kind"])
    return str(body.get("reason") or "")


__all__ = ["register"]
