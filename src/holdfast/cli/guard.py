"""`holdfast guard`: guards of a ledger or a server: open, extend, list, show, log, pause, resume, close, override."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import ledgers, output
from holdfast.cli.ledgers import (
    described,
    has_guard,
    open_sample,
    policy_of,
    read_policy,
    refuse_swapped,
    stewarded,
    store_at,
)
from holdfast.core import arguments
from holdfast.data.schema import column_words
from holdfast.errors import HoldfastError, InvalidParameter

if TYPE_CHECKING:
    from holdfast.guard.guard import Guard
    from holdfast.guard.policy import Policy

_LEDGER = typer.Argument(
    ...,
    help="The ledger in which the guard's questions are recorded (a file or a postgresql:// address), or the "
    "http(s):// address of a server.",
)
_SAMPLE = typer.Argument(
    ...,
    help="The data set to guard: a file, a folder of files, or the address of a database (--table names its table).",
)
_DATASET = typer.Option(
    None,
    "--dataset",
    help="Which data set, if there are several: the first characters of its fingerprint (`holdfast guard list` shows "
    "fingerprints). With a server, the guard's name or id.",
)
_POLICY = typer.Option(
    None,
    "--policy",
    help="A JSON file with the policy (the rules of the guard). Options such as --questions replace fields of this "
    "policy.",
)
_NEW_POLICY = typer.Option(..., "--policy", help="A JSON file with the new policy (the rules of the guard).")
_SHARES = "with {} other guarded data sets: answers since then are not certified"
_NOT_COMPARED = (
    "with {} guarded data set{}, opened by an earlier version or damaged: open each once with its rows, then it is "
    "compared"
)
_REASON = typer.Option("", "--reason", help="The reason, as a text. The ledger records it.")
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")
_HELP = """Create and manage guards (for data owners). A guard answers questions about a data set and records each
question in a ledger.

The access token of a server is read from the environment variable HOLDFAST_TOKEN."""


_GROUPS = {
    "Policy": ("policy", "yes", "questions", "failures", "confidence", "answers", "plan", "repeats", "expires"),
    "Privacy": ("privacy", "spend", "accounting", "all_private"),
    "Final": ("final", "reserve", "reserve_by"),
    "Analysts": ("histories", "analyst"),
    "Data": ("row_key", "engine", "table", "schema", "allow_overlap", "name"),
    "Output": ("as_json",),
}
"""The options of `open` in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    guard = typer.Typer(help=_HELP)
    commands = (
        ("extend", extend),
        ("list", list_),
        ("show", show),
        ("log", log),
        ("override", override),
        ("close", close),
    )
    guard.command("open", cls=output.grouped(_GROUPS))(open_)
    for name, command in commands:
        guard.command(name)(command)
    guard.command("create", hidden=True, cls=output.grouped(_GROUPS))(open_)
    guard.command("status", hidden=True)(show)
    guard.command("pause")(_status("paused", "Pause a guard: it answers no question until `holdfast guard resume`."))
    guard.command("resume")(_status("open", "Let a paused guard answer again."))
    app.add_typer(guard, name="guard", no_args_is_help=True)


