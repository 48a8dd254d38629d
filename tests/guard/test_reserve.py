"""Reserved rows of a guard: drawn at opening, recorded, the same everywhere, and read by nothing before their final."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.data.restricted import Restricted, drawn
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import (
    Board,
    Guard,
    Policy,
    best,
    check,
    claim,
    close,
    compare,
    final,
    histogram,
    mean,
    quantile,
    score,
    select,
    validate,
)
from holdfast.guard import opening as opening_module
from holdfast.guard.ledger import open_store
from holdfast.holdout.final import Finalists, pair_forecast
from tests.guard.questions.ends import CANDIDATES, ROWS, N, adds_up

SALT = "5" * 32
POLICY = Policy(
    questions=30,
    privacy=PureDP(0.1),
    spend=PureDP(0.01),
    reserve=0.5,
    boards=[Board("b", key="id", label="good", metric="accuracy")],
)


def sample(rows: Any = None, **more: Any) -> Any:
    return hf.data.table(ROWS if rows is None else rows, **{"row_key": "id", "engine": "numpy"} | more)


def ids(part: Any, column: str = "id") -> set[int]:
    """The keys of the rows of a part of a sample."""
    return set(part.fold([column], set, lambda before, batch: before | set(batch[column][0].tolist())))


def of(guard: Guard) -> Restricted:
    part = guard._rows.sample
    assert isinstance(part, Restricted)
    return part


@pytest.fixture
def salted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draw in every guard of a test."""
    monkeypatch.setattr(opening_module.secrets, "token_hex", lambda many: SALT[: 2 * many])


def poisoned(reserved: set[int]) -> dict[str, Any]:
    """The same rows with everything else in the reserved ones."""
    inside = np.isin(ROWS["id"], list(reserved))
    changed = {name: np.where(inside, ~ROWS[name], ROWS[name]) for name in CANDIDATES}
    return ROWS | changed | {"amount": np.where(inside, 9.75, ROWS["amount"])}


def test_nothing_before_the_final_reads_a_reserved_row(salted: None) -> None:
    """Every kind of question is prepared from the same statistics, whatever the reserved rows hold; a final is not."""
    policy = replace(POLICY, privacy=PureDP(1))
    first = Guard.open(None, sample(), policy)
    reserved = ids(of(first).reserves[0])
    second = Guard.open(None, sample(poisoned(reserved)), policy)
    assert ids(of(second).reserves[0]) == reserved
    assert len(reserved) + of(first).n == N
    predictions = dict(zip(ROWS["id"].tolist(), ROWS["best"].tolist(), strict=True))
    noiseless: list[Any] = [
        check("good", guess=0.7),
        check("good", guess=0.2),
        claim("amount", at_least=2, low=0, high=10),
        compare("best", "good"),
        compare("best", "good", guess=0.1),
        best(CANDIDATES),
        best(CANDIDATES, {"weak": 0.6, "good": 0.7, "best": 0.8}, show="value"),
        validate("amount < 10", at_least=0.5),
        quantile("amount", 0.5, low=0, high=10, guess=5, tolerance=2),
        score("b", predictions, guess=0.8),
        score("b", predictions, guess=0.1),
    ]
    for question in noiseless:
        one, two = first.ask(question), second.ask(question)
        assert one.released() == two.released(), question
    noisy: list[Any] = [
        mean("good"),
        mean("amount", low=0, high=10),
        histogram("amount", edges=[2, 5]),
        select(CANDIDATES),
        quantile("amount", 0.5, low=0, high=10, spend=PureDP(0.5)),
    ]
    for question in noisy:
        bound = question.bind(first._rows.sample.schema, of(first).n, policy)
        measured = [of(guard).measure(bound.statistics) if bound.statistics else [] for guard in (first, second)]
        assert measured[0] == measured[1], question
        gathered = [bound.gather(of(guard)) for guard in (first, second)]
        assert gathered[0] == gathered[1], question
        first.ask(question)
    finals = [guard.ask(final(CANDIDATES)) for guard in (first, second)]
    inside = np.isin(ROWS["id"], list(reserved))
    assert finals[0].value == {name: float(np.mean(ROWS[name][inside])) for name in CANDIDATES}
    assert finals[1].value == {name: float(np.mean(~ROWS[name][inside])) for name in CANDIDATES}
    assert finals[0].details["n"] == len(reserved)
    lines = [done.details["revealed"] for done in finals]
    assert lines[0] == lines[1], "what is revealed is about the explored rows"


def test_a_guard_that_explores_its_reserve_is_found_by_the_same_comparison(salted: None) -> None:
    """Power: without the restriction the statistics differ."""
    first = Guard.open(None, sample(), POLICY)
    second = Guard.open(None, sample(poisoned(ids(of(first).reserves[0]))), POLICY)
    bound = check("amount", guess=4, low=0, high=10).bind(of(first).schema, of(first).n, POLICY)
    assert of(first).measure(bound.statistics) == of(second).measure(bound.statistics)
    assert of(first)._sample.measure(bound.statistics) != of(second)._sample.measure(bound.statistics)


