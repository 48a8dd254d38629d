"""`holdfast audit`: what a release does to each group of a data file, as a page, as files and as an exit status."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import output
from holdfast.cli.output import progress_bar
from holdfast.coherence import GroupPlan, Lens, Table, Target, curators
from holdfast.coherence.learners.tabular import Estimator, named
from holdfast.coherence.table import missing_column
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    from holdfast.coherence import Table, Trials
    from holdfast.coherence.report import Report


# --- Audit ------------------------------------------------------------------------------------------------------------

_SPLITS = 20
_RULE = (
    "A group of rows to measure, given as a name and a condition, such as \"old women: sex = 'f' and age >= 65\"; "
    "may be repeated."
)
_COMMAND = (
    "The curator, which makes the release from half of the rows. Either a command that reads the file {train} and "
    "writes the file {release} (it is run in an empty folder), or a built-in name: clear (the rows as they are), "
    "bootstrap, random-subset, shuffled-column, count, cart, noisy-histogram, noisy-marginals, private-naive-bayes "
    "or LIBRARY.GENERATOR (a synthetic data generator of an installed library). [default: clear]"
)
_LEARNER = (
    "The learner that is trained on the release and predicts the target: a built-in name, or a scikit-learn class "
    "with its module, such as sklearn.svm.SVC. May be repeated. Default: linkage, and a random forest if "
    "scikit-learn is installed; without --target, membership."
)


_GROUPS = {
    "Data and target": ("target", "not_applicable", "where_present", "null_as"),
    "Groups and lenses": ("group", "by", "depth", "bins", "min_size", "lens"),
    "Release": ("curator", "option", "domain", "epsilon", "time_limit"),
    "Release already made": ("release", "inside", "predictions"),
    "Learners": ("learner", "learner_limit"),
    "Statistics": ("alpha", "beta", "splits", "seed", "workers"),
    "Output": ("out", "min_cell", "as_json"),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit", cls=output.grouped(_GROUPS))(audit)


def audit(
    file: Path = typer.Argument(  # noqa: B008
        ..., help="The file with the rows to audit: CSV with a header line, or Parquet."
    ),
    target: str = typer.Option(
        None,
        "--target",
        metavar="RULE",
        help='What the learners predict: a condition on one column, e.g. "ill = 1". Without it, they predict who is in '
        "the release.",
    ),
    not_applicable: list[str] = typer.Option(  # noqa: B008
        [],
        "--not-applicable",
        metavar="RULE",
        help='Leave out rows that meet this condition on the target column, such as "ill = 9"; may be repeated.',
    ),
    where_present: bool = typer.Option(
        False, "--where-present", help="Leave out the rows whose value in the target column is missing."
    ),
    null_as: str = typer.Option(
        None,
        "--null-as",
        metavar="true|false",
        help="Count rows whose value in the target column is missing as true, or as false.",
    ),
    group: list[str] = typer.Option([], "--group", metavar="'NAME: RULE'", help=_RULE),  # noqa: B008
    by: list[str] = typer.Option(  # noqa: B008
        [], "--by", metavar="COLUMN", help="Measure one group for each value of this column; may be repeated."
    ),
    depth: int = typer.Option(
        1,
        "--depth",
        help="With several --by columns: also measure the groups that combine the values of up to this many of them.",
    ),
    bins: list[str] = typer.Option(  # noqa: B008
        [],
        "--bins",
        metavar="COLUMN=18,65",
        help="For a numeric --by column: the values at which it is cut into groups, e.g. age=18,65; may be repeated.",
    ),
    min_size: int = typer.Option(
        80,
        "--min-size",
        help="The smallest number of rows of a group that is measured. Smaller groups are only listed.",
    ),
    lens: list[str] = typer.Option(  # noqa: B008
        [],
        "--lens",
        metavar="NAME=COL,COL",
        help="A lens, which is a name and the columns that a learner may use to predict; may be repeated (default: "
        "one lens with all columns except the target).",
    ),
    curator: str = typer.Option(None, "--curator", help=_COMMAND),
    option: list[str] = typer.Option(  # noqa: B008
        [], "--with", metavar="KEY=VALUE", help="An option of a built-in --curator, as NAME=VALUE; may be repeated."
    ),
    domain: list[str] = typer.Option(  # noqa: B008
        [],
        "--domain",
        metavar="COLUMN=A,B",
        help="For a built-in private --curator: all values that a column can have, known without the rows; may "
        "be repeated.",
    ),
    epsilon: str = typer.Option(
        None, "--epsilon", help="For a built-in private --curator: the privacy budget epsilon of a release."
    ),
    time_limit: float = typer.Option(
        600.0, "--time-limit", help="The time limit, in seconds, for each run of a --curator command."
    ),
    learner: list[str] = typer.Option([], "--learner", metavar="NAME", help=_LEARNER),  # noqa: B008
    learner_limit: float = typer.Option(
        None,
        "--learner-time-limit",
        help="The time limit, in seconds, for training and using one learner with one lens (default: no limit).",
    ),
    alpha: float = typer.Option(
        0.2,
        "--alpha",
        help="The tolerated distance, above 0 and up to 2, between the predictions for the members of a group "
        "who are in the release and for those who are not. It is twice the proportion of members whose "
        "prediction may flip.",
    ),
    beta: float = typer.Option(
        0.05, "--beta", help="The probability with which the distance between predictions may exceed --alpha."
    ),
    splits: int = typer.Option(
        None,
        "--splits",
        help="The number of repetitions: each splits the rows at random, makes a release from one half and trains "
        f"the learners on it. [default: {_SPLITS}]",
    ),
    seed: int = typer.Option(
        0,
        "--seed",
        help="The seed of the random splits, shuffles and learners. The noise of private curators does not use it.",
    ),
    workers: int = typer.Option(
        1,
        "--workers",
        help="The number of splits that are processed at the same time. The result does not depend on it.",
    ),
    release: Path = typer.Option(  # noqa: B008
        None,
        "--release",
        help="The file of a release that was already made. It is audited by the one split of the rows that was used "
        "for it. Needs --inside.",
    ),
    inside: str = typer.Option(
        None,
        "--inside",
        metavar="COLUMN",
        help="For a release that was already made: the column of FILE that is 1 for rows in the release and 0 for "
        "rows held out.",
    ),
    predictions: str = typer.Option(
        None,
        "--predictions",
        metavar="COLUMN",
        help="The column of FILE with predictions that were already made from a release (instead of --release). "
        "Needs --inside.",
    ),
    out: Path = typer.Option(  # noqa: B008
        Path("audit.html"),
        "--out",
        help="The file to which the HTML report is written. JSON and CSV files are written next to it.",
    ),
    min_cell: int = typer.Option(
        10,
        "--min-cell",
        help="The smallest count of people that the report shows. Smaller counts are merged or hidden.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a summary."),
) -> None:
    """Audit a release of data: measure, for each group of people, how much predictions made from the release differ
    between the members who are in the release and those who are not.

    The exit status is 0 if there is no evidence of a difference, 1 if there is (a leak or an incoherent release) or if
    the audit failed, 2 for wrong usage, and 3 if the audit is underpowered, partial or could measure nothing. The
    report and --json have the exact verdict.
    """
    from holdfast.cli import audit as told
    from holdfast.coherence import Audit
    from holdfast.coherence.report import places
    from holdfast.coherence.verdict import check_tolerance
    from holdfast.core import arguments

    with _named_as_options():
        check_tolerance(alpha, beta)
    arguments.whole("--min-cell", min_cell, at_least=1)
    if min_size < min_cell:
        raise InvalidParameter(
            f"--min-size must be at least as large as --min-cell, which is {min_cell}, got {min_size}"
        )
    if inside is None and (release is not None or predictions is not None):
        raise InvalidParameter(
            "--release and --predictions need --inside, the column that says which rows were in the release"
        )
    if inside is not None:
        again = {"--curator": curator, "--splits": splits, "--with": option, "--domain": domain, "--epsilon": epsilon}
        for name in (name for name, value in again.items() if value):
            raise InvalidParameter(
                f"{name} must be left out with --inside, because the release was already made, from one split of the "
                "rows"
            )
    _can_write(places(out), [path for path in (file, release) if path is not None])
    table = told.read_table(file)
    aimed = told.target_of(target, not_applicable, where_present, null_as)
    common: dict[str, Any] = {"target": aimed, "seed": seed, "learner_time_limit": learner_limit}
    common["groups"] = told.groups_of(group, by, depth, bins, min_size, aimed)
    hidden = [name for name in (inside, predictions) if name is not None]
    data = table.select(name for name in table.names if name not in hidden)
    released = None if release is None else _released(release, data)
    shown = told.released_columns(option, domain, data) if released is None else _shared(data, released)
    common["lenses"] = told.lenses_of(lens, data, aimed, shown)
    facts = [("data", f"{file.name}, {table.rows:,} rows"), ("target", aimed.name if aimed else "none")]
    if unseen := told.left_out(file, table):
        facts.append(("columns left out, neither numbers, truth values nor texts", ", ".join(unseen)))
    if inside is None:
        releases = told.curator_of(curator or "clear", option, domain, epsilon, time_limit, aimed)
        facts.append(("curator", curator or "clear"))
        common["splits"] = _SPLITS if splits is None else splits
        with _named_as_options():
            described = Audit(data, releases, told.learners_of(learner, aimed), **common)
            trials = _run(described, workers, shown=not as_json)
    else:
        facts.append(("release", release.name if release else f"predictions in column {predictions}"))
        trials = _single(table, data, released, inside, predictions, told.learners_of(learner, aimed), common)
    facts += [("seed", str(seed)), ("data SHA-256", _digest(file))]
    report = _judged(trials, alpha, beta, seed, file.name, facts, min_cell)
    from holdfast.coherence.report import write

    report_file = write(report, trials, out, min_cell)
    if as_json:
        files = {name: str(path) for name, path in report_file.items()}
        output.print_json(report.to_dict() | {"files": files})
    else:
        _summary(report, report_file)
    raise typer.Exit(report.verdict.exit_status)


@contextmanager
def _named_as_options() -> Iterator[None]:
    """Name the option that gave a parameter in the error that refuses it: values are checked where they are used."""
    try:
        yield
    except InvalidParameter as error:
        parameter, _, rest = str(error).partition(" ")
        if parameter not in ("alpha", "beta", "splits", "seed", "workers", "learner_time_limit"):
            raise
        raise InvalidParameter(f"--{parameter.replace('_', '-')} {rest}") from None


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
        raise InvalidParameter(
            "--inside must be given together with --release (the file that was released) or with --predictions (a "
            "column), and not with both"
        )
    where_in, where_out = _membership(table, inside)
    if predictions is not None:
        try:
            learners = [Given(table[predictions], name=f"column {predictions}")]
        except OutOfRange as error:
            raise InvalidParameter(f"--predictions {predictions!r}: {error}") from None
    with _named_as_options():
        return single_shot(data, made, where_in, learners, outside=where_out, **common)


def _released(path: Path, data: Table) -> Table:
    """The release, with columns of text where the data has text."""
    return read_table(path, "--release", like=data)


def _shared(data: Table, made: Table) -> list[str] | None:
    """The columns that the release has too, None for all: a learner can learn from no others."""
    names = [name for name in data.names if name in made]
    if not names:
        raise InvalidParameter("--release must be a file with some of the columns of FILE, and it has none of them")
    return None if len(names) == len(data.names) else names


def _membership(table: Table, column: str) -> tuple[Any, Any]:
    """Who was in the release and who was held out; rows without a value were neither."""
    from holdfast.coherence.table import missing

    values = table[column]
    where_in, where_out = values == 1, values == 0
    if table.is_text(column) or not (where_in | where_out | missing(values)).all():
        raise InvalidParameter(
            "--inside must name a column that has 1 (row in the release), 0 (row held out) or no value in each row, "
            f"and {column!r} has other values"
        )
    return where_in, where_out


def _judged(
    trials: Trials, alpha: float, beta: float, seed: int, title: str, facts: list[tuple[str, str]], min_cell: int
) -> Report:
    from holdfast.coherence.report import build
    from holdfast.coherence.significance import assess
    from holdfast.coherence.verdict import judge

    judged = assess(trials, seed=seed)
    return build(trials, judged, judge(judged, alpha, beta), title=title, setting=facts, min_cell=min_cell)


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
        summary = [
            (case.learner, case.lens, f"{case.splits} of {case.asked}", case.outcome) for case in report.verdict.cases
        ]
        output.table("Learners and lenses", ("learner", "lens", "splits", "finding"), summary)
    if cells:
        output.table(f"{report.offenders_heading}, alpha {report.verdict.alpha:g}", heading, cells)
    output.say(f"Report in {found['html']}, numbers in {found['json']}, {found['csv']} and {found['splits']}")


def _can_write(found: dict[str, Path], read: list[Path]) -> None:
    """Refuse before hours of work what could not, or must not, be written after them."""
    import os

    for path in found.values():
        if any(path.exists() and source.exists() and path.samefile(source) for source in read):
            raise InvalidParameter(
                f"--out must be another file: a report at {found['html']} would overwrite {path}, which the audit reads"
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


# --- Audit input ------------------------------------------------------------------------------------------------------
# What `holdfast audit` is told on the command line, as a table, a target, groups, lenses, a curator and learners.

CURATORS = (
    "clear",
    "bootstrap",
    "random-subset",
    "shuffled-column",
    "count",
    "cart",
    "noisy-histogram",
    "noisy-marginals",
    "private-naive-bayes",
)
"""Names of built-in curators."""


def read_table(path: Path, what: str = "FILE", like: Table | None = None) -> Table:
    """Read a CSV or Parquet file through `holdfast.data`; a CSV column is text where it is text in `like`."""
    if not path.is_file():
        raise InvalidParameter(f"{what} must be a .csv or .parquet file; there is no file at {path}")
    try:
        table = Table.read(path, like)
    except (InvalidParameter, SampleUnavailable) as error:
        raise InvalidParameter(f"{what} {path.name} cannot be read: {error}") from None
    _check_header(table, f"{what} {path.name}")
    return table


def left_out(path: Path, table: Table) -> list[str]:
    """The columns of a Parquet file of a type that is no number, truth value or text: an audit does not see them."""
    if path.suffix.lower() != ".parquet":
        return []
    from holdfast.data.files import Files, parquet_types

    return [f"{name} ({type_})" for name, type_ in parquet_types(Files.at(path)).items() if name not in table]


def _check_header(table: Table, what: str) -> None:
    """Refuse a first line that is a row. Its values would become names, and errors and reports show names."""
    only = table.names[0]
    if len(table.names) == 1 and any(mark in only for mark in " ;\t|"):
        raise InvalidParameter(
            f"{what} must be a CSV file with a header line and commas between columns, but it has only one column"
        )
    numbers = [float(name) for name in table.names if _is_number(name)]
    if any(b <= a for a, b in pairwise(numbers)):  # years or positions rise; the values of a row do not
        raise InvalidParameter(
            f"{what} must have a header line; its first line looks like a row: "
            f"{len(numbers)} of {len(table.names)} names are numbers"
        )


def target_of(
    statement: str | None, not_applicable: Sequence[str], where_present: bool = False, null_as: str | None = None
) -> Target | None:
    """Return a target from a statement such as `ill = 1`, and what its missing values mean."""
    if statement is None:
        given = {"--not-applicable": not_applicable, "--where-present": where_present, "--null-as": null_as}
        alone = [name for name, value in given.items() if value]
        if alone:
            raise InvalidParameter(f"{alone[0]} must be left out if no --target is given")
        return None
    if null_as not in (None, "true", "false"):
        raise InvalidParameter(f"--null-as must be true or false, got {null_as[:60]!r}")
    counted = None if null_as is None else null_as == "true"
    without = " or ".join(f"({rule})" for rule in not_applicable) if not_applicable else None
    try:
        return Target(statement, without, where_present, counted)
    except InvalidParameter as error:
        message = str(error)
        for parameter, option in (("target", "--target"), ("not_applicable", "--not-applicable")):
            if message.startswith(parameter):
                message = option + message.removeprefix(parameter)
        raise InvalidParameter(message) from None


def groups_of(
    declared: Sequence[str], by: Sequence[str], depth: int, bins: Sequence[str], min_size: int, target: Target | None
) -> GroupPlan:
    """Groups from `NAME: RULE` (or a rule, which is then its own name), columns and edges; the target's own besides."""
    rules: dict[str, Any] = {}
    if target is not None:
        rules |= target.groups()
    for text in declared:
        name, mark, rule = text.partition(":")
        name, rule = (name.strip(), rule.strip()) if mark else (text.strip(), text.strip())
        if not name or not rule:
            raise InvalidParameter(
                "--group must be a name and a condition with a colon between them, such as 'women: sex = 1', got "
                f"{text[:60]!r}"
            )
        if name in rules:
            raise InvalidParameter(
                f"--group must have a different name for each group, and the name {name[:60]!r} occurs twice"
            )
        rules[name] = rule
    edges = {name: [_number("--bins", edge) for edge in _listed(values)] for name, values in _pairs("--bins", bins)}
    for name, cuts in edges.items():
        if any(b <= a for a, b in pairwise(cuts)):
            raise InvalidParameter(f"--bins must be increasing numbers, and those of column {name!r} are not")
    columns = _columns(by)
    unused = [name for name in edges if name not in columns]
    if unused:
        raise InvalidParameter(
            f"--bins must name a column that --by names too, and {unused[0]!r} is not among them; add --by {unused[0]}"
        )
    return GroupPlan(rules, columns=columns, depth=depth, bins=edges, min_size=min_size)