def open_(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    policy: Path = _POLICY,
    confidence: float = typer.Option(
        None,
        "--confidence",
        help="Probability with which all intervals together contain the population values (default: 0.95).",
    ),
    privacy: str = typer.Option(
        None,
        "--privacy",
        help="The privacy budget of all questions that are answered with noise, together: pure-dp:EPSILON or "
        "zcdp:RHO. Without a budget such questions are refused. With --answers means: gdp:MU, the most that the "
        "noise of all means may cost.",
    ),
    spend: str = typer.Option(
        None, "--spend", help="The privacy cost of a noisy question that gives no cost of its own, e.g. pure-dp:0.01."
    ),
    accounting: str = typer.Option(
        None,
        "--accounting",
        help="How privacy costs are counted: filter (the default: --privacy is a hard limit) or odometer (a running "
        "total without a limit).",
    ),
    answers: str = typer.Option(
        None,
        "--answers",
        help="What the guard answers: mixed (the default: all kinds of questions) or means (only means with noise, "
        "for which intervals are narrowest).",
    ),
    plan: str = typer.Option(
        None,
        "--plan",
        help="With --answers means, what intervals assume about the rows: identical (the default: independent and "
        "identically distributed), independent (each row may have its own distribution), or open (like identical, "
        "but without a fixed number of questions: intervals widen with each question).",
    ),
    questions: int = typer.Option(
        None,
        "--questions",
        help="The largest number of questions that the guard answers (default: no limit). With a limit, "
        "intervals are narrower.",
    ),
    failures: int = typer.Option(
        None,
        "--failures",
        help="The largest number of failed checks that show a corrected value (default: no limit). Each failed check "
        "widens later intervals, with or without a limit.",
    ),
    final: float = typer.Option(
        None,
        "--final",
        help="The part of the failure probability (1 - confidence) that is kept for the final, the last "
        "question, which shows exact values (default: one half).",
    ),
    reserve: list[float] = typer.Option(  # noqa: B008
        [],
        "--reserve",
        metavar="PART",
        help="The part of the rows that is reserved for the final, such as 0.5. No earlier question reads the "
        "reserved rows. Give the option several times for several phases, each with a final of its own. Needs "
        "--row-key or --reserve-by.",
    ),
    reserve_by: str = typer.Option(
        None,
        "--reserve-by",
        help="With --reserve: a column that groups the rows, such as the patient's id. Rows with the same value are "
        "either all reserved or all not reserved.",
    ),
    histories: str = typer.Option(
        None,
        "--histories",
        help="Whether one analyst's questions affect the intervals of others: together (the default: they do, "
        "because analysts may share answers) or separate (they do not; this assumes that analysts share no answers). "
        "Separate needs --analyst.",
    ),
    analyst: list[str] = typer.Option(  # noqa: B008
        [],
        "--analyst",
        metavar="NAME=SHARE",
        help="The name of an analyst who may ask, with the part of the budget that this analyst may use, e.g. "
        "ann=0.5. May be repeated (default: everyone may ask).",
    ),
    expires: str = typer.Option(
        None, "--expires", help="When the guard stops answering, e.g. 2030-01-31T12:00 in UTC (default: never)."
    ),
    repeats: str = typer.Option(
        None,
        "--repeats",
        help="Who gets the stored answer to a repeated question for free: asker (the default: only the analyst who "
        "asked it first; other analysts pay, and do not learn that it was asked) or everyone.",
    ),
    all_private: bool = typer.Option(
        False,
        "--all-private",
        help="Answer every question with noise, so that everything the guard releases together costs at most "
        "--privacy.",
    ),
    row_key: str = typer.Option(
        None,
        "--row-key",
        help="The column that identifies the person behind each row, such as a patient's id. With it, the guard "
        "recognises other data sets that contain some of the same rows.",
    ),
    engine: str = typer.Option(
        None,
        "--engine",
        help="The engine that reads the rows: polars, duckdb, postgres, spark or ibis (default: chosen by the type "
        "of the data source).",
    ),
    table: str = typer.Option(
        None,
        "--table",
        help="The table of the database that has the rows. Later commands take the table's name as part of the "
        "address: ADDRESS#TABLE.",
    ),
    schema: str = typer.Option(
        None,
        "--schema",
        metavar="COLUMNS",
        help="The columns that questions may use, each with its type, e.g. 'age integer, pay number not null' "
        "(default: read from the data).",
    ),
    allow_overlap: str = typer.Option(
        None,
        "--allow-overlap",
        help="Open the data set even if it shares rows with another guarded one, for the reason given here. From "
        "then on, no answer about either data set is certified.",
    ),
    name: str = typer.Option(
        None, "--name", help="With a server: the name of the new guard (default: the name of the data file)."
    ),
    yes: bool = typer.Option(
        False, "--yes", help="Accept the proposed policy without being asked, if no policy is given."
    ),
    as_json: bool = _JSON,
) -> None:
    """Put a data set behind a guard, which then answers questions about it. If the data set has a guard already, that
    guard keeps its policy and its remaining budget.

    LEDGER may be left out. The ledger is then the one that the environment variable HOLDFAST_LEDGER names, or else a
    file with the name of the data file and the ending .db. If no policy is given, one is proposed.
    """
    from holdfast.guard import Guard, Policy

    refuse_swapped(ledger, sample)
    given = {
        "confidence": confidence,
        "privacy": privacy,
        "spend": spend,
        "accounting": accounting,
        "answers": answers,
        "plan": plan,
        "questions": questions,
        "failures": failures,
        "final": final,
        "reserve": reserve or None,
        "reserve_by": reserve_by,
        "histories": histories,
        "expires": expires,
        "repeats": repeats,
        "all_private": all_private or None,
    }
    chosen = policy_of(policy, given, analyst)
    if ledgers.is_address(ledger):
        if chosen is None and yes:
            chosen = Policy(questions=_QUESTIONS, failures=_FAILURES)
        called = Path(sample).stem if name is None else name
        if any(option is not None for option in (engine, table, schema)):
            raise InvalidParameter(
                "--engine, --table and --schema must be left out with a server, because the server reads the file"
            )
        facts, numbered = ledgers.open_guard(ledger, called, sample, row_key, chosen, allow_overlap)
        _print(facts, as_json, _notes(row_key, numbered, facts))
        return
    if name is not None:
        raise InvalidParameter(
            "--name must be left out with a ledger, which finds a guard by the fingerprint of its rows"
        )
    rows = open_sample(sample, row_key, engine=engine, table=table, schema=ledgers.schema_of(schema))
    opened = has_guard(ledger, rows)
    if chosen is None and not opened:
        chosen = _proposed(rows.n, ledger, sample, yes)
    with store_at(ledger, create=True) as store:
        guard = Guard.open(store, rows, chosen, allow_overlap=allow_overlap)
        facts, width, final = guard.describe(), _width_words(guard), [] if opened else _final_words(guard)
    numbered = row_key in rows.identity().numbered
    rows.close()
    _print(facts, as_json, width + _notes(row_key, numbered, facts) + final)
    if not opened and not as_json:
        output.say(_next_steps(ledger, facts))


