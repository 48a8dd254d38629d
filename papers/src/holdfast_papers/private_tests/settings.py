"""What a figure of private tests is made of: settings to draw data in, and tests to run on the same data.

Privacy as in the dissertation (R. Rogers 2017, chapters 6 to 8): in the central model `epsilon` of Laplace noise and
`rho = epsilon^2 / 8` of Gaussian noise, which have one variance; `rho = epsilon^2 / 2` in the local one; a plain `rho`
for GWAS tables. The figures are images without numbers on their axes in our text, so the grids of n are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.inference.private_tests import NoiseLaw, gaussian, laplace

ALPHA = 0.05
Family = Literal["gof", "independence", "gwas", "local-gof", "local-independence"]
Noise = Literal["none", "gaussian", "laplace", "randomized-response", "bit-flip"]

U4 = (0.25, 0.25, 0.25, 0.25)
S4 = (1 / 2, 1 / 6, 1 / 6, 1 / 6)
SKEWED = (0.85, 0.05, 0.05, 0.05)
EPSILONS = (0.02, 0.05, 0.1)
"""The three budgets of chapters 6 and 7: rho = 5e-5, 3.125e-4 and 1.25e-3."""


@dataclass(frozen=True)
class Setting:
    """One distribution of the data, one n, one budget.

    Attributes
    ----------
    family : str
        Which tests apply, and how data are drawn.
    name : str
        What tables call the distribution.
    truth : tuple of float
        Cell probabilities that records follow, row by row; of a GWAS table the two columns one after the other.
    n : int
        Number of records; public.
    budget : float
        Epsilon, or rho in the family "gwas".
    null : tuple of float
        What a goodness-of-fit test asks about; empty for composite nulls.
    shape : tuple of int
        Of a table; `(d,)` for a histogram.
    """

    family: Family
    name: str
    truth: tuple[float, ...]
    n: int
    budget: float
    null: tuple[float, ...] = ()
    shape: tuple[int, ...] = (4,)

    @property
    def rho(self) -> Fraction:
        """The zCDP budget, exactly."""
        given = Fraction(str(self.budget))
        return {"gwas": given, "gof": given**2 / 8, "independence": given**2 / 8}.get(self.family, given**2 / 2)

    @property
    def row(self) -> dict[str, Any]:
        """What identifies the setting in a table."""
        shown = {} if self.family == "gwas" else {"epsilon": self.budget}
        return {"law": self.name, **shown, "rho": float(self.rho), "n": self.n}

    def law(self) -> NDArray[np.float64]:
        """The truth as an array that sums to one."""
        p = np.array(self.truth)
        scaled: NDArray[np.float64] = p / p.sum()
        return scaled


@dataclass(frozen=True)
class Trial:
    """One test to run on every data set of a setting.

    Attributes
    ----------
    label : str
        What tables and plots call it.
    method : str
        As the library's batch functions call it.
    noise : str
        Of the release; "none" is the classical test on exact counts. In the local families, the randomizer.
    m : int
        Number of replicates of a Monte Carlo method.
    on_null : str
        What an inconclusive resample does.
    share : Fraction
        How much of the setting's rho this test gets.
    """

    label: str
    method: str
    noise: Noise = "gaussian"
    m: int = 0
    on_null: str = "redraw"
    share: Fraction = Fraction(1)

    def noise_law(self, setting: Setting) -> NoiseLaw:
        """The noise of a central test; a test without noise gets a distribution that it does not use."""
        if self.noise == "laplace":
            return laplace(Fraction(str(setting.budget)))
        return gaussian(setting.rho * self.share)


# Goodness of fit.
GOF = Trial("GOF, not private", "classical", "none")
GOF_ON_NOISE = Trial("classical GOF on noisy counts", "classical")
GOF_ON_LAPLACE = Trial("classical GOF on noisy counts (Laplace)", "classical", "laplace")
ASYMPT_GOF = Trial("AsymptGOF", "asymptotic")
NONPROJECTED = Trial("nonprojected", "nonprojected")
PROJECTED = Trial("projected", "projected")
MC_GOF = Trial("MCGOF", "monte-carlo", m=59)
MC_GOF_999 = Trial("MCGOF, m = 999", "monte-carlo", m=999)
MC_GOF_LAPLACE = Trial("MCGOF (Laplace)", "monte-carlo", "laplace", m=59)
MC_PROJECTED_LAPLACE = Trial("MC projected (Laplace)", "monte-carlo-projected", "laplace", m=59)
# Independence.
INDEP = Trial("Indep, not private", "classical", "none")
INDEP_ON_NOISE = Trial("classical on noisy counts", "classical")
ASYMPT_INDEP = Trial("AsymptIndep as printed", "asymptotic-printed")
CORRECTED = Trial("AsymptIndep corrected", "asymptotic")
MC_INDEP = Trial("MCIndep as printed", "monte-carlo", m=59, on_null="fail")
MC_INDEP_LAPLACE = Trial("MCIndep as printed (Laplace)", "monte-carlo", "laplace", m=59, on_null="fail")
MC_INDEP_REDRAW = Trial("MCIndep, redraw", "monte-carlo", m=59)
MC_INDEP_REDRAW_LAPLACE = Trial("MCIndep, redraw (Laplace)", "monte-carlo", "laplace", m=59)
MC_INDEP_WRONG = Trial("MCIndep, NULL as minus infinity", "monte-carlo", m=59, on_null="minus-infinity")
MC_GEN_LAPLACE = Trial("MC GenChi (Laplace)", "monte-carlo-projected", "laplace", m=59)
GEN_NONPROJECTED = Trial("GenChi nonprojected", "nonprojected")
GEN_PROJECTED = Trial("GenChi projected", "projected")
# GWAS tables.
OUTPUT = Trial("output perturbation", "output")
GWAS_PROJECTED = Trial("GenChi projected", "projected")
GWAS_SMALL = Trial("GenChi projected, rho/25", "projected", share=Fraction(1, 25))
GWAS_HOMOGENEITY_SMALL = Trial("homogeneity, rho/25", "homogeneity", share=Fraction(1, 25))
GWAS_CLASSICAL = Trial("not private", "classical", "none")
# Local.
LOCAL_CLASSICAL = Trial("not private", "classical", "none")
RESPONSE = Trial("randomized response", "asymptotic", "randomized-response")
BITS = Trial("bit flipping", "asymptotic", "bit-flip")
LOCAL_GAUSSIAN = Trial("Gaussian, rho = epsilon^2/2", "asymptotic", "gaussian")
LOCAL_LAPLACE = Trial("Laplace MC", "monte-carlo", "laplace", m=59)
LOCAL_LAPLACE_999 = Trial("Laplace MC, m = 999", "monte-carlo", "laplace", m=999)


def gof_setting(
    name: str, null: tuple[float, ...], n: int, budget: float, delta: tuple[float, ...] = (), *, local: bool = False
) -> Setting:
    """Records from `null + delta`, asked about `null`."""
    truth = tuple(p + d for p, d in zip(null, delta, strict=True)) if delta else null
    return Setting("local-gof" if local else "gof", name, truth, n, budget, null, (len(null),))


def table_setting(
    name: str,
    margins: tuple[float, float],
    n: int,
    budget: float,
    shift: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
    *,
    local: bool = False,
) -> Setting:
    """A 2 by 2 table with first margins `margins`, plus `shift` row by row."""
    p = np.outer([margins[0], 1 - margins[0]], [margins[1], 1 - margins[1]]).ravel() + np.array(shift)
    family: Family = "local-independence" if local else "independence"
    return Setting(family, name, tuple(p.tolist()), n, budget, (), (2, 2))


def gwas_setting(name: str, cases: tuple[float, ...], n: int, rho: float) -> Setting:
    """Genotypes of `n/2` cases from `cases` and of `n/2` controls from the uniform distribution."""
    return Setting("gwas", name, (*cases, 1 / 3, 1 / 3, 1 / 3), n, rho, (), (3, 2))


__all__ = [
    "ALPHA",
    "EPSILONS",
    "S4",
    "SKEWED",
    "U4",
    "Family",
    "Noise",
    "Setting",
    "Trial",
    "gof_setting",
    "gwas_setting",
    "table_setting",
]
