"""Every analyst by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from holdfast import check
from holdfast.experiments.analysts.adversarial import adversarial
from holdfast.experiments.analysts.bit_recovery import bit_recovery
from holdfast.experiments.analysts.freedman import freedman
from holdfast.experiments.analysts.greedy import greedy
from holdfast.experiments.analysts.honest import honest
from holdfast.experiments.analysts.interview import Run
from holdfast.experiments.answerers.base import Answerer, Design

Analyse = Callable[[Answerer, Design, np.random.Generator], Run]


@dataclass(frozen=True)
class Analyst:
    """An analyst: `run(answerer, design, rng)` is one whole analysis of a fresh sample."""

    name: str
    title: str
    run: Analyse

    def to_dict(self) -> dict[str, Any]:
        """Plain data for listings."""
        return {"name": self.name, "title": self.title}


ANALYSTS: dict[str, Analyst] = {
    entry.name: entry
    for entry in (
        Analyst("honest", "every question fixed before the data", honest),
        Analyst("greedy", "scores features, then grows a vote while its score looks better", greedy),
        Analyst("adversarial", "asks every feature, then the vote signed by the answers", adversarial),
        Analyst("adversarial-weighted", "the same, votes weighted", partial(adversarial, variant="weighted")),
        Analyst("adversarial-quarter", "the last quarter asks growing votes", partial(adversarial, variant="quarter")),
        Analyst("adversarial-feedback", "asks for the vote as it goes", partial(adversarial, variant="feedback")),
        Analyst("adversarial-probe", "guesses at the edge of the tolerance", partial(adversarial, variant="probe")),
        Analyst("freedman", "screens noise, refits with what looks significant, asks again", freedman),
        Analyst("bit-recovery", "solves for the rows' secret bits from answers about random groups", bit_recovery),
    )
}


def analyst(name: str) -> Analyst:
    """The analyst called `name`.

    Examples
    --------
    >>> analyst("greedy").name
    'greedy'
    """
    return ANALYSTS[check.choice("analyst", name, ANALYSTS)]


__all__ = ["ANALYSTS", "Analyse", "Analyst", "analyst"]