def lenses_of(
    given: Sequence[str], table: Table, target: Target | None, released: Sequence[str] | None = None
) -> tuple[Lens, ...]:
    """Lenses from `NAME=COLUMN,COLUMN` or `COLUMN,COLUMN`; by default one of all columns but the target.

    Where the curator is known to release some columns only, by default one of those: nothing can be learnt from others.
    """
    if not given:
        shown = [name for name in table.names if released is None or name in released]
        seen = tuple(name for name in shown if target is None or name != target.column)
        if not seen:
            raise InvalidParameter(
                "the release contains no column except the target, so a learner has nothing to predict with; use "
                "--lens to name the columns that it may use"
            )
        words = "everything" if released is None else "everything released"
        return (Lens(f"{words} but the target" if target else words, seen),)
    lenses = []
    for text in given:
        name, mark, columns = text.partition("=")
        chosen = _listed(columns if mark else name)
        lenses.append(Lens(name.strip() if mark else ", ".join(chosen), tuple(chosen)))
    return tuple(lenses)


def learners_of(given: Sequence[str], target: Target | None) -> list[Any]:
    """Learners by name; by default linkage, and a forest if scikit-learn is there; membership without a target."""
    if given:
        if len(set(given)) < len(given):
            raise InvalidParameter("--learner must name different learners, and one learner is named twice")
        return [_importable(named(name)) for name in given]
    if target is None:
        return [named("membership")]
    return [named("linkage")] + ([named("forest")] if importlib.util.find_spec("sklearn") else [])