_QUESTIONS, _FAILURES = 1000, 10
"""The policy that is proposed where none is given has what `holdfast plan` assumes."""


_USEFUL = 0.8
"""Another cap is named where it makes intervals at most this part as wide."""


def _width_words(guard: Guard) -> list[str]:
    """How wide noisy means are under the policy's cap and spend, and which smaller cap would make them narrower."""
    from holdfast.guard.estimates import narrowest_privacy, private_width
    from holdfast.guard.state import GuardState

    state = guard.ledger.look(GuardState.of)
    policy, schema, n = state.policy, state.schema, state.explored
    width = private_width(policy, schema, n)
    if width is None:
        return []
    words = f"The first noisy mean is good to ±{width:.2g} of its range (a condition's is 1)."
    smaller = narrowest_privacy(policy, schema, n)
    if smaller is None or smaller[1] > _USEFUL * width:
        return [words]
    other, narrow = smaller
    return [
        f"{words} As many with --privacy {_typed(other.privacy)} --spend {_typed(other.spend)} would be good to "
        f"±{narrow:.2g}: intervals are corrected for all that the cap may tell, so a large cap makes them wide."
    ]


def _final_words(guard: Guard) -> list[str]:
    """Whether a reserve would make a final much narrower than the privacy cap lets it be."""
    from holdfast.guard.estimates import final_advice
    from holdfast.guard.state import GuardState

    state = guard.ledger.look(GuardState.of)
    advice = final_advice(state.policy, state.schema, state.explored)
    return [advice] if advice else []


def _next_steps(ledger: str, facts: dict[str, Any]) -> str:
    """Where the ledger and its key are, and which command asks the first question."""
    kinds = facts["policy"]["kinds"]
    asking = "check" if "check" in kinds else kinds[0]
    guess = " --guess GUESS" if asking == "check" else ""
    first = f"To ask: `holdfast ask {asking} {ledger} EXPRESSION{guess}`; `holdfast ask --help` lists all questions."
    if "://" in ledger:
        return f"The ledger is kept in the database. {first}"
    return f"The ledger is {ledger} and its signing key is {ledger}.key: keep both. {first}"