def test_the_draw_is_in_the_ledger_and_stays_when_the_guard_is_opened_again(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with open_store(place) as store:
        guard = Guard.open(store, sample(), POLICY)
        explored, kept = ids(of(guard)), ids(of(guard).reserves[0])
        (opened,) = guard.ledger.entries(1, 1)
        assert opened.body["sizes"] == [len(explored), len(kept)]
        assert opened.body["policy"]["reserve"] == [0.5]
        assert "secret:reserve" in opened.states
        assert abs(len(kept) / N - 0.5) < 0.05
        guard.ask(check("good", guess=0.7))
    with open_store(place) as store:
        again = Guard.open(store, sample(), POLICY)
        assert (ids(of(again)), ids(of(again).reserves[0])) == (explored, kept)
        assert again.describe()["sizes"] == [len(explored), len(kept)]
        assert again.ask(check("good", guess=0.7)).repeated
        again.ask(final(CANDIDATES))
        assert adds_up(store)
        with pytest.raises(LedgerConflict):
            Guard.open(store, sample(), Policy(**{**POLICY.__dict__, "reserve": 0.3}))
    other = Guard.open(None, sample(), POLICY)
    assert ids(of(other)) != explored, "another ledger draws anew"


def test_the_salt_is_secret(tmp_path: Path) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        guard = Guard.open(store, sample(), POLICY)
        guard.ask(final(CANDIDATES))
        secret = guard.ledger.look(lambda view: view.secret("reserve"))
        assert secret is not None
        public = [str(guard.describe()), *(str(entry.to_dict()) for entry in guard.ledger.entries())]
        assert not any(secret["salt"] in text for text in public)


def test_rows_of_one_value_stay_together() -> None:
    guard = Guard.open(None, sample(row_key=None), Policy(questions=5, reserve=[0.3, 0.2], reserve_by="family"))
    parts = [ids(part, "family") for part in (of(guard), *of(guard).reserves)]
    for i, one in enumerate(parts):
        assert all(not one & other for other in parts[i + 1 :])
    assert set().union(*parts) == set(ROWS["family"].tolist())
    assert of(guard).n + sum(part.n for part in of(guard).reserves) == N
    assert [part.n % 4 for part in (of(guard), *of(guard).reserves)] == [0, 0, 0]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "parquet", "csv", "postgres"])