def _importable(learner: Any) -> Any:
    """The learner, refused now and not in each split where its estimator is not there."""
    if isinstance(learner, Estimator):
        model = learner.fresh()
        if not hasattr(model, "fit") or not any(hasattr(model, way) for way in ("predict_proba", "decision_function")):
            raise InvalidParameter(
                f"--learner must be a classifier with predict_proba or decision_function, and {learner.name} has "
                "neither"
            )
    return learner


def released_columns(options: Sequence[str], domains: Sequence[str], table: Table) -> list[str] | None:
    """The columns of the table that a curator of these options releases; None for all, or if that is not known."""
    options_given = dict(_pairs("--with", options))
    named = [name for name, _ in _pairs("--domain", domains)]
    shown = named or _listed(options_given.get("columns", options_given.get("column", "")))
    for name in shown:
        if name not in table:
            raise InvalidParameter(f"{'--domain' if named else '--with'}: {missing_column(name, table.names)}")
    return shown or None


def curator_of(
    text: str,
    options: Sequence[str],
    domains: Sequence[str],
    epsilon: str | None,
    time_limit: float,
    target: Target | None,
) -> Any:
    """Return a curator: a built-in name, `LIBRARY.GENERATOR` of an installed library, or a shell command."""
    settings = dict(_pairs("--with", options))
    if "{train}" in text or "{release}" in text or " " in text.strip():
        if settings or domains or epsilon:
            raise InvalidParameter(
                "--with, --domain and --epsilon must be left out if --curator is a command: they are for built-in "
                "curators"
            )
        return curators.Shell(text, time_limit)
    known = {name: [_value(value) for value in _listed(values)] for name, values in _pairs("--domain", domains)}
    curator = _built_in(text, settings, known, None if epsilon is None else _number("--epsilon", epsilon), target)
    if settings:
        raise InvalidParameter(
            f"--with must name an option of the curator {text!r}, which has no option {', '.join(map(repr, settings))}"
        )
    return curator


