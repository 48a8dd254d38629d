"""Figures 5, 6 and 8 to 25 of the dissertation, each a record: distributions, budgets, our grid of n, tests, runs,
claims.

Figure 7 shows critical values and has a module of its own.

R. Rogers, *Leveraging Privacy in Data Analysis* (2017), chapters 6 to 8. Runs are the dissertation's or more.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from holdfast_papers.private_tests import recorded as book
from holdfast_papers.private_tests import settings as t
from holdfast_papers.private_tests.checks import Beats, Broken, Exact, Near, Within
from holdfast_papers.private_tests.figure import Figure, Panel, register
from holdfast_papers.private_tests.settings import EPSILONS, S4, SKEWED, U4, Setting

LAWS = {book.UNIFORM_4: U4, book.SHIFTED_4: S4, "(.85, .05, .05, .05)": SKEWED}
MARGINS = {"margins .5, .5": (0.5, 0.5), "margins 2/3, .5": (2 / 3, 0.5), "margins .9, .9": (0.9, 0.9)}
LEVEL_N = (100, 1_000, 10_000, 100_000, 1_000_000)
TABLE_N = (500, 1_000, 2_000, 5_000, 10_000, 50_000)
POWER_N = (1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000)
DELTA_A, DELTA_B = (0.01, -0.01, -0.01, 0.01), (0.01, -0.01 / 3, -0.01 / 3, -0.01 / 3)
SHIFT_A, SHIFT_B = (0.01, -0.01, -0.01, 0.01), (0.01, 0.0, -0.01, 0.0)

#: The 45 settings of goodness of fit and the 54 of independence in which levels were measured.
GOF_LEVELS = tuple(
    t.gof_setting(name, law, n, epsilon) for (name, law), epsilon, n in product(LAWS.items(), EPSILONS, LEVEL_N)
)
TABLE_LEVELS = tuple(
    t.table_setting(name, margins, n, epsilon)
    for (name, margins), epsilon, n in product(MARGINS.items(), EPSILONS, TABLE_N)
)


def gof_power(epsilons: Iterable[float] = EPSILONS) -> tuple[Setting, ...]:
    """Both alternatives of figure 11."""
    laws = ((book.POWER_A, U4, DELTA_A), (book.POWER_B, S4, DELTA_B))
    return tuple(t.gof_setting(name, p, n, e, d) for (name, p, d), e, n in product(laws, epsilons, POWER_N))


def table_power(epsilons: Iterable[float] = EPSILONS, *, only_b: bool = False) -> tuple[Setting, ...]:
    """Both alternatives of figure 13, or the second."""
    laws = ((book.TABLE_A, (0.5, 0.5), SHIFT_A), (book.TABLE_B, (2 / 3, 0.5), SHIFT_B))[1 if only_b else 0 :]
    return tuple(t.table_setting(name, m, n, e, d) for (name, m, d), e, n in product(laws, epsilons, POWER_N))


def local_gof(places: Iterable[tuple[str, float, int]]) -> tuple[Setting, ...]:
    """Local settings by law, epsilon and n."""
    laws = {
        book.POWER_A: (U4, DELTA_A),
        book.POWER_B: (S4, DELTA_B),
        book.UNIFORM_40: ((1 / 40,) * 40, (0.005, -0.005) * 20),
        book.UNIFORM_4: (U4, ()),
    }
    return tuple(t.gof_setting(name, laws[name][0], n, e, laws[name][1], local=True) for name, e, n in places)


def local_tables(ns: Iterable[int], shift: float, name: str) -> tuple[Setting, ...]:
    """Local 2 by 2 tables with even margins."""
    cells = (shift, -shift, -shift, shift)
    return tuple(t.table_setting(name, (0.5, 0.5), n, e, cells, local=True) for e, n in product(LOCAL_EPSILONS, ns))


LOCAL_EPSILONS = (1.0, 2.0, 4.0)
LOCAL_N = (2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
LOCAL_TESTS = (t.LOCAL_CLASSICAL, t.RESPONSE, t.BITS, t.LOCAL_GAUSSIAN, t.LOCAL_LAPLACE)
_B = (book.POWER_B, 0.1, 20_000)

FIGURES = (
    Figure(
        "rogers-figure-5",
        "Type I error of the classical goodness-of-fit test applied to noisy counts",
        "Rogers 2017 (thesis), figure 5",
        (
            Panel(
                tuple(
                    t.gof_setting(name, LAWS[name], n, 0.1)
                    for name, n in product(("U4", "S4"), (100, 1_000, 10_000, 50_000, 100_000, 1_000_000))
                ),
                (t.GOF_ON_NOISE, t.GOF_ON_LAPLACE, t.GOF),
                10_000,
            ),
        ),
        (Broken(t.GOF_ON_NOISE, 10_000), Broken(t.GOF_ON_LAPLACE, 10_000), Within(t.GOF, 0.053)),
        "far above .05 unless n is very large.",
        book.CLASSICAL_GOF,
    ),
    Figure(
        "rogers-figure-6",
        "Type I error of AsymptGOF",
        "Rogers 2017 (thesis), figure 6",
        (Panel(GOF_LEVELS, (t.ASYMPT_GOF, t.GOF_ON_NOISE), 100_000),),
        (Within(t.ASYMPT_GOF, 0.0520, 0.0492), Broken(t.GOF_ON_NOISE, 1_000)),
        "near .05 in all cases.",
    ),
    Figure(
        "rogers-figure-8",
        "Type I error of AsymptIndep, 2 by 2, as printed and with corrected weights",
        "Rogers 2017 (thesis), figure 8",
        (Panel(TABLE_LEVELS, (t.ASYMPT_INDEP, t.CORRECTED, t.INDEP_ON_NOISE), 10_000),),
        (Within(t.ASYMPT_INDEP, 0.051), Within(t.CORRECTED, 0.056), Broken(t.INDEP_ON_NOISE, 5_000, 5_000)),
        "at most .05 and conservative; at n = 500 and rho = 5e-5 nothing ever rejects (in 1,000 runs).",
        book.INDEPENDENCE_LEVELS,
    ),
    Figure(
        "rogers-figure-9",
        "Type I error of MCIndep with Gaussian noise, 2 by 2",
        "Rogers 2017 (thesis), figure 9",
        (Panel(TABLE_LEVELS, (t.MC_INDEP, t.MC_INDEP_REDRAW), 10_000),),
        (Within(t.MC_INDEP, 0.057), Within(t.MC_INDEP_REDRAW, 0.057)),
        "at most about .05, near 0 for small n.",
        book.INDEPENDENCE_LEVELS,
        remark="Redrawing inconclusive resamples gives up the conservatism, and a little more where a third are.",
    ),
    Figure(
        "rogers-figure-10",
        "Type I error of MCIndep with Laplace noise, 2 by 2",
        "Rogers 2017 (thesis), figure 10",
        (Panel(TABLE_LEVELS, (t.MC_INDEP_LAPLACE, t.MC_INDEP_REDRAW_LAPLACE), 10_000),),
        (Within(t.MC_INDEP_LAPLACE, 0.057), Within(t.MC_INDEP_REDRAW_LAPLACE, 0.057)),
        "at most about .05, near 0 for small n.",
        book.INDEPENDENCE_LEVELS,
    ),
    Figure(
        "rogers-figure-11",
        "Power of goodness of fit with Gaussian noise: GOF, AsymptGOF, MCGOF",
        "Rogers 2017 (thesis), figure 11",
        (Panel(gof_power(), (t.GOF, t.ASYMPT_GOF, t.MC_GOF), 10_000),),
        (Beats(t.GOF, t.ASYMPT_GOF), Beats(t.ASYMPT_GOF, t.MC_GOF)),
        "GOF above AsymptGOF above MCGOF.",
        book.GOF_POWER,
    ),
    Figure(
        "rogers-figure-12",
        "Power of goodness of fit with Laplace noise: MCGOF",
        "Rogers 2017 (thesis), figure 12",
        (Panel(gof_power(), (t.GOF, t.MC_GOF_LAPLACE, t.MC_PROJECTED_LAPLACE), 10_000),),
        (Beats(t.GOF, t.MC_PROJECTED_LAPLACE), Beats(t.MC_PROJECTED_LAPLACE, t.MC_GOF_LAPLACE)),
        "private curves are shifted to the right and catch up with n.",
        book.GOF_POWER,
    ),
    Figure(
        "rogers-figure-13",
        "Power of independence tests with Gaussian noise: AsymptIndep and MCIndep",
        "Rogers 2017 (thesis), figure 13",
        (Panel(table_power(), (t.INDEP, t.ASYMPT_INDEP, t.CORRECTED, t.MC_INDEP), 4_000),),
        (Beats(t.INDEP, t.CORRECTED), Beats(t.INDEP, t.MC_INDEP), Beats(t.CORRECTED, t.ASYMPT_INDEP)),
        "both below Indep, and AsymptIndep below MCIndep.",
        book.INDEPENDENCE_POWER,
        remark="The second holds while noise dominates; at large n MCIndep with m = 59 is lower by a little.",
    ),
    Figure(
        "rogers-figure-14",
        "Power of MCIndep with Laplace noise",
        "Rogers 2017 (thesis), figure 14",
        (Panel(table_power(), (t.INDEP, t.MC_INDEP_LAPLACE), 4_000),),
        (Beats(t.INDEP, t.MC_INDEP_LAPLACE),),
        "below Indep, and catching up with n.",
        book.INDEPENDENCE_POWER,
    ),
    Figure(
        "rogers-figure-15",
        "Type I error of the nonprojected statistic",
        "Rogers 2017 (thesis), figure 15",
        (Panel(GOF_LEVELS, (t.NONPROJECTED, t.GOF_ON_NOISE), 100_000),),
        (Within(t.NONPROJECTED, 0.0515, 0.0491), Broken(t.GOF_ON_NOISE, 1_000)),
        ".05 throughout.",
    ),
    Figure(
        "rogers-figure-16",
        "Type I error of the projected statistic",
        "Rogers 2017 (thesis), figure 16",
        (Panel(GOF_LEVELS, (t.PROJECTED, t.GOF_ON_NOISE), 100_000),),
        (Within(t.PROJECTED, 0.0512, 0.0487), Broken(t.GOF_ON_NOISE, 1_000)),
        ".05 throughout.",
    ),
    Figure(
        "rogers-figure-17",
        "Power of the projected and the nonprojected statistic",
        "Rogers 2017 (thesis), figure 17",
        (Panel(gof_power(), (t.GOF, t.PROJECTED, t.NONPROJECTED), 10_000),),
        (Beats(t.GOF, t.PROJECTED), Beats(t.PROJECTED, t.NONPROJECTED)),
        "projected above nonprojected.",
        book.GOF_POWER,
    ),
    Figure(
        "rogers-figure-18",
        "Power of the projected statistic minus that of the other private tests",
        "Rogers 2017 (thesis), figure 18",
        (
            Panel(gof_power((0.1,)), (t.PROJECTED, t.NONPROJECTED, t.ASYMPT_GOF, t.MC_GOF), 100_000),
            Panel((t.gof_setting(book.POWER_B, S4, 20_000, 0.1, DELTA_B),), (t.PROJECTED, t.MC_GOF_999), 20_000),
        ),
        (
            Beats(t.PROJECTED, t.NONPROJECTED),
            Beats(t.PROJECTED, t.ASYMPT_GOF),
            Beats(t.PROJECTED, t.MC_GOF),
            Near(t.PROJECTED, _B, 0.599),
            Near(t.ASYMPT_GOF, _B, 0.564),
            Near(t.NONPROJECTED, _B, 0.548),
            Near(t.MC_GOF_999, _B, 0.56),
        ),
        "all differences are at least 0.",
        book.GOF_POWER,
        against=t.PROJECTED,
    ),
    Figure(
        "rogers-figure-19",
        "Type I error of the nonprojected minimum chi-square test of independence, 2 by 2",
        "Rogers 2017 (thesis), figure 19",
        (Panel(TABLE_LEVELS, (t.GEN_NONPROJECTED, t.INDEP_ON_NOISE), 10_000),),
        (Within(t.GEN_NONPROJECTED, 0.057), Broken(t.INDEP_ON_NOISE, 5_000, 5_000)),
        "at most .05, much smaller at small n through the rule of five.",
        book.INDEPENDENCE_LEVELS,
    ),
    Figure(
        "rogers-figure-20",
        "Type I error of the projected minimum chi-square test of independence, 2 by 2",
        "Rogers 2017 (thesis), figure 20",
        (Panel(TABLE_LEVELS, (t.GEN_PROJECTED, t.INDEP_ON_NOISE), 10_000),),
        (Within(t.GEN_PROJECTED, 0.056), Broken(t.INDEP_ON_NOISE, 5_000, 5_000)),
        "at most .05, much smaller at small n through the rule of five.",
        book.INDEPENDENCE_LEVELS,
    ),
    Figure(
        "rogers-figure-21",
        "Power of the minimum chi-square tests of independence",
        "Rogers 2017 (thesis), figure 21",
        (Panel(table_power(), (t.INDEP, t.GEN_PROJECTED, t.GEN_NONPROJECTED), 4_000),),
        (Beats(t.INDEP, t.GEN_PROJECTED), Beats(t.GEN_PROJECTED, t.GEN_NONPROJECTED)),
        "projected above nonprojected.",
        book.INDEPENDENCE_POWER,
    ),
    Figure(
        "rogers-figure-22",
        "Power of the projected test of independence minus that of the other private tests",
        "Rogers 2017 (thesis), figure 22",
        (
            Panel(
                table_power((0.1,), only_b=True),
                (t.GEN_PROJECTED, t.GEN_NONPROJECTED, t.ASYMPT_INDEP, t.CORRECTED, t.MC_INDEP),
                10_000,
            ),
        ),
        (
            Beats(t.GEN_PROJECTED, t.GEN_NONPROJECTED),
            Beats(t.GEN_PROJECTED, t.ASYMPT_INDEP),
            Beats(t.GEN_PROJECTED, t.MC_INDEP),
            Near(t.GEN_PROJECTED, (book.TABLE_B, 0.1, 20_000), 0.790),
        ),
        "all differences are at least 0.",
        book.INDEPENDENCE_POWER,
        against=t.GEN_PROJECTED,
    ),
    Figure(
        "rogers-figure-23",
        "GWAS tables: noise on counts at a 25th of the budget against noise on the statistic",
        "Rogers 2017 (thesis), figure 23",
        (
            Panel(
                tuple(
                    t.gwas_setting(book.GWAS_CASES, (0.5, 0.25, 0.25), n, 0.05) for n in (200, 500, 1_000, 2_000, 4_000)
                ),
                (t.GWAS_CLASSICAL, t.OUTPUT, t.GWAS_SMALL, t.GWAS_HOMOGENEITY_SMALL, t.GWAS_PROJECTED),
                10_000,
            ),
            Panel(
                tuple(t.gwas_setting(book.GWAS_NULL, (1 / 3, 1 / 3, 1 / 3), n, 0.05) for n in (500, 1_000, 2_000)),
                (t.GWAS_CLASSICAL, t.OUTPUT, t.GWAS_SMALL, t.GWAS_HOMOGENEITY_SMALL, t.GWAS_PROJECTED),
                10_000,
            ),
        ),
        (
            Beats(t.GWAS_SMALL, t.OUTPUT, 1_000),
            Within(t.OUTPUT, 0.053),
            Within(t.GWAS_SMALL, 0.052),
            Within(t.GWAS_PROJECTED, 0.052),
            Within(t.GWAS_HOMOGENEITY_SMALL, 0.0528),
        ),
        "GenChiTest matches output perturbation with rho 25 times smaller.",
        book.GWAS,
    ),
    Figure(
        "rogers-figure-24",
        "Local goodness of fit: randomized response against Laplace noise, and two more randomizers",
        "Rogers 2017 (thesis), figure 24",
        (
            Panel(local_gof(product((book.POWER_A,), LOCAL_EPSILONS, LOCAL_N)), LOCAL_TESTS, 4_000),
            Panel(
                local_gof(dict.fromkeys(where for where, _ in book.LOCAL_GOF)),
                (t.LOCAL_CLASSICAL, t.RESPONSE, t.BITS, t.LOCAL_GAUSSIAN, t.LOCAL_LAPLACE_999),
                4_000,
            ),
            Panel(local_gof(product((book.UNIFORM_4,), LOCAL_EPSILONS, (10_000,))), LOCAL_TESTS, 4_000),
        ),
        (
            Beats(t.RESPONSE, t.LOCAL_LAPLACE),
            Within(t.RESPONSE, 0.054),
            Within(t.BITS, 0.054),
            Within(t.LOCAL_GAUSSIAN, 0.053),
            Exact(t.LOCAL_LAPLACE),
        ),
        "nothing in words; randomized response is the better one at d = 4 (the budgets are ours).",
        book.LOCAL_GOF,
    ),
    Figure(
        "rogers-figure-25",
        "Local independence: randomized response against Laplace noise",
        "Rogers 2017 (thesis), figure 25",
        (
            Panel(local_tables((1_000, 2_000, 5_000, 10_000, 20_000), 0.025, book.LOCAL_TABLE), LOCAL_TESTS, 2_000),
            Panel(local_tables((5_000,), 0.025, book.LOCAL_TABLE), (t.RESPONSE, t.LOCAL_LAPLACE_999), 2_000),
            Panel(local_tables((10_000,), 0.0, "margins 1/2, 1/2"), LOCAL_TESTS, 2_000),
        ),
        (
            Beats(t.RESPONSE, t.LOCAL_LAPLACE),
            Within(t.RESPONSE, 0.051),
            Within(t.LOCAL_GAUSSIAN, 0.056),
            Within(t.LOCAL_LAPLACE, 0.055),
        ),
        "nothing in words; randomized response is the better one (the budgets are ours).",
        book.LOCAL_INDEPENDENCE,
    ),
)

for _figure in FIGURES:
    register(_figure, __name__)

__all__ = ["FIGURES", "GOF_LEVELS", "TABLE_LEVELS"]
