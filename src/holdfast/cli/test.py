"""`holdfast test`: private tests of counts, typed or read from files, with a picture of the null."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.bounds.registry import shown
from holdfast.cli import count_input, output
from holdfast.cli.output import can_draw, draw, progress_bar
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

if TYPE_CHECKING:
    from holdfast.inference.private_tests.all_pairs import AllPairs
    from holdfast.inference.private_tests.local.collected import Collected
    from holdfast.inference.private_tests.planning import WhichTest
    from holdfast.inference.private_tests.result import TestResult


# --- Pairs ------------------------------------------------------------------------------------------------------------
# `holdfast test all-pairs`: independence of every pair of columns of a file at one total budget.


def all_pairs(
    files: list[Path] = typer.Argument(  # noqa: B008
        ..., help="CSV or Parquet files with the same columns; the rows of all files are tested together."
    ),
    categories: Path = typer.Option(  # noqa: B008
        ...,
        "--categories",
        help='A JSON file with the columns and the categories of each: {"sex": ["Female", "Male"], ...}.',
    ),
    other: str = typer.Option(
        None,
        "--other",
        help="The category that missing and undeclared values are put into, in each column that declares it. In all "
        "other "
        "columns such values are refused.",
    ),
    rho: float = typer.Option(
        ...,
        "--rho",
        help="The privacy budget rho of zero-concentrated differential privacy (zCDP) for all pairs together.",
    ),
    method: str = typer.Option(
        "projected",
        "--method",
        help="The method of each test: one of the methods of `holdfast test independence` that use Gaussian noise.",
    ),
    alpha: float = typer.Option(
        0.05, "--alpha", help="The significance level for all pairs together (familywise error rate, by Holm's method)."
    ),
    merge: float = typer.Option(
        0.1,
        "--merge",
        help="The part of rho that is spent on finding rare categories, which are then merged; with 0 none are merged.",
    ),
    top: int = typer.Option(20, "--top", help="How many pairs to print; --json prints all."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Test the independence of every pair of columns. All pairs share one privacy budget rho, and p-values are
    corrected by Holm's method.
    """
    from holdfast.inference.private_tests import all_pairs as run

    arguments.whole("top", top, at_least=1)
    declared = count_input.declared(categories)
    rest = {} if other is None else {name: other for name, known in declared.items() if other in known}
    if other is not None and not rest:
        raise InvalidParameter(f"--other must be a declared category of some column, got {other!r}")
    with progress_bar("all pairs", shown=not as_json) as progress:
        progress(0.0, "reading")
        frame = count_input.columns(files, list(declared))
        options: dict[str, Any] = {"method": method, "alpha": alpha, "merge": merge, "other": rest}
        pairs = run(frame, declared, rho, progress=progress, **options)
    if as_json:
        output.print_json(pairs.to_dict())
    else:
        _show_pairs(pairs, top, rho)


def _show_pairs(found: AllPairs, top: int, rho: float) -> None:
    tested = "1 pair" if len(found.pairs) == 1 else f"{len(found.pairs)} pairs"
    title = f"{tested} of {len(found.categories)} columns, {found.n} records, rho {rho:g} in all"
    rows = []
    for pair in found.pairs[:top]:
        statistic = "" if pair.result.statistic is None else shown(pair.result.statistic)
        effect = "" if pair.effect is None else f"{pair.effect:.3f}"
        verdict = "dependent" if pair.reject else "inconclusive" if pair.result.inconclusive else "not rejected"
        degrees = pair.result.details.get("degrees", "")
        rows.append((pair.first, pair.second, effect, statistic, degrees, shown(pair.adjusted), verdict))
    columns = ("first", "second", "Cramer's V", "statistic", "degrees", "adjusted p", "verdict")
    output.table(title, columns, rows)
    output.say(
        f"{found.rejected} dependent, {found.inconclusive} inconclusive at {found.alpha:g}; {found.correction}, so "
        f"any false rejection at all has probability {found.alpha:g} at most, as far as limit distributions "
        f"hold in their tails."
    )
    merged = sum(found.categories.values())
    output.say(
        f"Spent rho {shown(found.spent['rho'])}: {shown(found.rho_pair)} a pair, the rest to find rare categories; "
        f"{merged} categories are left."
    )


# --- Which ------------------------------------------------------------------------------------------------------------
# `holdfast test which`: every test for a setting, with its predicted power.


