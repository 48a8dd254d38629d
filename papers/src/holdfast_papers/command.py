"""`holdfast reproduce`: lists the experiments, or runs some of them and leaves tables, results and plots behind.

What is finished is kept, so that a run that was stopped goes on where it was; `all` leaves one page with everything.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.bounds.registry import shown
from holdfast.cli import output
from holdfast.cli.output import progress_bar
from holdfast.core import arguments
from holdfast.errors import HoldfastError, InvalidParameter

if TYPE_CHECKING:
    from holdfast_papers.registry import Experiment
    from holdfast_papers.running import Finished


def reproduce(
    names: list[str] = typer.Argument(  # noqa: B008
        None,
        metavar="NAME",
        help="Names of the figures and tables to re-create; `all` re-creates every one. Without a name, they are "
        "listed.",
    ),
    quick: bool = typer.Option(False, "--quick", help="Run a smaller version, which takes seconds instead of minutes."),
    out: Path = typer.Option(  # noqa: B008
        Path("holdfast-out"), "--out", help="The folder to which tables, results and plots are written."
    ),
    seed: int = typer.Option(1, "--seed", help="Seed of the simulations' random numbers."),
    workers: int = typer.Option(
        0,
        "--workers",
        help="Number of processes; 0 means one per processor core. The results are the same for any number.",
    ),
    fresh: bool = typer.Option(
        False,
        "--fresh",
        help="Run again even if a result of the same code, settings and data is stored from an earlier run.",
    ),
    brief: bool = typer.Option(
        False, "--brief", help="Print only the first table of each experiment. The files in --out contain all tables."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """List the figures and tables of the papers on which Holdfast is built. `holdfast reproduce NAME` re-creates one.

    `holdfast reproduce all` re-creates all of them and shows them on one page, gallery.html in the folder --out.
    Finished results are kept there in .kept, so that a run that was stopped continues where it stopped.
    """
    from holdfast.core.processes import cores
    from holdfast_papers.registry import Settings, experiments, select
    from holdfast_papers.running import run_all

    if not names:
        _list(list(experiments().values()), as_json)
        return
    chosen = select(names)
    seed = arguments.whole("seed", seed, at_least=0)
    workers = arguments.whole("workers", workers, at_least=0, at_most=1024) or cores()
    _prepare(out)
    finished: dict[str, Finished] = {}
    waiting = [experiment.name for experiment in chosen]
    bar = not as_json and sys.stderr.isatty()
    name = chosen[0].name if len(chosen) == 1 else "reproduce"
    with progress_bar(name, shown=not as_json) as progress:
        settings = Settings(quick=quick, seed=seed, progress=progress)
        for one in run_all(chosen, settings, out, workers=workers, fresh=fresh):
            if one.absent is not None and one.experiment.name in names:
                raise one.absent  # `all` runs what it can and says what it cannot
            if one.entry is not None:
                one.entry.copy_to(out / one.experiment.name)
            finished[one.experiment.name] = one
            while not bar and waiting and waiting[0] in finished:
                _show(finished[waiting.pop(0)], out, brief, as_json)
    for late in waiting:  # a bar and tables do not share a terminal
        _show(finished[late], out, brief, as_json)
    done = [finished[experiment.name] for experiment in chosen]
    pages = _gallery(done, quick, seed, out) if "all" in names else []
    failed = [
        f"{one.experiment.name}: {c.name} ({c.detail})"
        for one in done
        if one.entry is not None
        for c in one.entry.outcome.checks
        if not c.passed
    ]
    if as_json:
        plain: dict[str, Any] = {"passed": not failed, "experiments": [_plain(one, out) for one in done]}
        if len(done) == 1 and done[0].entry is not None:  # of one experiment, its first table at hand
            plain["rows"] = done[0].entry.result["tables"][0]["rows"]
        output.print_json(plain | ({"gallery": [str(path) for path in pages]} if pages else {}))
    elif pages:
        output.say(f"All on one page: {pages[0]}")
    if failed:
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise HoldfastError(f"a check failed: {failed[0]}{more}; result.json has them all")


def _prepare(out: Path) -> None:
    """Find out before a long run, not after it, that its files have no place."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidParameter(f"--out must be a folder, {out} is not one") from None


def _list(entries: list[Experiment], as_json: bool) -> None:
    if as_json:
        output.print_json({"experiments": [entry.to_dict() for entry in entries]})
        return
    rows = [(entry.name, entry.title, entry.source) for entry in entries]
    output.table(f"{len(entries)} experiments", ("name", "what it shows", "source"), rows)
    output.say(
        "`holdfast reproduce NAME` runs one, `holdfast reproduce all` every one; `--quick` runs a reduced version."
    )


def _gallery(done: list[Finished], quick: bool, seed: int, out: Path) -> list[Path]:
    """Write the page with everything, and the same as Markdown."""
    from holdfast import __version__
    from holdfast_papers.gallery import Run, machine, page, text

    run = Run(quick, seed, __version__, machine())
    pages = [out / "gallery.html", out / "gallery.md"]
    for path, make in zip(pages, (page, text), strict=True):
        path.write_text(make(done, run), encoding="utf-8")
    return pages


def _plain(one: Finished, out: Path) -> dict[str, Any]:
    if one.entry is None:
        return one.experiment.to_dict() | {"not_run": str(one.absent)}
    files = [str(out / one.experiment.name / name) for name in one.entry.files]
    about = {"files": files, "seconds": one.entry.seconds, "kept": one.reused}
    return one.entry.result | about | ({"note": one.entry.note} if one.entry.note else {})


def _show(one: Finished, out: Path, brief: bool, as_json: bool) -> None:
    if as_json:
        return
    if one.entry is None:
        output.say(f"NOT RUN: {one.experiment.name}: {one.absent}")
        return
    outcome = one.entry.outcome
    for table in outcome.tables[: 1 if brief else None]:
        rows = [[_cell(row.get(column)) for column in table.columns] for row in table.rows]
        output.table(table.title, table.columns, rows)
    output.say(outcome.finding)
    for failure in (c for c in outcome.checks if not c.passed):
        output.say(f"FAILED: {failure.name}: {failure.detail}")
    passed = sum(c.passed for c in outcome.checks)
    output.say(f"Checks: {passed} of {len(outcome.checks)} passed.")
    output.say(f"Files in {out / one.experiment.name}: {', '.join(one.entry.files)}")
    if one.entry.note:
        output.say(one.entry.note)
    if one.reused:
        output.say("Kept from an earlier run of the same code, settings and data; `--fresh` runs it again.")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return shown(value) if isinstance(value, float) else str(value)
