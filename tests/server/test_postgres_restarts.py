"""PostgreSQL restarted under a load: who asks is told to ask again, and never of an unforeseen error."""

from __future__ import annotations

from tests.server.restarts import restarted
from tests.services.postgres import running


def test_restarts_under_load_give_503_and_no_500() -> None:
    with running() as postgres:  # its own: others would lose their connections too
        statuses, codes = restarted(postgres, 2, clients=4, quiet=10, workers=2)
    assert set(statuses) <= {200, 503}, (statuses, codes)
    assert set(codes) <= {"ledger-unavailable"}, codes
    assert statuses[200] > 50
