"""Opening a store of ledgers: `open_store` finds the right kind for an address."""

from __future__ import annotations

from pathlib import Path

from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.memory import MemoryStore
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.store import Store


@named_extras()
def open_store(
    where: str | Path | None = None,
    *,
    key: SigningKey | str | Path | None = None,
    new_key: bool = False,
    create: bool = True,
    timeout: float = 30.0,
) -> Store:
    """Open a store of ledgers. Its tables are created, or updated to this version, if needed.

    Parameters
    ----------
    where : str or path, optional
        A file (SQLite), a `postgresql://` address, or None for memory, which ends with the process.
    key : SigningKey or path, optional
        What signs heads and receipts. By default a SQLite store has a key file of the same name plus `.key` next to it,
        made on first use and readable by its owner only; a memory store makes a key; a PostgreSQL store without a key
        is not signed, because servers that share it must share the key.
    new_key : bool
        Go on under another key than the one that has signed so far. The change is recorded in the chain.
    create : bool
        Whether a file that is not there may be made.
    timeout : float
        Seconds to wait for other processes that hold the lock, or for a server to answer.

    Examples
    --------
    >>> store = open_store()
    >>> ledger = store.ledger("fingerprint")
    >>> def work(transaction):
    ...     transaction.put_account("whole", {"spent": "0.1"})
    ...     return transaction.append("answered", {"answer": 3}, analyst="ann", key="k1")
    >>> ledger.submit(work).sequence
    1
    >>> ledger.look(lambda view: view.find_key("ann", "k1").body)
    {'answer': 3}
    """
    signing = key if isinstance(key, SigningKey) or key is None else SigningKey.load_or_create(key)
    text = None if where is None else str(where)
    if text is None or text == ":memory:":
        return MemoryStore(signing, new_key)
    if text.startswith(("postgresql:", "postgresql+psycopg:", "postgres:")):
        from holdfast.guard.ledger.postgres import PostgresStore  # its driver is an extra

        return PostgresStore(text, signing, new_key, timeout=timeout)
    if "://" in text and not text.startswith("sqlite:///"):
        raise InvalidParameter("where must be a file, a postgresql:// address, or None for memory")
    from holdfast.guard.ledger.sqlite import SQLiteStore

    return SQLiteStore(text.removeprefix("sqlite:///"), signing, new_key, create=create, timeout=timeout)
