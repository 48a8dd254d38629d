"""`holdfast verify`: checks ledgers and receipts offline."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from holdfast.cli import output
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter, LedgerConflict

if TYPE_CHECKING:
    from holdfast.guard.ledger.receipts import Receipt
    from holdfast.guard.ledger.verify import Verification

_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    ledger: str = typer.Argument(..., help="A ledger file, a postgresql:// address, or an export in JSON."),
    receipt: list[Path] = typer.Option([], "--receipt", metavar="FILE", help="Receipts, or answers with them; repeat."),  # noqa: B008
    public_key: str = typer.Option(None, "--public-key", help="The only key that may have signed, 64 hex digits."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Check a ledger's chain, its arithmetic and receipts; exit status 3 when something is wrong."""
    if ledger.startswith(("http://", "https://")):
        raise InvalidParameter(
            "ledger must be a file or a database: a server's ledger is verified by its steward, on the guard's page or "
            "with `hf.connect(url).guard(name).verify()`"
        )
    with named_extras("guard"):
        from holdfast.guard.ledger.verify import verify as check
        from holdfast.guard.replay import GuardReplay
    receipts = [one for path in receipt for one in _receipts(path)]
    found = check(ledger, receipts=receipts, public_key=public_key, replay=GuardReplay, progress=_progress())
    if as_json:
        output.print_json(found.to_dict())
    else:
        _show(found, public_key)
    if not found.ok:
        count = len(found.findings)
        raise LedgerConflict(f"{count} thing{'s' if count > 1 else ''} wrong, first: {found.findings[0]}")


def _receipts(path: Path) -> list[Receipt]:
    from holdfast.guard.ledger.receipts import read_receipts

    return read_receipts(path.read_text("utf-8", "replace"))


def _progress() -> Callable[[int], None] | None:
    """A counter on standard error, where somebody is watching."""
    if not sys.stderr.isatty():
        return None

    def show(count: int) -> None:
        print(f"\r{count:,} entries", end="", file=sys.stderr, flush=True)

    return show


def _show(found: Verification, public_key: str | None) -> None:
    trust = "as given" if public_key else "by the ledger's own word; --public-key makes sure"
    output.facts(
        "Verified" if found.ok else "Not genuine",
        [
            ("ledgers", found.ledgers),
            ("entries", f"{found.entries:,}"),
            ("receipts", found.receipts),
            ("overrides by a steward", found.overrides),
            ("signed by", f"{', '.join(found.signers)} ({trust})" if found.signers else "nobody"),
            ("chain, totals, receipts", "as they were written" if found.ok else f"{len(found.findings)} findings"),
        ],
    )
    if found.notes:
        notes = [(note.dataset or "", note.sequence or "", note.what) for note in found.notes[:_SHOWN]]
        output.table("Notes", ("ledger", "entry", "what should be known"), notes)
    if not found.ok:
        rows = [(f.dataset or "", f.sequence or "", f.what) for f in found.findings[:_SHOWN]]
        output.table("Findings", ("ledger", "entry", "what is wrong"), rows)
