"""`holdfast verify`: checks ledgers, receipts and results of contests offline."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import output
from holdfast.core.extras import named_extras
from holdfast.core.strict_json import to_json
from holdfast.errors import HoldfastError, InvalidParameter

if TYPE_CHECKING:
    from holdfast.guard.ledger.receipts import Receipt
    from holdfast.guard.ledger.verify import Verification

_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    ledger: str = typer.Argument(
        ...,
        help="What to verify: a ledger (a file, a postgresql:// address or an export in JSON), or the result of a "
        "contest (.json or .html). With --head: the file with the receipt to verify.",
    ),
    receipt: list[Path] = typer.Option(  # noqa: B008
        [],
        "--receipt",
        metavar="FILE",
        help="Also check that the ledger has the entry of the receipt in this file. The file may also hold an answer "
        "that contains its receipt; may be repeated.",
    ),
    head: Path = typer.Option(  # noqa: B008
        None,
        "--head",
        metavar="FILE",
        help="Verify one receipt without the ledger: the file with the signed head (the root of the ledger's "
        "hash tree) that was published. Needs --proof.",
    ),
    proof: Path = typer.Option(  # noqa: B008
        None,
        "--proof",
        metavar="FILE",
        help="With --head: the file with the proof that the receipt's entry is in the ledger of that head.",
    ),
    public_key: str = typer.Option(
        None,
        "--public-key",
        help="The public key that must have signed what is verified, as 64 hexadecimal digits (default: the key that "
        "the ledger, receipt or result itself names is trusted).",
    ),
    since: list[Path] = typer.Option(  # noqa: B008
        [],
        "--since",
        metavar="FILE",
        help="The file with a checkpoint of an earlier verification: verify only the entries after it.",
    ),
    checkpoint: Path = typer.Option(  # noqa: B008
        None,
        "--checkpoint",
        metavar="FILE",
        help="Write a signed checkpoint to this file, so that a later verification can start there with --since. "
        "Needs --signing-key.",
    ),
    signing_key: Path = typer.Option(  # noqa: B008
        None,
        "--signing-key",
        metavar="FILE",
        help="With --checkpoint: the file with the key that signs the checkpoint.",
    ),
    workers: int = typer.Option(None, "--workers", help="Number of processes to use (default: one per processor)."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Verify a ledger (its hash chain, its arithmetic and the receipts of its answers), or the result of a contest. The
    exit status is 1 if something is wrong.
    """
    if (head is None) != (proof is None):
        raise InvalidParameter("--head (a published head) and --proof (the proof for it) must be given together")
    if head is not None:
        _verify_receipts(Path(ledger), head, proof, public_key, as_json)
        return
    result = _result_in(Path(ledger))
    if result is not None:
        _verify_result(result, public_key, as_json)
        return
    if (checkpoint is None) != (signing_key is None):
        raise InvalidParameter("--checkpoint and --signing-key must be given together, because a checkpoint is signed")
    if ledger.startswith(("http://", "https://")):
        raise InvalidParameter(
            "ledger must be a file or a database, and not the address of a server; a steward verifies a server's "
            "ledger on the guard's page or with `hf.connect(url).guard(name).verify()`"
        )
    with named_extras("guard"):
        from holdfast.guard.ledger.checkpoint import Checkpoint
        from holdfast.guard.ledger.receipts import SigningKey
        from holdfast.guard.ledger.verify import verify as check
        from holdfast.guard.replay import GuardReplay
    from holdfast.core.processes import cores

    receipts = [read for path in receipt for read in _receipts(path)]
    verification = check(
        ledger,
        receipts=receipts,
        public_key=public_key,
        replay=GuardReplay,
        progress=_progress(),
        workers=cores() if workers is None else workers,
        since=[Checkpoint.from_dict(_json(path)) for path in since],
        key=None if signing_key is None else SigningKey.load(signing_key),
    )
    if checkpoint is not None:
        _write(checkpoint, verification)
    if as_json:
        output.print_json(verification.to_dict())
    else:
        _show(verification, public_key)
    if not verification.ok:
        count = len(verification.findings)
        raise HoldfastError(
            f"{count} thing{'s' if count > 1 else ''} wrong with this ledger; the first: {verification.findings[0]}"
        )


def _verify_receipts(path: Path, head: Path, proof: Path, public_key: str | None, as_json: bool) -> None:
    """Check one receipt against a published head, without the ledger."""
    with named_extras("guard"):
        from holdfast.guard.ledger.merkle_tree import Inclusion, TreeHead
        from holdfast.guard.ledger.receipts import check_public

    receipts = _receipts(path)
    if len(receipts) != 1:
        raise InvalidParameter(
            f"{path} must contain one receipt, which is verified against the head, got {len(receipts)}"
        )
    trusted = None if public_key is None else check_public("public_key", public_key)
    published = TreeHead.from_dict(_json(head))
    problems = Inclusion.from_dict(_json(proof)).problems(receipts[0], published, trusted)
    if as_json:
        output.print_json({"ok": not problems, "findings": problems})
    else:
        trust = "as given" if public_key else "by its own word; --public-key makes sure"
        output.facts(
            "Not in the ledger as stated" if problems else "In the ledger",
            [
                ("entry", f"{receipts[0].sequence:,} of {published.sequence:,}"),
                ("signed by", f"{published.public_key} ({trust})"),
                ("receipt, proof, head", "; ".join(problems) or "fit each other"),
            ],
        )
    if problems:
        raise HoldfastError(f"the receipt could not be verified: {problems[0]}")


def _result_in(path: Path) -> Mapping[str, Any] | str | None:
    """The exported result of a contest that a file holds; None for everything else."""
    kind = path.suffix.lower()
    if kind not in (".json", ".html") or not path.is_file():
        return None
    text = path.read_text("utf-8", "replace")
    if kind == ".html":
        return text
    if '"places"' not in text:
        return None
    plain = _json(path)
    return plain if isinstance(plain, Mapping) and {"places", "better", "receipt"} <= set(plain) else None


def _verify_result(plain: Mapping[str, Any] | str, public_key: str | None, as_json: bool) -> None:
    """Check the signature of a contest's result, and that it shows what was signed."""
    with named_extras("guard"):
        from holdfast.guard.contest import signed_result
        from holdfast.guard.ledger.receipts import check_public

    trusted = None if public_key is None else check_public("public_key", public_key)
    result, problems = signed_result(plain, trusted)
    if as_json:
        output.print_json({"ok": not problems, "findings": problems})
    else:
        assert result.receipt is not None
        trust = "as given" if public_key else "by its own word; --public-key makes sure"
        output.facts(
            "Not the result that was signed" if problems else "The result that was signed",
            [
                ("result", result.summary),
                ("entry", f"{result.sequence:,} of {result.dataset}"),
                ("signed by", f"{result.receipt['public_key']} ({trust})"),
                ("signature, tables", "; ".join(problems) or "fit each other"),
            ],
        )
    if problems:
        raise HoldfastError(f"the result could not be verified: {problems[0]}")


def _write(path: Path, found: Verification) -> None:
    """Keep the checkpoint of the one ledger that was checked; nothing where something is wrong."""
    if not found.ok:
        return
    if len(found.checkpoints) != 1:
        raise InvalidParameter(
            "--checkpoint must be left out here: a checkpoint is about the ledger of one guard, and there are "
            f"{len(found.checkpoints)}"
        )
    path.write_text(to_json(found.checkpoints[0].to_dict()) + "\n")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        raise InvalidParameter(f"{path} must contain JSON") from None


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
