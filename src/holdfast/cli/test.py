"""`holdfast test`: private tests of counts, typed or read from files, with a picture of the null."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import count_input, output, pairs, which
from holdfast.cli.picture import can_draw, draw
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

if TYPE_CHECKING:
    from holdfast.inference.private_tests.local.collected import Collected
    from holdfast.inference.private_tests.result import TestResult

_FILE = typer.Argument(None, help="A CSV or Parquet file; without it, --counts.")
_RHO = typer.Option(None, "--rho", help="Spend this much zCDP: Gaussian noise.")
_EPSILON = typer.Option(None, "--epsilon", help="Spend this much pure differential privacy: Laplace noise.")
_ALPHA = typer.Option(0.05, "--alpha", help="The level.")
_REPLICATES = typer.Option(999, "--m", help="Replicates of a Monte Carlo method.")
_PLOT = typer.Option(None, "--plot", help="Draw the null law and where the statistic fell: .svg, .png, .html or .json.")
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")
_COUNTS = typer.Option(None, "--counts", help="Counts of the cells: 10,20,30.")
_TABLE = typer.Option(None, "--counts", help="Rows of a table: '255,193;301,251'.")
_COLUMN = typer.Option(None, "--column", help="The column of the file.")
_COLUMNS = typer.Option(None, "--columns", help="The two columns of the file: rows,columns.")
_CATEGORIES = typer.Option(
    None, "--categories", help="Its categories, declared: a,b,c. They are never read from the records."
)
_BOTH = typer.Option(None, "--categories", help="Categories of both columns, declared: 'a,b,c;x,y'.")
_OTHER = typer.Option(
    None, "--other", help="The declared category that missing and undeclared values count in; else they are refused."
)
_OTHERS = typer.Option(
    None, "--other", help="The same for both columns, 'c;y'; ';y' for the second alone. Else they are refused."
)
_P0 = typer.Option(None, "--p0", help="The null probabilities, 1/2,1/6,1/6,1/6; uniform if not given.")
_RANDOMIZER = typer.Option(
    None, "--randomizer", help="randomized-response, bit-flip, laplace or gaussian; the best for epsilon if not given."
)
_ANSWERS = typer.Option(
    None, "--answers", help="Summed randomized answers as they arrived, instead of counts that are randomized here."
)
_LOCAL_METHOD = typer.Option(
    None, "--method", help="asymptotic, or monte-carlo (the default with the laplace randomizer)."
)
_PEOPLE = typer.Option(None, "--n", help="How many people answered; with --answers.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    tests = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        help="Private tests of counts: goodness of fit, independence, association, central and local.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    tests.command("gof")(gof)
    tests.command("independence")(independence)
    tests.command("gwas")(gwas)
    tests.command("local-gof")(local_gof)
    tests.command("local-independence")(local_independence)
    tests.command("all-pairs")(pairs.all_pairs)
    tests.command("which")(which.which)
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
        help="projected (the default with --rho), nonprojected, asymptotic, monte-carlo or monte-carlo-projected (the "
        "default with --epsilon; its level is exact).",
    ),
    alpha: float = _ALPHA,
    m: int = _REPLICATES,
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test whether records follow given probabilities. The number of records is public."""
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
    categories: str = _BOTH,
    other: str = _OTHERS,
    rho: float = _RHO,
    epsilon: float = _EPSILON,
    method: str = typer.Option(
        None,
        "--method",
        help="projected (the default with --rho), nonprojected, asymptotic, asymptotic-printed, monte-carlo or "
        "monte-carlo-projected (the default with --epsilon).",
    ),
    alpha: float = _ALPHA,
    m: int = _REPLICATES,
    public_margins: str = typer.Option("none", "--public-margins", help="none, rows, columns or both, by design."),
    unit: str = typer.Option("person", "--unit", help="What is protected; swap where both margins are public."),
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test whether rows and columns of a table are independent. The number of records is public."""
    from holdfast.inference import private_tests as pt

    _before(plot)
    table = _table(file, counts, columns, categories, other)
    count_input.one_budget(rho, epsilon)
    options: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "method": method, "alpha": alpha, "m": m}
    result = pt.independence(table, public_margins=public_margins, unit=unit, **options)  # type: ignore[arg-type]
    _show(result, plot, as_json, shape=table.shape)


def gwas(
    file: Path = _FILE,
    counts: str = typer.Option(None, "--counts", help="Genotypes by cases and controls: '50,30;25,35;25,35'."),
    columns: str = _COLUMNS,
    categories: str = _BOTH,
    other: str = _OTHERS,
    rho: float = typer.Option(..., "--rho", help="Spend this much zCDP."),
    method: str = typer.Option(
        "projected",
        "--method",
        help="projected: noise on the counts. output-perturbation: noise on the statistic, the weaker baseline.",
    ),
    alpha: float = _ALPHA,
    plot: Path = _PLOT,
    as_json: bool = _JSON,
) -> None:
    """Test association of a genotype (3 rows) with a disease (cases, controls). Group sizes are public by design."""
    from holdfast import check
    from holdfast.inference import private_tests as pt

    check.choice("--method", method, ("projected", "output-perturbation"))
    _before(plot)
    table = _table(file, counts, columns, categories, other)
    if table.shape != (3, 2):
        raise InvalidParameter(f"--counts must be 3 genotypes by 2 groups, got {table.shape[0]} by {table.shape[1]}")
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
    """Test given probabilities from answers that people randomized themselves."""
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
    categories: str = _BOTH,
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
    """Test independence of a pair that people randomized themselves, as one of all pairs of categories."""
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
            raise InvalidParameter("give --counts, or a file with --column and --categories, not both")
        return histogram(count_input.numbers("--counts", counts))
    if file is None or column is None or categories is None:
        raise InvalidParameter("give --counts, or a file with --column and --categories")
    declared = count_input.words("--categories", categories)
    rest = None if other is None else count_input.one_of("--other", other, declared)
    return tally(count_input.columns([file], [column])[column], declared, other=rest)


def _table(
    file: Path | None, counts: str | None, columns: str | None, categories: str | None, other: str | None
) -> Any:
    from holdfast.inference.private_tests import cross, table

    if counts is not None:
        if file is not None or columns is not None or categories is not None or other is not None:
            raise InvalidParameter("give --counts, or a file with --columns and --categories, not both")
        return table(count_input.rows("--counts", counts))
    if file is None or columns is None or categories is None:
        raise InvalidParameter("give --counts, or a file with --columns and --categories")
    names = count_input.words("--columns", columns)
    declared = [count_input.words("--categories", part) for part in categories.split(";")]
    if len(names) != 2 or len(declared) != 2:
        raise InvalidParameter("--columns must be two names, and --categories two lists with a semicolon between them")
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
    from holdfast import check
    from holdfast.inference.private_tests.local import make_randomizer, which_randomizer
    from holdfast.inference.private_tests.local.channel import KINDS

    count_input.one_budget(rho, epsilon)
    if kind is not None:
        check.choice("--randomizer", kind, KINDS)
    else:
        kind = "gaussian" if epsilon is None else which_randomizer(cells, epsilon).winner
    return make_randomizer(kind, cells, epsilon=epsilon, rho=rho)


def _either(answers: str | None, n: int | None, file: Path | None, counts: str | None) -> None:
    """Nothing that was given is passed over in silence."""
    if answers is not None and (file is not None or counts is not None):
        raise InvalidParameter("give --answers, or counts or a file that are randomized here, not both")
    if answers is None and n is not None:
        raise InvalidParameter(f"--n must come with --answers, got {n}: counts and files say how many people there are")


def _received(sums: Any, n: int | None, kind: str | None, rho: float | None, epsilon: float | None) -> Collected:
    import numpy as np

    from holdfast.inference.private_tests.local import Collected
    from holdfast.mechanisms.local import RandomizedResponse

    if kind is None:
        raise InvalidParameter("--randomizer must say what each person ran; answers cannot be read without it")
    array = np.array(sums, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise InvalidParameter("--answers must be finite numbers, and some are not")
    made = _randomizer(kind, array.size, rho, epsilon)
    if n is None:
        if not isinstance(made, RandomizedResponse):
            raise InvalidParameter("--n must say how many people answered")
        n = int(array.sum())
    return Collected(array, n, made)


def _collected(counts: Any, kind: str | None, rho: float | None, epsilon: float | None) -> Collected:
    """Every record randomized here, as its owner would have."""
    import numpy as np

    from holdfast.inference.private_tests.local import Collected, collect

    made = _randomizer(kind, counts.cells, rho, epsilon)
    records = np.repeat(np.arange(counts.cells), counts.values.ravel())
    found = collect(records, list(range(counts.cells)), made)
    return Collected(found.sums.reshape(counts.shape), found.n, made)


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