def _typed(cost: Any) -> str:
    return f"pure-dp:{cost.epsilon:.4g}"


def _proposed(n: int, ledger: str, sample: str, yes: bool) -> Policy:
    """The proposed policy, where --yes or the answer at the terminal accepts it."""
    from holdfast.guard.policy import Policy
    from holdfast.holdout.planning.plan import plan

    use = plan(n, _QUESTIONS, _FAILURES)["guess-and-check"]
    words = (
        f"{_QUESTIONS:,} questions and {_FAILURES} failed checks at confidence 0.95, without "
        f"noisy answers. With {n:,} rows the half-width of an interval about a proportion is then at most "
        f"{use.before_failures:.3f} before any failed check and {use.half_width:.3f} after the last; a check that "
        "passes certifies its guess to its tolerance, 2.5 half-widths unless you choose another"
    )
    if not yes and not sys.stdin.isatty():
        raise InvalidParameter(
            f"policy must be given: this data set has no guard yet. Proposed: {words}. `holdfast guard open {ledger} "
            f"{sample} --yes` accepts this policy; give another one with --questions, --failures, --privacy or "
            "--policy. No guard was opened",
            parameter="policy",
        )
    output.say(f"Proposed policy: {words}.")
    if not yes and not typer.confirm("Open the guard with it?", err=True):
        raise HoldfastError("the guard was not opened, because you did not accept the proposed policy")
    return Policy(questions=_QUESTIONS, failures=_FAILURES)


def extend(
    ledger: str = _LEDGER,
    new_rows: str = typer.Argument(
        ...,
        metavar="NEW_ROWS",
        help="The data with the new rows: a .csv or .parquet file, or a database table as ADDRESS#TABLE.",
    ),
    dataset: str = _DATASET,
    rows: list[str] = typer.Option(  # noqa: B008
        [],
        "--rows",
        metavar="DATA",
        help="The rows of an earlier epoch (the rows before an earlier `extend`), as a file or ADDRESS#TABLE; may be "
        "repeated. The new rows must not occur in them, and all row keys are compared. Default: the file from which "
        "that epoch was opened, if it is still there. Without these rows, the ledger can compare up to 4,096 keys of "
        "that epoch.",
    ),
    row_key: str = typer.Option(
        None, "--row-key", help="The column that identifies the person behind each row, such as a patient's id."
    ),
    engine: str = typer.Option(
        None,
        "--engine",
        help="The engine that reads the new rows: polars, duckdb, postgres, spark or ibis (default: chosen by the "
        "type of the data source).",
    ),
    table: str = typer.Option(None, "--table", help="If the new rows are in a database: the name of their table."),
    schema: str = typer.Option(
        None,
        "--schema",
        metavar="COLUMNS",
        help="The columns of the new rows, each with its type, e.g. 'age integer, pay number not null' (default: the "
        "columns of the guard, in any order).",
    ),
    name: str = typer.Option(
        None,
        "--name",
        help="With a server: the name of the data set with the new rows (default: the name of the file).",
    ),
    as_json: bool = _JSON,
) -> None:
    """Add new rows to a guard as its next epoch. The epoch has the guard's policy and a full budget of its own. All
    epochs are recorded in one history.
    """
    from holdfast.guard import epochs

    refuse_swapped(ledger, new_rows)
    if ledgers.is_address(ledger):
        if rows:
            raise InvalidParameter(
                "--rows must be left out with a server, because the server has the rows of earlier epochs already"
            )
        if any(option is not None for option in (engine, table, schema)):
            raise InvalidParameter(
                "--engine, --table and --schema must be left out with a server, because the server reads the file"
            )
        called = Path(new_rows).stem if name is None else name
        _print(ledgers.extend_guard(ledger, dataset, called, new_rows, row_key), as_json)
        return
    if name is not None:
        raise InvalidParameter(
            "--name must be left out with a ledger, which finds an epoch by the fingerprint of its rows"
        )
    from holdfast.guard.state import GuardState
    from holdfast.guard.stewarding import describe

    with store_at(ledger) as store, ExitStack() as samples:
        latest = epochs.latest(store, dataset)
        guards = latest.look(GuardState.of).schema
        source = {"engine": engine, "table": table}
        declared = ledgers.schema_of(schema)
        sample = samples.enter_context(
            ledgers.fitting_sample(new_rows, row_key, guards, **source)
            if declared is None
            else open_sample(new_rows, row_key, schema=declared, **source)
        )
        held = [samples.enter_context(place) for place in ledgers.earlier_rows(store, latest, rows, row_key, guards)]
        opened = epochs.extend(store, latest, sample, held)
        _print(describe(opened), as_json, _in_part(epochs.compared_in_part(store, opened, held), row_key))


