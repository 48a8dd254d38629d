"""Restart PostgreSQL under load and count what a server answers: `python -m benchmarks.postgres_restarts`.

Analysts ask, estimate and list without a pause. What is refused with 503 is asked again with its key at once. At
the end the ledger must verify, and hold one answer for each key. No response may have the status 500.
"""

from __future__ import annotations

import sys

from tests.server.restarts import restarted
from tests.services.postgres import running

RESTARTS, ANALYSTS, QUIET, WORKERS = 5, 24, 200, 2


def main() -> int:
    """Print the counts; the exit status is 1 where a response was not foreseen."""
    with running(durable=True) as postgres:
        statuses, codes = restarted(postgres, RESTARTS, ANALYSTS, QUIET, WORKERS)
    print(f"{RESTARTS} restarts, {ANALYSTS} analysts, {WORKERS} workers, {statuses.total()} responses")
    for status in sorted({*statuses, 500}):
        print(f"  {status}: {statuses[status]}")
    for code, count in sorted(codes.items()):
        print(f"  {code}: {count}")
    return int(bool(set(statuses) - {200, 503}))


if __name__ == "__main__":
    sys.exit(main())
