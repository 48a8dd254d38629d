"""Two samples that differ in hidden rows only, asked the same questions in turn: do their response times differ?

The order inside each pair is a fair coin's, so that under the claim each difference is as likely positive as negative,
whatever the machine does meanwhile: the sign test is exact.
"""

from __future__ import annotations

import http.client
import json
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.server.live import Live

ERROR = 1e-6
"""With what probability samples that cannot be told apart are said to be."""
ROWS = 4000
POLICY = {"privacy": {"kind": "pure-dp", "epsilon": 1000.0}, "spend": {"kind": "pure-dp", "epsilon": 0.0001}}
Ask = Callable[[int, int], float]
"""Asks one of the two samples a numbered question; the seconds that it took."""


@dataclass(frozen=True)
class Pairs:
    """What was found: median seconds of each sample, the median difference, and the two-sided p of the signs."""

    first: float
    second: float
    median: float
    p: float

    @property
    def separable(self) -> bool:
        """Whether the samples can be told apart."""
        return self.p < ERROR


def rows(which: int) -> str:
    """A sample: `x` is 0 on every row of the first and 1 on every row of the second; all else looks alike."""
    return "id,x\n" + "".join(f"{which + 1}{i:07d},{which}\n" for i in range(ROWS))


def question(number: int) -> dict[str, Any]:
    """A condition that is true for no row of the first sample and for all of the second; the answer is noisy."""
    return {"kind": "mean", "expression": f"x > {0.25 + number / 2**40!r}"}


def compare(ask: Ask, pairs: int, seed: int = 20261116) -> Pairs:
    """Ask in pairs; the first tenth warms up."""
    rng = random.Random(seed)
    times: list[tuple[float, float]] = []
    for number in range(pairs + pairs // 10):
        found = {which: ask(which, number) for which in ((0, 1) if rng.random() < 0.5 else (1, 0))}
        times.append((found[0], found[1]))
    times = times[pairs // 10 :]
    differences = [b - a for a, b in times]
    return Pairs(
        statistics.median(a for a, _ in times),
        statistics.median(b for _, b in times),
        statistics.median(differences),
        sign_test(sum(one > 0 for one in differences), sum(one < 0 for one in differences)),
    )


def sign_test(above: int, below: int) -> float:
    """The exact two-sided p-value of a fair coin.

    Examples
    --------
    >>> sign_test(5, 5), sign_test(0, 2)
    (1.0, 0.5)
    """
    n, least = above + below, min(above, below)
    whole = math.lgamma(n + 1) - n * math.log(2)
    logs = [whole - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(least + 1)]
    return min(1.0, 2 * math.fsum(map(math.exp, logs)))


def over_http(live: Live, pairs: int) -> Pairs:
    """Against a real server, over one connection that is kept open."""
    paths = [f"/api/v1/guards/{live.guard(f'hidden-{which}', POLICY, rows(which))['id']}/ask" for which in (0, 1)]
    with live.analyst("listener") as client:
        headers = {"Authorization": client.headers["authorization"], "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(live.url.removeprefix("http://"), timeout=60)

    def ask(which: int, number: int) -> float:
        body = json.dumps({"question": question(number)})
        begun = time.perf_counter()
        connection.request("POST", paths[which], body, headers)
        answer = connection.getresponse()
        answer.read()
        taken = time.perf_counter() - begun
        assert answer.status == 200
        return taken

    try:
        return compare(ask, pairs)
    finally:
        connection.close()