def _in_part(numbers: Sequence[int], row_key: str | None) -> list[str]:
    """What the steward should know about epochs of whose row keys only some were compared."""
    if row_key is None or not numbers:
        return []
    named = f"epoch {numbers[0]}" if len(numbers) == 1 else f"epochs {', '.join(map(str, numbers))}"
    return [
        f"The rows of {named} were not at hand, so only some of their row keys were compared, by the sketches that the "
        "ledger keeps: rows that come again may have been missed. Give --rows to compare all keys."
    ]


def _notes(row_key: str | None, numbered: bool, found: dict[str, Any]) -> list[str]:
    """What the steward should know about rows that this data set may share with others, and about its schema."""
    notes = []
    if row_key is None:
        notes.append(
            "No --row-key was given: a data set that shares only some of these rows, or has one changed, is not "
            "recognised and gets a budget of its own. Nor is one that has all of these rows under other columns, where "
            "no column that both have holds at least 32 different values."
        )
    elif numbered:
        notes.append(
            f"The row key {row_key} is a running number: unrelated data sets that number their rows alike will seem to "
            "share rows. A column that names the people is better, or no --row-key."
        )
    if found["policy"]["privacy"] is not None:
        notes.append(
            "The kinds of the columns, and which of them have missing values, were read off the rows and are shown to "
            "analysts. The privacy budget does not cover that. Declare the schema, in Python or at a server, where not "
            "even this should be known."
        )
    return notes


def list_(ledger: str = _LEDGER, as_json: bool = _JSON) -> None:
    """List the guards of a ledger. With a server, list the guards that the access token may use."""
    _list(described(ledger), as_json)


def show(ledger: str = _LEDGER, dataset: str = _DATASET, as_json: bool = _JSON) -> None:
    """Show a guard: its policy, its status (such as open or paused), how many questions were asked, and the remaining
    budget.
    """
    if dataset is None:
        facts = described(ledger)
        if len(facts) != 1:
            _list(facts, as_json)
            return
        _print(facts[0], as_json)
        return
    with stewarded(ledger, dataset) as guard:
        _print(guard.describe(), as_json)


def log(
    ledger: str = _LEDGER,
    dataset: str = _DATASET,
    last: int = typer.Option(20, "--last", help="Number of entries to show, the latest ones."),
    analyst: str = typer.Option(
        None, "--analyst", help="Show only the entries of this analyst (default: all entries that you may see)."
    ),
    as_json: bool = _JSON,
) -> None:
    """Show the last entries of a guard's ledger, such as questions and answers. On a server, an analyst sees only their
    own entries.
    """
    last = arguments.whole("--last", last, at_least=1)
    with stewarded(ledger, dataset) as guard:
        entries = guard.latest(last, analyst)
    if as_json:
        output.print_json({"entries": entries})
        return
    rows = [(e["sequence"], e["time"][:19], e["kind"], e["analyst"] or "", _what(e["body"])) for e in entries]
    output.table("Ledger", ("entry", "time (UTC)", "kind", "analyst", "what"), rows)


