"""What one worker holds: the ledger's store, the registers over it, and the threads that guards are asked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from fastapi import Request

from holdfast.core.extras import named_extras
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.opening import carry_over
from holdfast.server.auth.invitations import Invitations
from holdfast.server.auth.tokens import Caller, Tokens
from holdfast.server.guards import Asking, Guards
from holdfast.server.http import Failures, Rates
from holdfast.server.observability import Metrics
from holdfast.server.records import Records
from holdfast.server.reports import Reports
from holdfast.server.samples import Samples
from holdfast.server.scheduling import Coalescer, FreeWork, Threads
from holdfast.server.settings import Settings

if TYPE_CHECKING:
    from holdfast.server.auth.oidc.service import Oidc

P = ParamSpec("P")
T = TypeVar("T")


class Server:
    """Opens everything at once, so that a server that cannot reach its ledger does not start."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.store = open_store(settings.ledger_place, key=settings.signing_key)
        carry_over(self.store)
        self.records = Records.of_store(self.store)
        self.tokens = Tokens(self.records)
        self.samples = Samples(self.records, settings)
        self.guards = Guards(self.records, self.store, self.samples)
        self.reports = Reports(self.records)
        self.invitations = Invitations(self.records, self.tokens, self.guards)
        self.rates = Rates(settings.rate / settings.workers, settings.burst)
        self.failures = Failures(settings.failures)
        self.metrics = Metrics(settings)
        self.oidc = _oidc(settings, self.records, self.store.key)
        self.free = FreeWork(settings, self.work, lambda: self.metrics.inside > 1)
        self.asking = Asking(self.guards, self.free, self.work, settings.threads)
        self._recognised: Coalescer[str, Caller | None] = Coalescer(
            lambda texts: self.check(self.tokens.recognise, texts)
        )
        self._working = Threads(settings.threads, "guard")
        self._checking = Threads(4, "door")
        self._reading = Threads(2, "read")  # each may have a process with `memory_mb`
        self._probing = Threads(1, "probe")
        self._hashing = Threads(2, "hash")  # few, so that wrong tokens cannot take the memory or every core

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something that blocks, on one of the bounded threads.

        A request that runs out of time stops its thread before anything is paid for. Behind that the thread goes on and
        keeps its place: what it paid for is on the ledger, and a retry with the same key finds it.
        """
        return await self._working.run(function, *args, **kwargs)

    async def check(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Look a token up: short, and on threads of its own, so that slow questions keep nobody waiting."""
        return await self._checking.run(function, *args, **kwargs)

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Have an analyst's file read by a process: few at once, so that what unfolds takes no machine."""
        return await self._reading.run(function, *args, **kwargs)

    async def hash(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Verify a secret: long, and apart from what is looked up, so that wrong ones keep no right one waiting."""
        return await self._hashing.run(function, *args, **kwargs)

    async def probe(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Find out whether the store and the disk work, on a thread of its own, which may hang with them."""
        return await self._probing.run(function, *args, **kwargs)

    async def caller(self, text: str, wait: float) -> Caller:
        """Whose token this is: one of ours, or one of the issuer that the settings name."""
        if self.oidc is not None and self.oidc.takes(text):
            return await self.oidc.run(self.oidc.verify, text, wait)
        # Tokens that are known are looked up together; a new one is hashed, which takes long, and keeps nobody waiting.
        known = await self._recognised(text)
        return known if known is not None else await self.hash(self.tokens.verify, text, wait)

    def close(self) -> None:
        """Let go of samples, connections and files."""
        if self.oidc is not None:
            self.oidc.close()
        self.free.close()
        self._working.close()
        self._checking.close()
        self._hashing.close()
        self._reading.close()
        self._probing.close()
        self.guards.close()
        self.metrics.close()
        self.store.close()


def _oidc(settings: Settings, records: Records, key: Any) -> Oidc | None:
    if settings.oidc_issuer is None:
        return None
    with named_extras("oidc"):
        from holdfast.server.auth.oidc.service import Oidc
    return Oidc(settings, records, key)


def server_of(request: Request) -> Server:
    """Return the worker's state."""
    server = request.app.state.server
    assert isinstance(server, Server)
    return server
