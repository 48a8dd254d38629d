"""What response times tell about hidden rows. Error rate 1e-6; a server that sleeps for every true row is found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.data.sample import Sample
from holdfast.data.statistics import UNIT
from holdfast.server import Settings, create_app
from tests.server import timing_pairs
from tests.server.timing_pairs import Ask, compare, sign_test

PAIRS = 150
SLEEP = 5e-6
"""Seconds for each true row in the version that is wrong on purpose: 20 ms when all are."""


@contextmanager
def listening(folder: Path, **settings: Any) -> Iterator[Ask]:
    """Two guards whose samples differ in hidden rows only, asked without a network between: nothing hides the time."""
    app = create_app(Settings(folder=folder, rate=1e6, burst=10**6, **settings))
    token = app.state.server.tokens.issue_for("steward", "sam", days=1)
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://test", headers={"Authorization": f"Bearer {token}"}
        )

        def post(path: str, **what: Any) -> dict[str, Any]:
            done = runner.run(client.post("/api/v1" + path, **what))
            assert done.status_code in (200, 201), done.text
            return dict(done.json())

        paths = []
        for which in (0, 1):
            body = timing_pairs.rows(which).encode()
            kind = {"Content-Type": "text/csv"}
            sample = post("/samples", params={"name": f"hidden-{which}"}, content=body, headers=kind)
            made = {"name": f"hidden-{which}", "sample": sample["id"], "policy": timing_pairs.POLICY}
            paths.append(f"/guards/{post('/guards', json=made)['id']}/ask")

        def ask(which: int, number: int) -> float:
            begun = time.perf_counter()
            post(paths[which], json={"question": timing_pairs.question(number)})
            return time.perf_counter() - begun

        yield ask
        runner.run(client.aclose())
        app.state.server.close()


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that is wrong on purpose: it takes longer the more rows are true."""
    measure = Sample.measure

    def slow(self: Sample, statistics: Any) -> Any:
        found = measure(self, statistics)
        time.sleep(SLEEP * sum(one[0] // UNIT for one in found))
        return found

    monkeypatch.setattr(Sample, "measure", slow)


def test_how_many_rows_are_true_does_not_show(tmp_path: Path) -> None:
    with listening(tmp_path) as ask:
        found = compare(ask, PAIRS)
    assert not found.separable, found


@pytest.mark.usefixtures("sleeping")
def test_time_for_every_true_row_would_show(tmp_path: Path) -> None:
    with listening(tmp_path) as ask:
        found = compare(ask, PAIRS)
    assert found.separable, found
    assert found.median > 0


@pytest.mark.usefixtures("sleeping")
def test_a_grid_hides_even_that(tmp_path: Path) -> None:
    with listening(tmp_path, answer_grid=0.25) as ask:
        found = compare(ask, 20)
    assert not found.separable, found
    assert abs(found.median) < SLEEP * timing_pairs.ROWS / 2, "the sleep itself is gone"
    assert found.first >= 0.24


def test_the_sign_test_is_exact() -> None:
    assert sign_test(10, 0) == pytest.approx(2 / 2**10)
    assert sign_test(3, 2) == 1.0
    assert sign_test(150, 100) == pytest.approx(0.00187, rel=0.02)