def override(
    ledger: str = _LEDGER,
    policy: Path = _NEW_POLICY,
    reason: str = typer.Option(..., "--reason", help="The reason, as a text. The ledger records it."),
    dataset: str = _DATASET,
    as_json: bool = _JSON,
) -> None:
    """Replace the policy of a guard. The budget that was spent stays spent, and all later answers are marked as not
    certified.
    """
    from holdfast.guard.policy import Policy

    replacement = Policy.from_dict(read_policy(policy))
    with stewarded(ledger, dataset) as guard:
        guard.override(replacement, reason)
        _print(guard.describe(), as_json)


def close(
    ledger: str = _LEDGER,
    dataset: str = _DATASET,
    reason: str = _REASON,
    yes: bool = typer.Option(
        False,
        "--yes",
        help="Close the guard without asking for confirmation. Needed if the command does not run in a terminal.",
    ),
    as_json: bool = _JSON,
) -> None:
    """Close a guard forever: it never answers a question again. The command asks for confirmation. The ledger records
    this and the reason.
    """
    with stewarded(ledger, dataset) as guard:
        if not yes:
            _confirm_closing(_name(guard.describe()))
        guard.set_status("closed", reason)
        _print(guard.describe(), as_json)


def _confirm_closing(name: str) -> None:
    """Ask at the terminal; raises where the answer is no or nobody can be asked."""
    if not sys.stdin.isatty():
        raise InvalidParameter(
            f"--yes must be given to close guard {name}, because there is no terminal to ask for confirmation; a "
            "closed guard never answers again. Nothing was changed"
        )
    if not typer.confirm(f"Close guard {name}? It will never answer again.", err=True):
        raise HoldfastError(f"guard {name} was not closed, because you did not confirm it")


def _status(status: Any, words: str) -> Any:
    def change(ledger: str = _LEDGER, dataset: str = _DATASET, reason: str = _REASON, as_json: bool = _JSON) -> None:
        with stewarded(ledger, dataset) as guard:
            guard.set_status(status, reason)
            _print(guard.describe(), as_json)

    change.__doc__ = f"{words} The ledger records this change and its reason."
    return change


