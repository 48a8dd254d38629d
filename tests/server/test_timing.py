"""What response times tell about hidden rows. Error rate 1e-6; a server that sleeps for every true row is found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.data.sample import Sample
from holdfast.data.statistics import UNIT
from holdfast.server import Settings, create_app
from tests.server import timing_pairs
from tests.server.timing_pairs import ERROR, Ask, compare, sign_test

PAIRS = 80
"""Samples are told apart where the slower one is the same in 62 of them."""
FEW_PAIRS = 21
"""As few as can be told apart at all: the slower one is the same in every one."""
SLEEP = 5e-6
"""Seconds for each true row in the version that is wrong on purpose: 20 ms when all are."""


@dataclass(frozen=True)
class Guarded:
    """Where two guards are whose samples differ in hidden rows only."""

    folder: Path
    paths: list[str]
    token: str
    numbers: Iterator[int]
    """A question that was asked before is answered from the ledger: each has its own number."""


@contextmanager
def posting(folder: Path, token: str | None, **settings: Any) -> Iterator[Callable[..., dict[str, Any]]]:
    """A server without a network between, so that nothing hides the time: how to post to it."""
    app = create_app(Settings(folder=folder, rate=1e6, burst=10**6, **settings))
    token = token or app.state.server.tokens.issue_for("steward", "sam", days=1)
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://test", headers={"Authorization": f"Bearer {token}"}
        )

        def post(path: str, **what: Any) -> dict[str, Any]:
            done = runner.run(client.post("/api/v1" + path, **what))
            assert done.status_code in (200, 201), done.text
            return dict(done.json())

        yield post
        runner.run(client.aclose())
        app.state.server.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    folder, paths = tmp_path_factory.mktemp("guarded"), []
    with posting(folder, None) as post:
        for which in (0, 1):
            body = timing_pairs.rows(which).encode()
            kind = {"Content-Type": "text/csv"}
            sample = post("/samples", params={"name": f"hidden-{which}"}, content=body, headers=kind)
            made = {"name": f"hidden-{which}", "sample": sample["id"], "policy": timing_pairs.POLICY}
            paths.append(f"/guards/{post('/guards', json=made)['id']}/ask")
        token = post("/tokens", json={"role": "steward", "name": "sue"})["token"]
    return Guarded(folder, paths, token, count(0, 1000))


@contextmanager
def listening(guarded: Guarded, **settings: Any) -> Iterator[Ask]:
    """Asks either of the two, and looks at the clock."""
    first = next(guarded.numbers)
    with posting(guarded.folder, guarded.token, **settings) as post:

        def ask(which: int, number: int) -> float:
            begun = time.perf_counter()
            done = post(guarded.paths[which], json={"question": timing_pairs.question(first + number)})
            assert not done["repeated"]
            return time.perf_counter() - begun

        yield ask


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that is wrong on purpose: it takes longer the more rows are true."""
    measure = Sample.measure

    def slow(self: Sample, statistics: Any) -> Any:
        found = measure(self, statistics)
        time.sleep(SLEEP * sum(one[0] // UNIT for one in found))
        return found

    monkeypatch.setattr(Sample, "measure", slow)


def test_how_many_rows_are_true_does_not_show(guarded: Guarded) -> None:
    with listening(guarded) as ask:
        found = compare(ask, PAIRS)
    assert not found.separable, found


@pytest.mark.usefixtures("sleeping")
def test_time_for_every_true_row_would_show(guarded: Guarded) -> None:
    with listening(guarded) as ask:
        found = compare(ask, PAIRS)
    assert found.separable, found
    assert found.median > 0


@pytest.mark.usefixtures("sleeping")
def test_a_grid_hides_even_that(guarded: Guarded) -> None:
    with listening(guarded, answer_grid=0.15) as ask:
        found = compare(ask, FEW_PAIRS)
    assert not found.separable, found
    assert abs(found.median) < SLEEP * timing_pairs.ROWS / 2, "the sleep itself is gone"
    assert found.first >= 0.14


def test_the_sign_test_is_exact() -> None:
    assert sign_test(10, 0) == pytest.approx(2 / 2**10)
    assert sign_test(3, 2) == 1.0
    assert sign_test(62, PAIRS - 62) < ERROR < sign_test(61, PAIRS - 61)
    assert sign_test(FEW_PAIRS, 0) < ERROR < sign_test(FEW_PAIRS - 1, 0)
    assert sign_test(150, 100) == pytest.approx(0.00187, rel=0.02)
