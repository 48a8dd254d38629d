"""Epochs on the pages: a steward extends a guard, and both epochs stand on one time axis."""

from __future__ import annotations

from tests.server.live import CHECK, Live, fresh_rows
from tests.server.pages.visiting import Visitor, links


def test_a_steward_extends_a_guard_and_sees_its_epochs(live: Live) -> None:
    guard = live.guard("nightly", {"questions": 9})
    later = live.sample("nightly later", fresh_rows("nightly later"))
    at = f"/guards/{guard['id']}"
    with Visitor(live.url, live.steward_token) as steward:
        page = steward.get(at).text
        assert "Extend with new rows" in page
        assert 'id="epochs"' not in page
        refused = steward.fill(f"{at}/extend", sample=later["id"], name="<b>")
        assert refused.status_code == 422
        assert "name must consist of letters, digits, spaces and the signs _" in refused.text.lower()
        assert steward.fill(f"{at}/extend", sample="s_0", name="x").status_code == 404
        done = steward.fill(f"{at}/extend", sample=later["id"], name="nightly 2")
        assert done.status_code == 200
        assert "<h1>nightly 2</h1>" in done.text
        assert "This page shows epoch 2" in done.text
        assert "epoch 1 from" in done.text, "the axis says in words what it draws"
        assert at in links(done.text)
        assert "nightly 2</a>: epoch 2" in steward.get(at).text
    with live.analyst("nightly ann") as ann:
        ann.post(f"/api/v1{at}/ask", json={"question": CHECK}).raise_for_status()
        assert ann.get(f"/api/v1{at}").json()["progress"]["answered"] == 0
        assert ann.post(f"/api/v1{at}/extend", json={"name": "x", "sample": later["id"]}).status_code == 403