def _list(found: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        output.print_json({"guards": found})
        return
    rows = [
        (_name(guard), "", guard["status"], guard["problem"])
        if guard["status"] == "damaged"
        else (_name(guard), f"{guard['n']:,}", guard["status"], _left(guard["remaining"]))
        for guard in found
    ]
    output.table("Guards", ("guard", "rows", "status", "left"), rows)


def _name(found: dict[str, Any]) -> str:
    """What a person calls it: on a server it has a name, in a ledger the beginning of its fingerprint."""
    return str(found.get("name", found["dataset"][:12]))


def _print(found: dict[str, Any], as_json: bool, notes: Sequence[str] = ()) -> None:
    found = _with_plan(found)
    if as_json:
        output.print_json(found | ({"notes": list(notes)} if notes else {}))
        return
    if found["status"] == "damaged":
        output.facts(f"Guard {_name(found)}", [("status", "damaged"), ("problem", found["problem"])])
        return
    policy = found["policy"]
    output.facts(
        f"Guard {_name(found)}",
        [
            ("status", found["status"]),
            *([("epoch", _epoch(found))] if _epoch(found) else []),
            ("rows", f"{found['n']:,}"),
            ("columns", ", ".join(map(column_words, found["schema"]["columns"]))),
            ("confidence", policy["confidence"]),
            (
                "privacy",
                "none" if policy["privacy"] is None else f"{_cost(policy['privacy'])} ({policy['accounting']})",
            ),
            *([("planned privacy", _plan_words(found["planned"]))] if "planned" in found else []),
            ("questions allowed", ", ".join(policy["kinds"])),
            *_end_rows(policy),
            *(
                (f"board {board['name']}", f"{board['metric']} of {board['label']} by {board['key']}, {board['rule']}")
                for board in policy.get("boards") or ()
            ),
            ("answered", f"{found['progress']['answered']}, {found['progress']['failed']} failed"),
            ("left", _left(found["remaining"])),
            *((f"left for {name}", _left(left)) for name, left in found["analysts"].items()),
            ("free when asked again", _FREE_FOR[policy["repeats"]]),
            ("expires", policy["expires"] or "never"),
            ("ledger entries", found["entries"]),
            *([("shares rows", _SHARES.format(found["overlaps"]))] if found.get("overlaps") else []),
            *([("not compared", _not_compared(found["not_compared"]))] if found.get("not_compared") else []),
        ],
    )
    for note in notes:
        output.say(note)


def _with_plan(found: dict[str, Any]) -> dict[str, Any]:
    """The facts of a guard, with what its plan of noisy means spends where a cap limits it."""
    from holdfast.guard.policy import Policy
    from holdfast.guard.questions.planned import plan_facts

    policy = found.get("policy")
    if policy is None or policy["answers"] != "means" or policy["privacy"] is None or "planned" in found:
        return found
    planned = plan_facts(Policy.stored(policy), found["n"])
    return found if planned is None else found | {"planned": planned}


_LESS = 0.999
"""A plan that spends less than this part of its cap does so because more would widen the intervals."""


def _plan_words(planned: dict[str, Any]) -> str:
    """What all answers of a plan cost together, next to the cap, and how wide they are."""
    spent = f"mu {planned['mu']:.3g} for all answers, each within {planned['half_width']:.2g} of its range"
    if planned["mu"] >= _LESS * planned["cap"]:
        return f"{spent}; this is the whole cap"
    return f"{spent}. The cap of {planned['cap']:g} is a ceiling: spending more would only widen the intervals"


def _end_rows(policy: dict[str, Any]) -> list[tuple[str, object]]:
    """What is kept for the final, and whose answers make whose intervals wider."""
    rows: list[tuple[str, object]] = []
    if policy.get("final"):
        rows.append(("kept for the final", f"{policy['final']:.0%} of the failure probability"))
    if policy.get("reserve"):
        parts = " and ".join(f"{part:.0%}" for part in policy["reserve"])
        by = policy.get("reserve_by")
        rows.append(("reserved for the final", f"{parts} of the rows" + (f", by {by}" if by else "")))
    if policy.get("all_private"):
        rows.append(("without noise", "nothing is answered"))
    if policy.get("histories") == "separate":
        rows.append(("histories", "separate: analysts do not share answers"))
    return rows


def _epoch(found: dict[str, Any]) -> str:
    """Which epoch of a guard that was extended this is; empty for a guard of one epoch."""
    number, later = found.get("epoch_number", 1), found.get("successor") is not None
    return f"{number}, and there is a later one" if later else str(number) if number > 1 else ""


def _not_compared(number: int) -> str:
    return _NOT_COMPARED.format(number, "" if number == 1 else "s")


def _left(left: dict[str, Any]) -> str:
    parts = [_so_much(name, value) for name, value in left.items() if isinstance(value, (int, float))]
    parts += [f"spent {_cost(v)}" for k, v in left.items() if k == "spent"]
    return ", ".join(parts) or "no cap"


_FREE_FOR = {"asker": "for the analyst who asked it", "everyone": "for everyone"}


def _so_much(name: str, value: float) -> str:
    """Return what is left of one budget, in words.

    Examples
    --------
    >>> _so_much("failures", 1), _so_much("questions", 98), _so_much("epsilon", 0.05)
    ('1 failed check', '98 questions', '0.05 epsilon')
    """
    words = {"failures": ("failed check", "failed checks"), "questions": ("question", "questions")}
    return f"{value:g} {words[name][value != 1] if name in words else name}"


def _cost(cost: dict[str, Any]) -> str:
    return f"{cost['kind']} " + " ".join(f"{k} {v:g}" for k, v in cost.items() if k != "kind")


def _what(body: dict[str, Any]) -> str:
    """One line about an entry: nothing but what was released or recorded."""
    if "answer" in body:
        answer = body["answer"]
        passed = {True: "passed ", False: "failed ", None: ""}[answer["passed"]]
        value = json.dumps(answer["value"])
        return f"{body['question']['kind']}: {passed}{value if len(value) <= 60 else value[:59] + '…'}"
    if "question" in body:
        return str(body["question"]["kind"])
    return str(body.get("reason") or "")