def test_every_engine_draws_the_same_rows(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    frame = pl.DataFrame(ROWS).with_columns(code=pl.Series([f"r{i}" for i in range(N)]))
    frame = frame.sample(fraction=1.0, shuffle=True, seed=3)
    rows: Any
    if engine == "postgres":
        import psycopg

        url = request.getfixturevalue("postgres_url")
        with psycopg.connect(url) as connection:
            connection.execute(
                "create table people (id bigint, family bigint, weak boolean, good boolean, best boolean, "
                "amount double precision, code text)"
            )
            with connection.cursor() as cursor, cursor.copy("copy people from stdin") as copy:
                for row in frame.rows():
                    copy.write_row(row)
        rows = hf.data.table(url, table="people", row_key="id")
    elif engine == "polars":
        rows = hf.data.table(frame, row_key="id")
    else:
        path = tmp_path / ("rows.csv" if engine == "csv" else "rows.parquet")
        frame.write_csv(path) if engine == "csv" else frame.write_parquet(path)
        rows = hf.data.table(path, row_key="id", **({"engine": "duckdb"} if engine == "duckdb" else {}))
    texts = ROWS | {"code": np.array([f"r{i}" for i in range(N)], dtype=object)}
    here = hf.data.table(texts, row_key="id", engine="numpy")
    for key in ("id", "family", "code"):
        mine, theirs = (drawn(one, key, SALT, [0.3, 0.3]) for one in (here, rows))
        assert [part.n for part in (mine, *mine.reserves)] == [part.n for part in (theirs, *theirs.reserves)]
        for one, two in zip((mine, *mine.reserves), (theirs, *theirs.reserves), strict=True):
            assert ids(one) == ids(two)
            asked = check("good", guess=0.5).bind(here.schema, one.n, Policy(questions=5)).statistics
            assert one.measure(asked) == two.measure(asked)
    rows.close()


def test_two_phases(tmp_path: Path) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        policy = Policy(questions=10, reserve=[0.3, 0.3], final=0.6)
        guard = Guard.open(store, sample(), policy)
        guard.ask(check("good", guess=0.7))
        parts = of(guard).reserves
        first = guard.ask(final(CANDIDATES), key="one")
        assert len(first.details["revealed"]) == 1
        for question in (check("weak", guess=0.6), best(CANDIDATES), claim("good", at_least=0.1)):
            with pytest.raises(BudgetExhausted, match="has shown exact values"):
                guard.ask(question)
        with pytest.raises(QuestionRefused, match="reserves rows for a final"):
            guard.ask(close())
        second = guard.ask(final({"best": "best", "good": "good"}, claims="winner"), key="two")
        assert second.details["revealed"] == []
        for done, part in ((first, parts[0]), (second, parts[1])):
            assert done.details["n"] == part.n
            inside = np.isin(ROWS["id"], list(ids(part)))
            assert done.value["best"] == float(np.mean(ROWS["best"][inside]))
            level = np.log(0.05 * 0.3)
            assert done.guarantee.parameters["log_share"] == pytest.approx(level, abs=1e-6), "a constant for each"
        with pytest.raises(BudgetExhausted, match="has shown exact values"):
            guard.ask(final(CANDIDATES, claims="ranks"))
        assert guard.ask(final(CANDIDATES), key="one").value == first.value
        assert adds_up(store)


def test_the_same_final_in_the_next_phase_reads_the_next_reserve(tmp_path: Path) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        guard = Guard.open(store, sample(), Policy(questions=10, reserve=[0.3, 0.3], final=0.6))
        parts = of(guard).reserves
        words = final(CANDIDATES, claims="winner")
        with pytest.raises(QuestionRefused, match="phase must be the number of the current phase"):
            guard.ask(final(CANDIDATES, claims="winner", phase=2))
        first = guard.ask(words, key="one")
        assert guard.ask(words, key="one").repeated, "a retry is not the next phase"
        assert not guard.estimate(words).repeated
        assert guard.ask(final(CANDIDATES, claims="winner", phase=1)).repeated
        second = guard.ask(words, key="two")
        assert not second.repeated
        assert (first.details["phase"], second.details["phase"], second.details["phases"]) == (1, 2, 2)
        for done, part in ((first, parts[0]), (second, parts[1])):
            inside = np.isin(ROWS["id"], list(ids(part)))
            assert done.value["best"] == float(np.mean(ROWS["best"][inside]))
        assert guard.ask(words, key="one").value == first.value
        again = guard.ask(words)
        assert again.repeated, "after the last phase it is that of the last one"
        assert again.value == second.value
        entries = [entry for entry in guard.ledger.entries(2) if entry.kind == "answered"]
        assert ["phase" in entry.body["question"] for entry in entries] == [False, True], "as before in the first"
        with pytest.raises(InvalidParameter, match="phase"):
            guard.ask(final(CANDIDATES, phase=3))
        assert adds_up(store)


def test_ranks_on_a_reserve_are_weighted_by_the_explored_rows(salted: None) -> None:
    """As in a holdout with a reserve: the same weighted Holm, on the same rows."""
    rng = np.random.default_rng(8)
    columns = {f"m{k}": rng.random(N) < 0.5 + 0.012 * k for k in range(10)}
    guard = Guard.open(None, sample({"id": ROWS["id"], **columns}), Policy(questions=5, reserve=0.5))
    reserved = np.isin(ROWS["id"], list(ids(of(guard).reserves[0])))
    better = guard.ask(final({name: name for name in columns}, claims="ranks")).details["better"]
    tested = np.array([column[reserved] for column in columns.values()], dtype=float)
    known = np.array([column[~reserved] for column in columns.values()], dtype=float)
    level = math.log(0.05 * 0.5) - 1e-12
    finalists = Finalists.of_columns(tested, 0.0, 1.0, True)
    weighted = finalists.ranks(level, pair_forecast(known, tested.shape[1], level), True)
    assert better == sorted([f"m{i}", f"m{j}"] for i, j in weighted.better)
    assert weighted.better != finalists.ranks(level, None, True).better, "even weights tell other pairs apart"


def test_a_final_on_a_reserve_owes_nothing_to_what_was_shown() -> None:
    widths = []
    for failures in (0, 6):
        guard = Guard.open(None, sample(), Policy(questions=20, reserve=0.5))
        for number in range(failures):
            assert not guard.ask(check("good", guess=0.01 * number)).passed
        done = guard.ask(final({"good": "good"}))
        widths.append(done.guarantee.parameters["log_share"])
    assert widths[0] == widths[1] == pytest.approx(np.log(0.025), abs=1e-6)


@pytest.mark.parametrize(
    ("policy", "more", "said"),
    [
        ({"reserve": 0.5}, {"row_key": None}, "row key"),
        ({"reserve": 0.5, "reserve_by": "amount"}, {}, "whole numbers or texts"),
        ({"reserve": 0.5, "reserve_by": "nobody"}, {}, "nobody"),
        ({"reserve": 0.001}, {}, "reserve must leave some rows"),
    ],
)
def test_a_reserve_that_cannot_be_drawn_opens_nothing(policy: Any, more: Any, said: str) -> None:
    store = open_store(None)
    with pytest.raises(InvalidParameter, match=said):
        Guard.open(store, sample(**more), Policy(questions=5, **policy))
    assert not any(store.ledger(name).head().sequence for name in store.datasets())


@pytest.mark.parametrize(
    "wrong",
    [
        {"reserve": 1.0},
        {"reserve": -0.1},
        {"reserve": [0.6, 0.5]},
        {"reserve": 0.5, "final": 0.0},
        {"reserve_by": "family"},
        {"reserve": "half"},
    ],
)
def test_a_wrong_reserve_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter):
        Policy(questions=5, **wrong)
