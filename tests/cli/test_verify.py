"""`holdfast verify` as a person runs it: exit status, words and JSON; the arithmetic of a guard's ledger."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.cli.main import run
from holdfast.guard import Board
from holdfast.guard.guard import Guard
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.verify import verify
from holdfast.guard.policy import Policy
from holdfast.guard.replay import GuardReplay

POLICY = Policy(privacy=PureDP(0.05), spend=PureDP(0.01), analysts={"ann": 0.5, "bob": 1.0})


def test_the_exported_result_of_a_contest_is_checked_against_its_signature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signature, and that every table of the file is what was signed."""
    rows = {"id": np.arange(2000), "y": np.arange(2000) % 3 == 0}
    board = Board("b", key="id", label="y", metric="accuracy", rule="open", classes=[False, True], also=["kappa"])
    with open_store(tmp_path / "ledger.db", new_key=True) as store:
        guard = Guard.open(store, hf.data.table(rows, engine="numpy"), Policy(boards=[board], reserve=0.5, final=1.0))
        for who, wrong in (("ann", 7), ("bob", 3), ("cy", 4)):
            sent = {i: (i % 3 == 0) != (i % wrong == 0) for i in range(2000)}
            guard.ask(hf.guard.score("b", sent), analyst=who)
        guard.ask(hf.guard.contest_final("b"), analyst="host")
        (result,) = guard.contest().results
    assert result.receipt is not None
    whole, page = json.loads(result.to_json()), result.to_html()

    def status(what: Any, *more: str) -> int:
        file = tmp_path / ("result.html" if isinstance(what, str) else "result.json")
        file.write_text(what if isinstance(what, str) else json.dumps(what))
        return run(["verify", str(file), *more])

    key = result.receipt["public_key"]
    assert (status(whole), status(page), status(whole, "--public-key", key)) == (0, 0, 0)
    assert "fit each other" in capsys.readouterr().out
    assert status(whole, "--public-key", "0" * 64) == 1
    places = whole["places"]
    changed = [
        whole | {"places": [places[0] | {"value": 0.99}, *places[1:]]},
        whole | {"places": [places[1] | {"label": "ann"}, *places[1:]]},
        whole | {"better": []},
        whole | {"confidence": 0.99},
        whole | {"also": {}},
        whole | {"receipt": whole["receipt"] | {"answer": whole["receipt"]["answer"] | {"value": {}}}},
        whole | {"receipt": whole["receipt"] | {"sequence": 9}, "sequence": 9},
        page.replace("ann", "eve"),
        page.replace("<td class=n>", "<td class=n>0", 1),
    ]
    for one in changed:
        assert one not in (whole, page)
        assert status(one) in (1, 2), one
    assert status(whole | {"certified": False}) == 0, "an overlap was found later"
    assert status(whole | {"receipt": None}) == 2
    assert "no key" in capsys.readouterr().err
    assert status("<p>nothing</p>") == 2


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    sample = hf.data.table({"x": np.linspace(0, 1, 200)})
    guard = Guard.open(path, sample=sample, policy=POLICY)
    first = guard.ask(hf.mean("x", 0, 1), analyst="ann", key="k1")
    guard.ask(hf.mean("x", 0, 2), analyst="bob")
    guard.override(Policy(**(POLICY.to_dict() | {"privacy": PureDP(0.1), "spend": PureDP(0.01)})), "more is needed")
    guard.ask(hf.mean("x", 0, 3), analyst="bob")
    (tmp_path / "answer.json").write_text(json.dumps(first.to_dict()))
    guard.shut()
    return path


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = run(["verify", *map(str, words)])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_real_process(ledger: Path) -> None:
    words = ["verify", str(ledger), "--receipt", str(ledger.with_name("answer.json"))]
    done = subprocess.run([sys.executable, "-m", "holdfast", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Verified" in done.stdout
    assert "as they were written" in done.stdout
    assert done.stderr == ""


def test_json(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = SigningKey.load(ledger.with_name("ledger.db.key")).public
    status, out, _ = said(capsys, ledger, "--public-key", public, "--json")
    assert status == 0
    found = json.loads(out)
    assert found == {
        "ok": True,
        "ledgers": 1,
        "entries": 5,
        "receipts": 0,
        "overrides": 1,
        "signers": [public],
        "findings": [],
        "notes": [],
        "checkpoints": [],
    }


def test_a_changed_answer_is_status_1(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connection = sqlite3.connect(ledger)
    connection.execute("""UPDATE entries SET body = replace(body, '0.01', '0.00') WHERE sequence = 2""")
    connection.commit()
    connection.close()
    status, out, err = said(capsys, ledger)
    assert status == 1
    assert "Not genuine" in out
    assert "entry 2" in err
    assert err.count("\n") == 1
    assert json.loads(said(capsys, ledger, "--json")[1])["ok"] is False


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["none.db"], 1, "there is no ledger at"),
        (["{ledger}", "--public-key", "abc"], 2, "public_key must be"),
        (["{ledger}", "--receipt", "{ledger}"], 2, "a receipt must be JSON"),
        (["{ledger}", "--receipt", "none.json"], 1, "No such file"),
        (["{ledger}", "--public-key", "0" * 64], 1, "public key that was given"),
        ([], 2, "LEDGER"),
    ],
)
def test_wrong_usage(
    ledger: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, expected: str
) -> None:
    found, _, err = said(capsys, *(word.format(ledger=ledger) for word in words))
    assert found == status
    assert expected.lower() in err.lower()


def forged(tmp_path: Path, change: Any) -> list[str]:
    """A chain that is signed and intact, written by somebody who holds the key and cheats with the totals."""
    from holdfast.guard.state import FORMAT, Account

    def settled(account: Account) -> Account:
        return account.settle(POLICY.error_budget(), None)

    path = tmp_path / "forged.db"
    with open_store(path) as store:

        def work(transaction: Any) -> None:
            whole, own = Account.fresh(POLICY), Account.fresh(POLICY, "ann")
            transaction.put_account("whole", whole.to_dict())
            transaction.append("opened", {"policy": POLICY.to_dict()})
            for number in range(3):
                cost = PureDP(0.01)
                body = {
                    "question": {"kind": "mean"},
                    "digest": f"d{number}",
                    "cost": cost.to_dict(),
                    "accounts": ["whole", "analyst:ann"],
                    "answer": {"value": 0.5, "passed": None, "details": {}},
                    "message": {"asked": 1, "extra": 0.0, "finishes": False, "log_share": -9.0, "noisy": True},
                    "format": FORMAT,
                }
                try:
                    whole, own = (settled(account.charge(cost, None, "x")) for account in (whole, own))
                except Exception:
                    own = settled(own)
                whole, own, body = change(number, whole, own, body)
                transaction.put_account("whole", whole.to_dict())
                transaction.put_account("analyst:ann", own.to_dict())
                transaction.append("answered", body, analyst="ann", question=f"d{number}")

        store.ledger("a" * 64).submit(work)
    assert verify(path).ok  # the chain itself is genuine
    return [finding.what for finding in verify(path, replay=GuardReplay).findings]


def test_totals_that_do_not_add_up_are_found_though_the_chain_is_genuine(tmp_path: Path) -> None:
    def forget_a_cost(number: int, whole: Any, own: Any, body: Any) -> Any:
        from holdfast.guard.state import Account

        return (Account.fresh(POLICY), own, body) if number == 1 else (whole, own, body)

    assert any("totals of whole" in what for what in forged(tmp_path, forget_a_cost))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"accounts": ["whole"]}, "other accounts"),
        ({"cost": {"kind": "pure-dp", "epsilon": 0.001}}, "do not add up"),
        ({"cost": {"kind": "gold"}}, "not what a guard writes"),
        ({"paid": 1}, "no open reservation"),
        ({"cost": {"kind": "pure-dp", "epsilon": 1.0}}, "does not fit into what the account"),
    ],
)
def test_entries_that_a_guard_would_not_write(tmp_path: Path, part: dict[str, Any], words: str) -> None:
    found = forged(tmp_path, lambda number, whole, own, body: (whole, own, body | part if number == 1 else body))
    assert any(words in what for what in found)


def test_an_account_past_its_share_is_found(tmp_path: Path) -> None:
    # Ann's half of 0.05 holds two answers of 0.01; the third is past it.
    assert any(
        "analyst:ann had left" in what for what in forged(tmp_path, lambda n, whole, own, body: (whole, own, body))
    )


def test_a_server_s_ledger_is_verified_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for address in ("http://127.0.0.1:9/", "https://example.org/ledger"):
        assert run(["verify", address]) == 2
        said = capsys.readouterr().err
        assert said.startswith(
            "holdfast: ledger must be a file or a database, and not the address of a server; a steward"
        )
        assert said.count("\n") == 1
