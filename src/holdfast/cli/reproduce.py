"""`holdfast reproduce`: lists the experiments, or runs some of them and leaves tables, results and plots behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast import check
from holdfast.bounds.registry import shown
from holdfast.cli import output
from holdfast.cli.progress import progress_bar
from holdfast.errors import GuaranteeUnavailable, HoldfastError, InvalidParameter

if TYPE_CHECKING:
    from holdfast.experiments.output import Written
    from holdfast.experiments.registry import Experiment, Outcome


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    names: list[str] = typer.Argument(None, metavar="NAME", help="Experiments to run; `all` runs every one."),  # noqa: B008
    quick: bool = typer.Option(False, "--quick", help="Run a reduced version, seconds instead of minutes."),
    out: Path = typer.Option(Path("holdfast-out"), "--out", help="Where the tables, results and plots go."),  # noqa: B008
    seed: int = typer.Option(1, "--seed", help="Seed of the simulations."),
    brief: bool = typer.Option(False, "--brief", help="Print the first table only; the files hold them all."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """List the figures and tables of the papers; `holdfast reproduce NAME` re-creates one."""
    from holdfast.experiments.output import result_dict, write
    from holdfast.experiments.registry import Settings, experiments, select

    if not names:
        _list(list(experiments().values()), as_json)
        return
    chosen = select(names)
    seed = check.whole("seed", seed, at_least=0)
    _prepare(out)
    results: list[dict[str, Any]] = []
    failed: list[str] = []
    absent: list[tuple[Experiment, str]] = []
    for experiment in chosen:
        with progress_bar(experiment.name, shown=not as_json) as progress:
            settings = Settings(quick=quick, seed=seed, progress=progress, out=out)
            try:
                outcome = experiment.run(settings)
            except GuaranteeUnavailable as error:
                if experiment.name in names:
                    raise
                absent.append((experiment, str(error)))  # `all` runs what it can and says what it cannot
                continue
        written = write(experiment, outcome, settings, out)
        failed += [f"{experiment.name}: {c.name} ({c.detail})" for c in outcome.checks if not c.passed]
        if as_json:
            files = {"files": [str(path) for path in written.files]} | ({"note": written.note} if written.note else {})
            results.append(result_dict(experiment, outcome, settings) | files)
        else:
            _show(outcome, written, brief)
    results += [experiment.to_dict() | {"not_run": why} for experiment, why in absent]
    if as_json:
        output.print_json({"passed": not failed, "experiments": results})
    else:
        for experiment, why in absent:
            output.say(f"NOT RUN: {experiment.name}: {why}")
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


def _show(outcome: Outcome, written: Written, brief: bool) -> None:
    for table in outcome.tables[: 1 if brief else None]:
        rows = [[_cell(row.get(column)) for column in table.columns] for row in table.rows]
        output.table(table.title, table.columns, rows)
    output.say(outcome.finding)
    for failure in (c for c in outcome.checks if not c.passed):
        output.say(f"FAILED: {failure.name}: {failure.detail}")
    passed = sum(c.passed for c in outcome.checks)
    output.say(f"Checks: {passed} of {len(outcome.checks)} passed.")
    output.say(f"Files in {written.files[0].parent}: {', '.join(path.name for path in written.files)}")
    if written.note:
        output.say(written.note)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return shown(value) if isinstance(value, float) else str(value)