def which(
    n: int = typer.Option(..., "--n", help="Number of records."),
    d: int = typer.Option(
        None, "--d", help="Plan a goodness-of-fit test with this many cells and a uniform null hypothesis."
    ),
    p0: str = typer.Option(
        None, "--p0", help="Plan a goodness-of-fit test with these null probabilities, e.g. 1/2,1/6,1/6,1/6."
    ),
    p1: str = typer.Option(
        None,
        "--p1",
        help="For a goodness-of-fit test: the cell probabilities of the alternative (default: among the "
        "alternatives of size --effect, the one that is hardest to detect).",
    ),
    shape: str = typer.Option(
        None, "--shape", help="Plan a test of independence in a table with this many rows and columns, e.g. 3,4."
    ),
    table: str = typer.Option(
        None,
        "--table",
        help="Plan a test of independence; the alternative has these cell probabilities, row by row, e.g. "
        "'0.26,0.24;0.24,0.26'.",
    ),
    effect: float = typer.Option(
        0.1, "--effect", help="The size of the alternative as Cohen's w: 0.1 is small, 0.3 medium, 0.5 large."
    ),
    rho: float = typer.Option(
        None, "--rho", help="The privacy budget rho of zero-concentrated differential privacy (zCDP)."
    ),
    epsilon: float = typer.Option(None, "--epsilon", help="The privacy budget epsilon of pure differential privacy."),
    alpha: float = typer.Option(0.05, "--alpha", help="The significance level."),
    target: float = typer.Option(
        None,
        "--target",
        help="The power to reach, e.g. 0.8: also show how many records, and which privacy budget, a test needs to "
        "reach it.",
    ),
    plot: Path = typer.Option(  # noqa: B008
        None, "--plot", help="Draw the power against the number of records to this file: .svg, .png, .html or .json."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compare the power of all private tests that fit the setting. No record is read and no privacy is spent."""
    from holdfast.inference.private_tests import which_gof, which_independence

    if plot is not None:
        can_draw(plot)
    goodness = d is not None or p0 is not None
    if goodness == (shape is not None or table is not None):
        raise InvalidParameter(
            "give --d or --p0 for a goodness-of-fit test, or --shape or --table for a test of independence"
        )
    count_input.one_budget(rho, epsilon)
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "alpha": alpha, "target": target, "effect": effect}
    with progress_bar("which test", shown=not as_json and target is not None) as progress:
        shared["progress"] = progress
        if goodness:
            null = None if p0 is None else count_input.numbers("--p0", p0)
            ranking = which_gof(n, d=d, p0=null, p1=None if p1 is None else count_input.numbers("--p1", p1), **shared)
        else:
            if p1 is not None:
                raise InvalidParameter(
                    "--p1 must be left out for a test of independence, whose alternative is given by --table"
                )
            ranking = which_independence(
                n, shape=_shape(shape), p=None if table is None else count_input.rows("--table", table), **shared
            )
    if plot is not None:
        _draw(ranking, n, plot)
    if as_json:
        output.print_json(ranking.to_dict() | {"plot": None if plot is None else str(plot)})
    else:
        _show_which(ranking, plot)


def _shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    sides = count_input.numbers("--shape", text.replace("x", ","))
    if len(sides) != 2:
        raise InvalidParameter(f"--shape must be two numbers, rows and columns, got {text!r}")
    return sides[0], sides[1]  # type: ignore[return-value]


def _draw(found: WhichTest, n: int, plot: Path) -> None:
    from holdfast.inference.private_tests import power_chart

    ns = sorted({max(2, round(n * 2.0**k)) for k in (-4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4)})
    curves = {c.predicted.test: [c.predict(n=size) for size in ns] for c in found.candidates}
    draw(power_chart(curves, found.question), plot)


def _show_which(found: WhichTest, plot: Path | None) -> None:
    columns = ["test", "trust", "power", "level", "cost", "run it with"]
    if found.target is not None:
        columns[3:3] = [f"n for {found.target:g}", "budget for it"]
    rows = []
    for c in found.candidates:
        p = c.predicted
        row: list[object] = [
            p.test,
            c.trust,
            f"{p.power:.3f}",
            p.level,
            "not private" if p.cost is None else p.cost,
            c.call,
        ]
        if found.target is not None:
            row[3:3] = [c.n_needed or "", "" if c.budget_needed is None else shown(c.budget_needed)]
        rows.append(row)
    output.table(found.question, columns, rows)
    for name, why in found.left_out:
        output.say(f"{name} left out: {why}.")
    for warning in dict.fromkeys(w for c in found.candidates for w in c.predicted.warnings):
        output.say(f"Note: {warning}.")
    if plot is not None:
        output.say(f"The picture is in {plot}.")


# --- Test -------------------------------------------------------------------------------------------------------------

_FILE = typer.Argument(None, help="A CSV or Parquet file with the records. Leave it out to give --counts instead.")
_RHO = typer.Option(
    None,
    "--rho",
    help="The privacy budget rho of zero-concentrated differential privacy (zCDP); the noise is Gaussian. Give this "
    "or --epsilon.",
)
_EPSILON = typer.Option(
    None,
    "--epsilon",
    help="The privacy budget epsilon of pure differential privacy; the noise is Laplace. Give this or --rho.",
)
_ALPHA = typer.Option(0.05, "--alpha", help="The significance level.")
_REPLICATES = typer.Option(
    999, "--m", help="The number of simulated replicates, if the method is a Monte Carlo method."
)
_PLOT = typer.Option(
    None,
    "--plot",
    help="Draw the null distribution and the observed statistic to this file: .svg, .png, .html or .json.",
)
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")
_COUNTS = typer.Option(None, "--counts", help="The number of records in each cell, e.g. 10,20,30 (instead of a file).")
_TABLE = typer.Option(
    None, "--counts", help="The counts of the table, row by row, e.g. '255,193;301,251' (instead of a file)."
)
_COLUMN = typer.Option(None, "--column", help="The column of the file whose values are tested.")
_COLUMNS = typer.Option(
    None,
    "--columns",
    help="The two columns to test, separated by a comma: the first makes the "
    "rows of the table, the second its columns.",
)
_CATEGORIES = typer.Option(
    None,
    "--categories",
    help="All categories that the column can have, e.g. a,b,c. They are never read from the records, because that "
    "would reveal which categories occur.",
)
_BOTH = typer.Option(
    [],
    "--categories",
    metavar="A,B,C",
    help="All categories that a column can have. Give the option twice, in the order of --columns.",
)
_OTHER = typer.Option(
    None,
    "--other",
    help="One of the declared categories: missing and undeclared values are counted in it. Without this option such "
    "values are refused.",
)
_OTHERS = typer.Option(
    None,
    "--other",
    help="For each of the two columns, the category in which missing and undeclared values are counted, e.g. 'c;y', "
    "or ';y' for the second column alone. In a column without one, such values are refused.",
)
_P0 = typer.Option(
    None, "--p0", help="The cell probabilities under the null hypothesis, e.g. 1/2,1/6,1/6,1/6 (default: uniform)."
)
_RANDOMIZER = typer.Option(
    None,
    "--randomizer",
    help="How each person randomizes their own answer: randomized-response, bit-flip, laplace or gaussian (default: "
    "gaussian with --rho, the best for this number of cells with --epsilon). Must be given with --answers.",
)
_ANSWERS = typer.Option(
    None,
    "--answers",
    help="The sums, per cell, of the randomized answers that people sent. Give this instead of a file or "
    "--counts, whose records are randomized here.",
)
_LOCAL_METHOD = typer.Option(
    None,
    "--method",
    help="How the null distribution is computed: asymptotic (the default), or monte-carlo (the default with the "
    "laplace randomizer).",
)
_PEOPLE = typer.Option(
    None, "--n", help="With --answers: the number of people who answered. May be left out with randomized-response."
)


_GROUPS = {
    "Data": ("counts", "answers", "n", "column", "columns", "categories", "other", "unit", "public_margins"),
    "Hypothesis and test": ("p0", "p1", "d", "shape", "table", "effect", "method", "alpha", "target", "m"),
    "Privacy": ("rho", "epsilon", "randomizer"),
    "Output": ("plot", "as_json"),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    tests = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        help="Run differentially private tests of counts: goodness of fit, independence and association. Noise is "
        "added to the counts (central model), or each person randomizes their own answer (local model).",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    tests.command("gof", cls=output.grouped(_GROUPS))(gof)
    tests.command("independence", cls=output.grouped(_GROUPS))(independence)
    tests.command("gwas")(gwas)
    tests.command("local-gof", cls=output.grouped(_GROUPS))(local_gof)
    tests.command("local-independence", cls=output.grouped(_GROUPS))(local_independence)
    tests.command("all-pairs")(all_pairs)
    tests.command("which", cls=output.grouped(_GROUPS))(which)
    app.add_typer(tests, name="test")


def gof(
    file: Path = _FILE,
    counts: str = _COUNTS,
    column: str = _COLUMN,
    categories: str = _CATEGORIES,
    other: str = _OTHER,
    p0: str = _P0,
    rho: float = _RHO,
    epsilon: float = _EPSILON,
    method: str = typer.Option(
        None,
        "--method",
        help="The test: projected (the default with --rho), nonprojected, asymptotic, monte-carlo, "
        "monte-carlo-projected (the default with --epsilon) or cell-bounds (for very small significance levels). The "
        "last two have an exact level.",
    ),
    alpha: float = _ALPHA,
    m: int = _REPLICATES,
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test privately whether the values of one column follow given probabilities. The number of records is treated as
    public.
    """
    from holdfast.inference import private_tests as pt

    _before(plot)
    cells = _histogram(file, counts, column, categories, other)
    count_input.one_budget(rho, epsilon)
    null = _null(p0, cells.cells)
    result = pt.gof(cells, null, rho=rho, epsilon=epsilon, method=method, alpha=alpha, m=m)  # type: ignore[arg-type]
    _show(result, plot, as_json, p0=null)


def independence(
    file: Path = _FILE,
    counts: str = _TABLE,
    columns: str = _COLUMNS,
    categories: list[str] = _BOTH,
    other: str = _OTHERS,
    rho: float = _RHO,
    epsilon: float = _EPSILON,
    method: str = typer.Option(
        None,
        "--method",
        help="The test: projected (the default with --rho), nonprojected, asymptotic, asymptotic-printed, "
        "monte-carlo, monte-carlo-projected (the default with --epsilon) or cell-bounds (the only one whose level is "
        "exact).",
    ),
    alpha: float = _ALPHA,
    m: int = _REPLICATES,
    public_margins: str = typer.Option(
        "none",
        "--public-margins",
        help="Which totals of the table (row totals, column totals) are fixed by the design of the study and "
        "public: none, rows, columns or both.",
    ),
    unit: str = typer.Option(
        "person",
        "--unit",
        help="What privacy protects: person (the record of one person), or swap (an exchange between two "
        "records), which protects less and is for tables with --public-margins both.",
    ),
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test privately whether two columns (the rows and the columns of a table of counts) are independent. The number of
    records is treated as public.
    """
    from holdfast.inference import private_tests as pt

    _before(plot)
    table = _table(file, counts, columns, categories, other)
    count_input.one_budget(rho, epsilon)
    options: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "method": method, "alpha": alpha, "m": m}
    result = pt.independence(table, public_margins=public_margins, unit=unit, **options)  # type: ignore[arg-type]
    _show(result, plot, as_json, shape=table.shape)


def gwas(
    file: Path = _FILE,
    counts: str = typer.Option(
        None,
        "--counts",
        help="The counts of cases and controls for each of the three genotypes, e.g. '50,30;25,35;25,35' "
        "(instead of a file).",
    ),
    columns: str = _COLUMNS,
    categories: list[str] = _BOTH,
    other: str = _OTHERS,
    rho: float = typer.Option(
        ..., "--rho", help="The privacy budget rho of zero-concentrated differential privacy (zCDP)."
    ),
    method: str = typer.Option(
        "projected",
        "--method",
        help="Where noise is added: projected (to the counts) or output-perturbation (to the test statistic; a "
        "baseline with less power).",
    ),
    alpha: float = _ALPHA,
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test privately whether a genotype (3 rows) is associated with a disease (2 columns: cases and controls). The
    numbers of cases and of controls are fixed by the design of the study and public.
    """
    from holdfast.core import arguments
    from holdfast.inference import private_tests as pt

    arguments.choice("--method", method, ("projected", "output-perturbation"))
    _before(plot)
    table = _table(file, counts, columns, categories, other)
    if table.shape != (3, 2):
        raise InvalidParameter(
            "--counts must be a table with 3 rows (genotypes) and 2 columns (cases and controls), got "
            f"{table.shape[0]} rows and {table.shape[1]} columns"
        )
    if method == "projected":
        result = pt.homogeneity(table, groups="columns", rho=rho, alpha=alpha)
    else:
        result = pt.gwas(table, rho=rho, alpha=alpha)
    _show(result, plot, as_json)


def local_gof(
    file: Path = _FILE,
    counts: str = _COUNTS,
    answers: str = _ANSWERS,
    n: int = _PEOPLE,
    column: str = _COLUMN,
    categories: str = _CATEGORIES,
    other: str = _OTHER,
    p0: str = _P0,
    rho: float = _RHO,
    epsilon: float = _EPSILON,
    randomizer: str = _RANDOMIZER,
    method: str = _LOCAL_METHOD,
    alpha: float = _ALPHA,
    m: int = _REPLICATES,
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test in the local model of privacy whether a column follows given probabilities: each person's answer is
    randomized before it is collected.
    """
    from holdfast.inference.private_tests import local

    _before(plot)
    _either(answers, n, file, counts)
    if answers is not None:
        sums: Any = count_input.numbers("--answers", answers)
        collected = _received(sums, n, randomizer, rho, epsilon)
    else:
        collected = _collected(_histogram(file, counts, column, categories, other), randomizer, rho, epsilon)
    null = _null(p0, int(collected.sums.size))
    result = local.gof(collected, null, alpha=alpha, method=method, m=m)  # type: ignore[arg-type]
    _show(result, plot, as_json, p0=null)


def local_independence(
    file: Path = _FILE,
    counts: str = _TABLE,
    answers: str = _ANSWERS,
    n: int = _PEOPLE,
    columns: str = _COLUMNS,
    categories: list[str] = _BOTH,
    other: str = _OTHERS,
    rho: float = _RHO,
    epsilon: float = _EPSILON,
    randomizer: str = _RANDOMIZER,
    method: str = _LOCAL_METHOD,
    alpha: float = _ALPHA,
    m: int = _REPLICATES,
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test in the local model of privacy whether two columns are independent: each person's answer, a pair of
    categories, is randomized before it is collected.
    """
    from holdfast.inference.private_tests import local

    _before(plot)
    _either(answers, n, file, counts)
    if answers is not None:
        collected = _received(count_input.rows("--answers", answers), n, randomizer, rho, epsilon)
    else:
        collected = _collected(_table(file, counts, columns, categories, other), randomizer, rho, epsilon)
    result = local.independence(collected, alpha=alpha, method=method, m=m)  # type: ignore[arg-type]
    _show(result, plot, as_json, shape=collected.shape)


def _before(plot: Path | None) -> None:
    """A picture that cannot be drawn is found out before the release, which cannot be repeated for free."""
    if plot is not None:
        can_draw(plot)


def _histogram(
    file: Path | None, counts: str | None, column: str | None, categories: str | None, other: str | None
) -> Any:
    from holdfast.inference.private_tests import histogram, tally

    if counts is not None:
        if file is not None or column is not None or categories is not None or other is not None:
            raise InvalidParameter("give either --counts, or a file with --column and --categories, and not both")
        return histogram(count_input.numbers("--counts", counts))
    if file is None or column is None or categories is None:
        raise InvalidParameter("give --counts, or a file with --column and --categories")
    declared = count_input.words("--categories", categories)
    rest = None if other is None else count_input.one_of("--other", other, declared)
    return tally(count_input.columns([file], [column])[column], declared, other=rest)


def _table(file: Path | None, counts: str | None, columns: str | None, categories: list[str], other: str | None) -> Any:
    from holdfast.inference.private_tests import cross, table

    if counts is not None:
        if file is not None or columns is not None or categories or other is not None:
            raise InvalidParameter("give either --counts, or a file with --columns and --categories, and not both")
        return table(count_input.rows("--counts", counts))
    if file is None or columns is None or not categories:
        raise InvalidParameter("give --counts, or a file with --columns and --categories")
    names = count_input.words("--columns", columns)
    declared = [count_input.words("--categories", part) for part in count_input.each_list(categories)]
    if len(names) != 2 or len(declared) != 2:
        raise InvalidParameter("--columns must be two names, and --categories must be given twice, once per column")
    rest = count_input.one_of_each("--other", other, declared)
    read = count_input.columns([file], names)
    return cross(
        read[names[0]],
        read[names[1]],
        row_categories=declared[0],
        column_categories=declared[1],
        other_row=rest[0],
        other_column=rest[1],
    )


def _null(p0: str | None, cells: int) -> list[float]:
    return [1 / cells] * cells if p0 is None else count_input.numbers("--p0", p0)


def _randomizer(kind: str | None, cells: int, rho: float | None, epsilon: float | None) -> Any:
    from holdfast.core import arguments
    from holdfast.inference.private_tests.local import make_randomizer, which_randomizer
    from holdfast.inference.private_tests.local.channel import KINDS

    count_input.one_budget(rho, epsilon)
    if kind is not None:
        arguments.choice("--randomizer", kind, KINDS)
    else:
        kind = "gaussian" if epsilon is None else which_randomizer(cells, epsilon).winner
    return make_randomizer(kind, cells, epsilon=epsilon, rho=rho)


def _either(answers: str | None, n: int | None, file: Path | None, counts: str | None) -> None:
    """Nothing that was given is passed over in silence."""
    if answers is not None and (file is not None or counts is not None):
        raise InvalidParameter(
            "give either --answers (answers that were randomized already) or counts or a file, which are randomized "
            "here, and not both"
        )
    if answers is None and n is not None:
        raise InvalidParameter(
            f"--n must be left out without --answers, got {n}; counts and files already say how many people there are"
        )


def _received(sums: Any, n: int | None, kind: str | None, rho: float | None, epsilon: float | None) -> Collected:
    import numpy as np

    from holdfast.inference.private_tests.local import Collected
    from holdfast.mechanisms.local import RandomizedResponse

    if kind is None:
        raise InvalidParameter(
            "--randomizer must name the randomizer that each person used; without it the answers cannot be interpreted"
        )
    array = np.array(sums, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise InvalidParameter("--answers must be finite numbers, and some of them are not")
    randomizer = _randomizer(kind, array.size, rho, epsilon)
    if n is None:
        if not isinstance(randomizer, RandomizedResponse):
            raise InvalidParameter("--n, the number of people who answered, must be given with this randomizer")
        n = int(array.sum())
    return Collected(array, n, randomizer)


def _collected(counts: Any, kind: str | None, rho: float | None, epsilon: float | None) -> Collected:
    """Every record randomized here, as its owner would have."""
    import numpy as np

    from holdfast.inference.private_tests.local import Collected, collect

    randomizer = _randomizer(kind, counts.cells, rho, epsilon)
    records = np.repeat(np.arange(counts.cells), counts.values.ravel())
    collected = collect(records, list(range(counts.cells)), randomizer)
    return Collected(collected.sums.reshape(counts.shape), collected.n, randomizer)


def _show(result: TestResult, plot: Path | None, as_json: bool, p0: Any = None, shape: Any = None) -> None:
    drawn = None
    if plot is not None and not result.inconclusive:
        from holdfast.inference.private_tests import null_chart

        draw(null_chart(result, p0=p0, shape=shape), plot)
        drawn = str(plot)
    if as_json:
        output.print_json(result.to_dict() | {"plot": drawn})
    else:
        _print(result, drawn)
    if result.null_returned is not None:
        raise GuaranteeUnavailable(f"the test is inconclusive: {result.null_returned}")


def _print(result: TestResult, drawn: str | None) -> None:
    from holdfast.bounds.registry import shown

    facts: list[tuple[str, object]] = [("decision", f"{result.decision} at {result.alpha:g}")]
    if result.p_value is not None and result.statistic is not None:
        facts.append(("p-value", shown(result.p_value)))
        facts.append(("statistic", shown(result.statistic)))
        if result.critical_value is not None:
            facts.append(("critical value", shown(result.critical_value)))
    if "degrees" in result.details:
        facts.append(("degrees of freedom", result.details["degrees"]))
    facts += [("records", result.n), ("cost", result.cost), ("level", _LEVELS[result.level])]
    facts += [("warning", warning) for warning in result.warnings]
    if drawn is not None:
        facts.append(("picture", drawn))
    output.facts(result.test, facts)


_LEVELS = {
    "exact": "exact: proved at this n",
    "asymptotic": "asymptotic: a limit theorem, no proof at this n",
    "empirical": "empirical: measured, not proved",
}