def _built_in(
    name: str, told: dict[str, str], domains: Mapping[str, list[Any]], epsilon: float | None, target: Target | None
) -> Any:
    private = name in ("noisy-histogram", "noisy-marginals", "private-naive-bayes")
    if private and (not domains or epsilon is None):
        raise InvalidParameter(
            f"the curator {name!r} needs --epsilon, and --domain COLUMN=VALUE,... for each column that it releases; "
            "the values must be declared, because which values occur in the rows is private"
        )
    if not private and name in CURATORS and (domains or epsilon is not None):
        raise InvalidParameter(
            f"--domain and --epsilon must be left out with the curator {name!r}, which adds no noise"
        )
    if name == "clear":
        return curators.Clear(_listed(told.pop("columns")) if "columns" in told else None)
    if name == "bootstrap":
        return curators.Bootstrap()
    if name == "random-subset":
        return curators.RandomSubset(_whole(told, name, "rows"))
    if name == "cart":
        return curators.Cart(_whole(told, name, "leaf", 5))
    if name == "shuffled-column":
        column = told.pop("column", None) or (target.column if target else None)
        if column is None:
            raise InvalidParameter(
                f"the curator {name!r} needs --with column=COLUMN, where COLUMN is a column of the rows"
            )
        return curators.ShuffledColumn(column)
    if name == "count":
        rule = told.pop("rule", None) or (target.statement if target else None)
        if rule is None:
            raise InvalidParameter(
                f"the curator {name!r} needs --with rule=RULE, where RULE is a condition on rows, such as rule='ill = "
                "1'"
            )
        return curators.Count(rule)
    if name == "noisy-histogram":
        return curators.NoisyHistogram(domains, epsilon)
    if name == "noisy-marginals":
        chosen = told.pop("marginals", None)
        tables = (
            [tuple(_listed(columns, "+")) for columns in _listed(chosen)]
            if chosen
            else [(columns,) for columns in domains]
        )
        return curators.NoisyMarginals(domains, tables, epsilon)
    if name == "private-naive-bayes":
        if target is None:
            raise InvalidParameter("the curator 'private-naive-bayes' predicts a target and needs --target")
        return curators.PrivateNaiveBayes(target.column, domains, epsilon, told.pop("release", "table"))
    library, mark, generator = name.partition(".")
    if mark and generator:
        if library not in curators.installed():
            there = ", ".join(curators.installed()) or "none"
            raise InvalidParameter(
                f"--curator {name!r} needs the library {library!r}, which is not installed here; installed libraries "
                f"with curators: {there}"
            )
        library_curator = curators.Library(library, generator, {key: _value(value) for key, value in told.items()})
        told.clear()
        return library_curator
    raise InvalidParameter(
        f"--curator must be one of {', '.join(CURATORS)}, LIBRARY.GENERATOR, or a command with {{train}} and "
        f"{{release}}, got {name[:60]!r}"
    )


def _whole(told: dict[str, str], curator: str, key: str, default: int | None = None) -> int:
    text = told.pop(key, None)
    if text is None and default is not None:
        return default
    if text is None or not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise InvalidParameter(
            f"the curator {curator!r} needs --with {key}=NUMBER, where NUMBER is a whole number of at least 1"
        )
    return int(text)


def _pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in given:
        name, mark, values = text.partition("=")
        if not mark or not name.strip() or not _listed(values):
            raise InvalidParameter(f"{option} must be NAME=VALUE, got {text[:60]!r}")
        pairs.append((name.strip(), values.strip()))
    if len(dict(pairs)) < len(pairs):
        raise InvalidParameter(f"{option} must be given once for each name, and a name occurs twice")
    return pairs


def _listed(text: str, mark: str = ",") -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def _columns(given: Sequence[str]) -> list[str]:
    return [name for text in given for name in _listed(text)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(option: str, text: str) -> float:
    if not _is_number(text) or not math.isfinite(float(text)):
        raise InvalidParameter(f"{option} must be finite numbers, got {text[:60]!r}")
    return float(text)


def _value(text: str) -> Any:
    """A number where the text is one, otherwise the text."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
