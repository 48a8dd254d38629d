"""A copy of a running server, made as the deployment page says, is a server: same tokens, same answers, same budget."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx

from holdfast.guard.ledger import open_store, verify_store
from holdfast.server.in_thread import server_in_thread
from tests.server.live import CHECK, running


def test_a_copy_goes_on_where_it_was_made(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    copy.mkdir()
    with running(folder=original) as live:
        guard = live.guard("kept", {"questions": 5})
        at = f"/api/v1/guards/{guard['id']}"
        with live.analyst("ann") as ann:
            first = ann.post(f"{at}/ask", json={"question": CHECK}, headers={"Idempotency-Key": "k"}).json()
            token = ann.headers["authorization"]
            # While it runs: the database by its own means, then the files that are written once.
            with (
                closing(sqlite3.connect(original / "ledger.db")) as source,
                closing(sqlite3.connect(copy / "ledger.db")) as target,
            ):
                source.backup(target)
            for one in (original / "ledger.db.key", original / "uploads"):
                (shutil.copytree if one.is_dir() else shutil.copy2)(one, copy / one.name)
            later = {"question": CHECK | {"guess": 0.4}}
            ann.post(f"{at}/ask", json=later)
    shutil.rmtree(original)
    shutil.copytree(copy, original)  # back to the same folder: where rows lie is written in the database
    with (
        server_in_thread(folder=original) as back,
        httpx.Client(base_url=back.url, headers={"Authorization": token}) as ann,
    ):
        again = ann.post(f"{at}/ask", json={"question": CHECK}, headers={"Idempotency-Key": "k"}).json()
        assert (again["sequence"], again["receipt"]) == (first["sequence"], first["receipt"])
        left = ann.get(f"{at}/remaining").json()["yours"]["questions"]
        assert left == 4, "what was asked after the copy is forgotten: that is why an old copy must not go on"
        assert ann.post(f"{at}/ask", json=later).status_code == 200, "the rows are there"
    with open_store(original / "ledger.db") as store:
        assert verify_store(store).ok
