"""Rows that change or vanish, a full disk, a lost connection: a clear error, nothing lost, nothing unpaid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import LedgerUnavailable, SampleUnavailable
from holdfast.guard import Guard, Policy, check, mean
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.verify import verify
from holdfast.guard.replay import GuardReplay
from tests.guard.ledger.stores import page_limit
from tests.services.postgres import Server

N = 2000
SECRET = 0.123456789


def policy() -> Policy:
    return Policy(privacy=PureDP(0.1), spend=PureDP(0.01))


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame({"x": np.where(rng.random(N) < 0.5, SECRET, 0.9), "y": rng.integers(0, 9, N)})


@pytest.fixture
def at_point() -> Iterator[Callable[[str, Callable[[], object]], None]]:
    """Calls something when a named step is reached, once."""

    def arm(name: str, action: Callable[[], object]) -> None:
        def hook(reached: str) -> None:
            if reached == name:
                faults.set_hook(None)
                action()

        faults.set_hook(hook)

    yield arm
    faults.set_hook(None)


def removed(path: Path) -> None:
    path.unlink()


def without_the_column(path: Path) -> None:
    frame().select("y").write_parquet(path)


def with_another_type(path: Path) -> None:
    frame().with_columns(pl.col("x").cast(pl.String)).write_parquet(path)


def with_fewer_rows(path: Path) -> None:
    frame().head(N - 1).write_parquet(path)


def no_parquet_any_more(path: Path) -> None:
    path.write_bytes(b"PAR1 and then nothing" * 50)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize(
    "happens", [removed, without_the_column, with_another_type, with_fewer_rows, no_parquet_any_more]
)
def test_rows_that_change_under_a_running_guard(tmp_path: Path, happens: Callable[[Path], None], slow: bool) -> None:
    path, ledger = tmp_path / "people.parquet", tmp_path / "ledger.db"
    frame().write_parquet(path)
    guard = Guard.open(ledger, hf.data.table(path), policy())
    if slow:
        guard._rows.slow_seconds = -1.0
    guard.ask(mean("x < 0.5"))
    happens(path)
    with pytest.raises(SampleUnavailable) as caught:
        guard.ask(mean("x < 0.6"), key="k")
    assert str(SECRET) not in str(caught.value)
    assert guard.ask(mean("x < 0.5")).repeated  # what was released stays there
    spent = 0.08 if slow else 0.09
    assert guard.remaining()["total"]["epsilon"] == spent
    guard.shut()
    frame().write_parquet(path)  # the rows are back
    again = Guard.open(ledger, hf.data.table(path))
    assert again.ask(mean("x < 0.6"), key="k").remaining["total"]["epsilon"] == 0.08  # paid once
    again.shut()
    assert verify(ledger, replay=GuardReplay).ok


def test_a_full_disk(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    guard = Guard.open(ledger, hf.data.table(frame()), policy())
    set_limit = page_limit(guard._store.engine)  # type: ignore[union-attr]
    guard.ask(mean("x < 0.5"))
    set_limit(None)
    large = {f"a candidate with a long name {i} {'x' * 150}": f"x < {i / 100}" for i in range(99)}
    with pytest.raises(LedgerUnavailable, match=r"disk that holds the ledger is full.*nothing was written"):
        guard.ask(hf.guard.select(large), key="k")
    assert guard.remaining()["total"]["epsilon"] == 0.09
    set_limit(10**6)
    assert guard.ask(hf.guard.select(large), key="k").remaining["total"]["epsilon"] == 0.08
    assert guard.ask(hf.guard.select(large), key="k").repeated
    guard.shut()
    assert verify(ledger, replay=GuardReplay).ok


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("point", ["guard.measured", "ledger.locked", "ledger.worked", "ledger.written"])
def test_a_connection_lost_in_the_middle_of_a_question(
    postgres_server: Server, postgres_url: str, tmp_path: Path, at_point: Any, point: str, slow: bool
) -> None:
    guard = Guard.open(postgres_url, hf.data.table(frame()), policy(), key=tmp_path / "key.pem")
    if slow:
        guard._rows.slow_seconds = -1.0
    guard.ask(mean("x < 0.5"))
    at_point(point, lambda: postgres_server.end_connections(urlsplit(postgres_url).path[1:]))
    if point != "guard.measured":  # between commits a lost connection is opened again
        with pytest.raises(LedgerUnavailable, match="connection to the ledger's database was lost"):
            guard.ask(mean("x < 0.6"), key="k")
    answer = guard.ask(mean("x < 0.6"), key="k")
    assert answer.remaining["total"]["epsilon"] == 0.08
    assert guard.ask(mean("x < 0.6"), key="k").value == answer.value
    guard.ask(check("y < 4", 0.4))
    guard.shut()
    assert verify(postgres_url, replay=GuardReplay).ok


def test_a_bad_file_is_refused_before_a_ledger_is_begun(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(SampleUnavailable):
        Guard.open(tmp_path / "ledger.db", hf.data.table(path), policy())
    assert not (tmp_path / "ledger.db").exists()
