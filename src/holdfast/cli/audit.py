"""`holdfast audit`: what a release does to each group of a data file, as a page, as files and as an exit status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import output
from holdfast.cli.progress import progress_bar
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from holdfast.coherence import Table, Trials
    from holdfast.coherence.report import Report

_SPLITS = 20
_RULE = "A group by a rule, such as 'old women: sex == F and age >= 65'; repeat."
_COMMAND = (
    "What makes the release: a name, or a command with {train} and {release}, run in an empty folder of its own. "
    "Names: clear (the rows as they are), bootstrap, random-subset, shuffled-column, count, cart, noisy-histogram, "
    "noisy-marginals, private-naive-bayes or LIBRARY.GENERATOR.  [default: clear]"
)
_LEARNER = (
    "Who predicts: a name or a dotted scikit-learn class; repeat. By default linkage, and a forest where scikit-learn "
    "is installed; without a target, membership."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit)


def audit(
    file: Path = typer.Argument(..., help="The rows: CSV with a header line, or Parquet."),  # noqa: B008
    target: str = typer.Option(
        None, "--target", help="What is predicted: COLUMN=VALUE or COLUMN>=NUMBER. Without it: who was released."
    ),
    not_applicable: list[str] = typer.Option(  # noqa: B008
        [], "--not-applicable", metavar="VALUE", help="Target value of rows to leave out; repeat."
    ),
    group: list[str] = typer.Option([], "--group", metavar="'NAME: RULE'", help=_RULE),  # noqa: B008
    by: list[str] = typer.Option([], "--by", metavar="COLUMN", help="Every value of a column is a group; repeat."),  # noqa: B008
    depth: int = typer.Option(1, "--depth", help="Also intersections of up to this many --by columns."),
    bins: list[str] = typer.Option([], "--bins", metavar="COLUMN=18,65", help="Where to cut a --by column; repeat."),  # noqa: B008
    min_size: int = typer.Option(80, "--min-size", help="Smaller groups are listed, not measured."),
    lens: list[str] = typer.Option(  # noqa: B008
        [], "--lens", metavar="NAME=COL,COL", help="What a predictor sees; repeat. All but the target if not given."
    ),
    curator: str = typer.Option(None, "--curator", help=_COMMAND),
    option: list[str] = typer.Option([], "--with", metavar="KEY=VALUE", help="Option of a named curator; repeat."),  # noqa: B008
    domain: list[str] = typer.Option([], "--domain", metavar="COLUMN=A,B", help="Public values of a column; repeat."),  # noqa: B008
    epsilon: str = typer.Option(None, "--epsilon", help="What a private named curator may spend."),
    time_limit: float = typer.Option(600.0, "--time-limit", help="Seconds that one run of a command may take."),
    learner: list[str] = typer.Option([], "--learner", metavar="NAME", help=_LEARNER),  # noqa: B008
    learner_limit: float = typer.Option(
        None, "--learner-time-limit", help="Seconds a learner may take for one lens; no limit if not given."
    ),
    alpha: float = typer.Option(0.2, "--alpha", help="Tolerated distance in (0, 2]: twice the share that may flip."),
    beta: float = typer.Option(0.05, "--beta", help="How often alpha may be exceeded."),
    splits: int = typer.Option(
        None, "--splits", help=f"Times to split, release and learn afresh.  [default: {_SPLITS}]"
    ),
    seed: int = typer.Option(0, "--seed", help="Of splits, shuffles and learners; secure noise does not use it."),
    workers: int = typer.Option(1, "--workers", help="Splits at the same time; the result is the same."),
    release: Path = typer.Option(None, "--release", help="Single shot: the release already made; with --inside."),  # noqa: B008
    inside: str = typer.Option(None, "--inside", metavar="COLUMN", help="Single shot: 1 in the release, 0 held out."),
    predictions: str = typer.Option(None, "--predictions", metavar="COLUMN", help="Single shot: predictions made."),
    out: Path = typer.Option(Path("audit.html"), "--out", help="The page; JSON and CSV files go beside it."),  # noqa: B008
    min_cell: int = typer.Option(10, "--min-cell", help="People below which the report joins or hides counts."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a summary."),
) -> None:
    """Measure what a release does to each group.

    Exit status: 0 no evidence, 1 a leak below alpha, 2 incoherent, 3 underpowered, partial or not measured, 64 wrong
    usage or a failure.
    """
    from holdfast import check
    from holdfast.cli import audit_input as told
    from holdfast.coherence import Audit
    from holdfast.coherence.report import places

    check.real("--alpha", alpha, above=0, at_most=2)
    check.real("--beta", beta, above=0, below=1)
    check.whole("--min-cell", min_cell, at_least=1)
    if min_size < min_cell:
        raise InvalidParameter(f"--min-size must be at least --min-cell, {min_cell}, got {min_size}")
    if splits is not None:
        check.whole("--splits", splits, at_least=1)
    check.whole("--seed", seed, at_least=0)
    if learner_limit is not None:
        check.real("--learner-time-limit", learner_limit, above=0)
    check.whole("--workers", workers, at_least=1, at_most=256)
    if inside is None and (release is not None or predictions is not None):
        raise InvalidParameter("--release and --predictions need --inside: the column that says who was in it")
    if inside is not None:
        again = {"--curator": curator, "--splits": splits, "--with": option, "--domain": domain, "--epsilon": epsilon}
        for name in (name for name, value in again.items() if value):
            raise InvalidParameter(f"{name} has no place beside --inside: the release was made, and there is one split")
    _can_write(places(out), [path for path in (file, release) if path is not None])
    table = told.read_table(file)
    aimed = told.target_of(target, not_applicable)
    common: dict[str, Any] = {"target": aimed, "seed": seed, "learner_time_limit": learner_limit}
    common["groups"] = told.groups_of(group, by, depth, bins, min_size, aimed)
    hidden = [name for name in (inside, predictions) if name is not None]
    data = table.select(name for name in table.names if name not in hidden)
    made = None if release is None else _released(release, data)
    shown = told.released_columns(option, domain, data) if made is None else _shared(data, made)
    common["lenses"] = told.lenses_of(lens, data, aimed, shown)
    facts = [("data", f"{file.name}, {table.rows:,} rows"), ("target", aimed.name if aimed else "none")]
    if inside is None:
        releases = told.curator_of(curator or "clear", option, domain, epsilon, time_limit, aimed)
        facts.append(("curator", curator or "clear"))
        described = Audit(data, releases, told.learners_of(learner, aimed), splits=splits or _SPLITS, **common)
        trials = _run(described, workers, shown=not as_json)
    else:
        facts.append(("release", release.name if release else f"predictions in column {predictions}"))
        trials = _single(table, data, made, inside, predictions, told.learners_of(learner, aimed), common)
    facts += [("seed", str(seed)), ("data SHA-256", _digest(file))]
    report = _judged(trials, alpha, beta, seed, file.name, facts, min_cell)
    from holdfast.coherence.report import write

    found = write(report, trials, out, min_cell)
    if as_json:
        files = {name: str(path) for name, path in found.items()}
        output.print_json(report.to_dict() | {"files": files})
    else:
        _summary(report, found)
    raise typer.Exit(report.verdict.exit_status)


def _run(described: Any, workers: int, *, shown: bool) -> Trials:
    from holdfast.coherence import run

    with progress_bar("audit", shown=shown) as bar:
        return run(described, lambda done, total: bar(done / total, f"split {done} of {total}"), workers)


def _single(
    table: Table,
    data: Table,
    made: Table | None,
    inside: str,
    predictions: str | None,
    learners: list[Any],
    common: dict[str, Any],
) -> Trials:
    from holdfast.coherence import single_shot
    from holdfast.coherence.failures import OutOfRange
    from holdfast.coherence.learners.attackers import Given

    if (made is None) == (predictions is None):
        raise InvalidParameter("--inside needs either --release, the file released, or --predictions, a column")
    where_in, where_out = _membership(table, inside)
    if predictions is not None:
        try:
            learners = [Given(table[predictions], name=f"column {predictions}")]
        except OutOfRange as error:
            raise InvalidParameter(f"--predictions {predictions!r}: {error}") from None
    return single_shot(data, made, where_in, learners, outside=where_out, **common)


def _released(path: Path, data: Table) -> Table:
    """The release, with columns of text where the data has text."""
    from holdfast.cli.audit_input import read_table

    return read_table(path, "--release", like=data)


def _shared(data: Table, made: Table) -> list[str] | None:
    """The columns that the release has too, None for all: a learner can learn from no others."""
    names = [name for name in data.names if name in made]
    if not names:
        raise InvalidParameter("--release must share columns with FILE, and shares none")
    return None if len(names) == len(data.names) else names


def _membership(table: Table, column: str) -> tuple[Any, Any]:
    """Who was in the release and who was held out; rows without a value were neither."""
    from holdfast.coherence.table import equal, missing

    values = table[column]
    if values.dtype.kind == "b":
        return values, ~values
    where_in, where_out = equal(values, 1), equal(values, 0)
    if not (where_in | where_out | missing(values)).all():
        raise InvalidParameter(f"--inside column {column!r} must hold 1 (in the release), 0 (held out) or nothing")
    return where_in, where_out


def _judged(
    trials: Trials, alpha: float, beta: float, seed: int, title: str, facts: list[tuple[str, str]], min_cell: int
) -> Report:
    from holdfast.coherence.report import build
    from holdfast.coherence.significance import significance
    from holdfast.coherence.verdict import verdict

    found = significance(trials, seed=seed)
    return build(trials, found, verdict(found, alpha, beta), title=title, setting=facts, min_cell=min_cell)


def _summary(report: Report, found: dict[str, Path]) -> None:
    from holdfast.coherence.report.content import corrected_p, plain_number

    output.say(report.verdict.paragraph)
    for line in (*report.problems, *report.notes):
        output.say(line)
    cells = [
        (
            f.group,
            f"{f.size:,}",
            f.learner,
            f.lens,
            plain_number(f.mean),
            plain_number(f.floor),
            plain_number(f.excess),
            f"{f.above} of {f.asked}",
            corrected_p(f, report.verdict.level),
            f.status,
        )
        for f in report.offenders
    ]
    heading = ("group", "members", "learner", "lens", "distance", "floor", "excess", "above", "p (Holm)", "finding")
    if len(report.verdict.cases) > 1:
        told = [
            (case.learner, case.lens, f"{case.splits} of {case.asked}", case.outcome) for case in report.verdict.cases
        ]
        output.table("Learners and lenses", ("learner", "lens", "splits", "finding"), told)
    if cells:
        worst = "Worst offenders" if report.verdict.offenders() else "No group found; largest excesses"
        output.table(f"{worst}, alpha {report.verdict.alpha:g}", heading, cells)
    output.say(f"Report in {found['html']}, numbers in {found['json']}, {found['csv']} and {found['splits']}")


def _can_write(found: dict[str, Path], read: list[Path]) -> None:
    """Refuse before hours of work what could not, or must not, be written after them."""
    import os

    for path in found.values():
        if any(path.exists() and source.exists() and path.samefile(source) for source in read):
            raise InvalidParameter(
                f"--out {found['html']} would write a table over {path}, which is read: give the report another name"
            )
    page = found["html"]
    if page.is_dir():
        raise InvalidParameter(f"--out must be a file that ends in .html, and {page} is a folder")
    folder = next(place for place in (page.parent, *page.parent.parents) if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidParameter(f"--out must be in a folder that can be written to, and {folder} is not")


def _digest(file: Path) -> str:
    import hashlib

    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
