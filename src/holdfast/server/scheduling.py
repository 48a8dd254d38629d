"""How requests share a worker: bounded threads, calls that are coalesced, and answers that leave at set moments."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

from holdfast.core.checkpoint import at_checkpoints
from holdfast.data.expressions.parsing import count_parts
from holdfast.errors import HoldfastError, LedgerUnavailable, SampleUnavailable
from holdfast.guard.policy import SCORE
from holdfast.guard.questions.base import Question
from holdfast.server.http import Problem, Rates, retry_after, strict_loads
from holdfast.server.settings import Settings

# --- Scheduling -------------------------------------------------------------------------------------------------------

P = ParamSpec("P")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741

Work = Callable[[list[I]], Awaitable[Sequence[O | Exception]]]
"""Does many calls at once: for each what came of it, or its error."""


class Threads:
    """A bounded pool of threads: a call keeps its thread until it ends, even if nobody waits for it any more.

    A call that has not begun when its request ends is not made. One that has begun ends at its next checkpoint, before
    anything is paid for; behind the last checkpoint it goes on to its end, so that a retry finds what was paid for.
    Nothing takes its place before it has ended: who sends questions and hangs up cannot have more of them worked on
    than who waits.
    """

    def __init__(self, most: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=f"holdfast-{name}")
        self._calls: set[threading.Event] = set()

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something, and wait for it."""
        given_up = threading.Event()
        call = partial(function, *args, **kwargs)
        self._calls.add(given_up)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _until, given_up, call)
        except asyncio.CancelledError:
            given_up.set()
            raise
        finally:
            self._calls.discard(given_up)

    def close(self) -> None:
        """Begin nothing more, and end what is under way at its next checkpoint."""
        for given_up in list(self._calls):
            given_up.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _until(given_up: threading.Event, call: Callable[[], T]) -> T:
    def require_wanted() -> None:
        if given_up.is_set():
            raise Problem("timed-out", "nobody waits for this any more; nothing was paid for")

    with at_checkpoints(require_wanted):
        return call()


class Coalescer(Generic[I, O]):
    """Coalesces concurrent calls: those that come while others are at work are done together by the next group.

    A call that meets nobody at work is done at once, with those that come in the same turn of the event loop. Others
    wait until a place is free and are then done together, in order, up to `most` at once. At most `at_once` groups are
    at work, and a group begins next to others only when none of them began less than `head_start` seconds ago. A call
    that is given up before its turn is not done at all, and a group is given up when nobody waits for any of its calls.
    `when_idle` is called whenever the last of them has ended.

    Examples
    --------
    >>> async def doubled(numbers):
    ...     return [2 * number for number in numbers]
    >>> async def main():
    ...     double = Coalescer(doubled)
    ...     return await asyncio.gather(*(double(i) for i in range(4)))
    >>> asyncio.run(main())
    [0, 2, 4, 6]
    """

    def __init__(
        self, work: Work[I, O], at_once: int = 1, most: int = 64, when_idle: Callable[[], object] | None = None
    ) -> None:
        self._work, self.at_once, self._most, self._when_idle = work, at_once, most, when_idle
        self._waiting: deque[tuple[I, asyncio.Future[O]]] = deque()
        self._groups: set[asyncio.Task[None]] = set()
        self.head_start = 0.0
        self._begun = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody waits or is at work."""
        return not self._waiting and not self._groups

    async def __call__(self, item: I) -> O:
        """Have one call done, with whatever others are waiting."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[O] = loop.create_future()
        self._waiting.append((item, future))
        if self._soon is None:
            self._soon = loop.call_soon(self._start_soon)
        return await future

    def _start_soon(self) -> None:
        self._soon = None
        self._start()
        self._say_if_idle()  # where every call was given up meanwhile

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and len(self._groups) < self.at_once:
            if self._groups and loop.time() < self._begun + self.head_start:
                if self._timer is None:
                    self._timer = loop.call_at(self._begun + self.head_start, self._start_later)
                return
            group: list[tuple[I, asyncio.Future[O]]] = []
            while self._waiting and len(group) < self._most:
                call = self._waiting.popleft()
                if not call[1].done():  # not given up meanwhile
                    group.append(call)
            if group:
                self._begun = loop.time()
                task = asyncio.create_task(self._do(group))
                self._groups.add(task)
                task.add_done_callback(self._next)
                for _, future in group:
                    future.add_done_callback(partial(_give_up, task, group))

    def _start_later(self) -> None:
        self._timer = None
        self._start()

    def _next(self, task: asyncio.Task[None]) -> None:
        self._groups.discard(task)
        self._start()
        if self.idle:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._say_if_idle()

    def _say_if_idle(self) -> None:
        if self.idle and self._when_idle is not None:
            self._when_idle()

    async def _do(self, group: list[tuple[I, asyncio.Future[O]]]) -> None:
        outcomes: Sequence[O | Exception]
        try:
            outcomes = await self._work([item for item, _ in group])
        except Exception as error:
            outcomes = [error] * len(group)
        except BaseException:  # the server ends: nobody will wait for what will not come
            for _, future in group:
                future.cancel()
            raise
        if len(outcomes) != len(group):  # nobody will wait for an outcome that was left out, or take another's
            outcomes = [RuntimeError(f"{len(group)} calls have {len(outcomes)} outcomes")] * len(group)
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


def _give_up(task: asyncio.Task[None], group: list[tuple[I, asyncio.Future[O]]], _: asyncio.Future[O]) -> None:
    """End a group's work once all who waited for it have gone."""
    if all(future.cancelled() for _, future in group):
        task.cancel()


class at_multiples:
    """A block that ends at a multiple of `grid` seconds after it began, whether it raises or not; 0: at once.

    Examples
    --------
    >>> async def main():
    ...     begun = time.monotonic()
    ...     async with at_multiples(0.05):
    ...         pass
    ...     return time.monotonic() - begun
    >>> 0.045 < asyncio.run(main()) < 5
    True
    """

    def __init__(self, grid: float) -> None:
        self._grid, self._begun = grid, time.monotonic()

    async def __aenter__(self) -> Self:
        return self

    def lift(self) -> None:
        """Wait for nothing: no row was read."""
        self._grid = 0.0

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._grid and (kind is None or issubclass(kind, Exception)):  # who was cancelled waits no longer
            passed = time.monotonic() - self._begun
            await asyncio.sleep(math.ceil(passed / self._grid) * self._grid - passed)


# --- Free work --------------------------------------------------------------------------------------------------------
# Work that nobody pays for: estimates, refused questions and repeated ones. What bounds it is processor time.
#
# Budgets bound what analysts get, and not what they make a server do for nothing. So there are three bounds:
#
# - *Size.* The expressions of one request have at most `max_parts` parts together, counted before any is parsed.
# - *An allowance.* Each analyst has a bucket of processor seconds that fills slowly. Free work empties it, by the time
#   that its thread was on the processor; when it is empty, questions of that analyst wait (429). A stored answer takes
#   a millisecond or so: nobody notices the charge but who asks for hundreds of them a second.
# - *A turn.* Large requests of one analyst are worked on one after the other, few of all analysts at once, and in short
#   slices with rests between them while anybody else is served: Python runs one thread at a time.

LIGHT, LIGHT_AT_ONCE = 200, 2
"""Parts up to which a request takes a few milliseconds and no turn; and how many such ones of one analyst at once."""
AT_ONCE, MOST_WAITING = 2, 8
"""Large requests at work, of all analysts; and waiting, of one."""
SLICE, REST = 0.002, 4.0
"""Processor seconds at a stretch while others are served, and how many times as long nothing is done after them."""
DELAY = 1.0
"""Seconds until a refusal is sent, so that whoever repeats a request at once does it once a second."""


@dataclass
class _Turn:
    """Whose free requests are worked on: large ones of an analyst one at a time, light ones a few."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    light: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LIGHT_AT_ONCE))
    large: int = 0
    users: int = 0


class FreeWork:
    """The bounds of one worker. `work` runs light calls; `others` tells whether anybody else is being served."""

    LARGE = 16 * 1024
    """Bytes beyond which a body is parsed in its analyst's turn."""

    def __init__(self, settings: Settings, work: Callable[..., Any], others: Callable[[], bool]) -> None:
        self._most_parts = settings.max_parts
        self._allowances = Rates(settings.free_work / settings.workers, settings.free_work_burst)
        self._work, self._others = work, others
        self._threads = Threads(AT_ONCE, "free")
        self._turns: dict[str, _Turn] = {}

    def parts(self, questions: Iterable[Any]) -> int:
        """Return how many parts the expressions of a request have together; `Problem` beyond the limit."""
        most, total = self._most_parts, 0
        for question in questions:
            # Submitted predictions are no expressions; they are bounded by the size of the body.
            if not (isinstance(question, Mapping) and question.get("kind") == SCORE):
                total += count_parts(question, most - total)
            if total > most:
                raise Problem(
                    "too-large",
                    f"the expressions of one request may have {most} parts together (words, signs, numbers and texts; "
                    "`max_parts` of the server), and these have more; ask in several requests",
                )
        return total

    def is_light(self, questions: Sequence[Any]) -> bool:
        """Return whether checking these takes a few milliseconds; `Problem` where they have too many parts."""
        slow = any(isinstance(question, Mapping) and question.get("kind") in _slow_kinds() for question in questions)
        return self.parts(questions) <= LIGHT and not slow

    def require(self, analyst: str) -> None:
        """Refuse an analyst whose allowance is used up."""
        wait = self._allowances.wait(analyst)
        if wait:
            raise _too_much(
                "your estimates and refused questions took more processor time than the server gives free of charge; "
                "ask again later",
                wait,
            )

    def charge(self, analyst: str, seconds: float) -> None:
        """Take processor seconds from an analyst's allowance; give them back where they are negative."""
        self._allowances.charge(analyst, seconds)

    @contextmanager
    def charging_refusals(self, analyst: str) -> Iterator[None]:
        """Charge an analyst for a question that reads rows and is refused all the same.

        What counts is the time that passed: an engine reads rows on threads of its own. Rows or a ledger that are out
        of reach are not the analyst's doing, and not charged.
        """
        begun = time.monotonic()
        try:
            yield
        except (LedgerUnavailable, SampleUnavailable):
            raise
        except HoldfastError:
            self.charge(analyst, time.monotonic() - begun)
            raise

    async def run(
        self, analyst: str, light: bool, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[T, float]:
        """Call something that nobody may have to pay for: what it returned, and the processor seconds it was charged.

        Whoever finds that it was paid for after all gives them back.
        """
        self.require(analyst)
        call = _Measured(self, analyst, partial(function, *args, **kwargs))
        turn = self._turns.setdefault(analyst, _Turn())
        if not light and turn.large > MOST_WAITING:
            raise _too_much(f"{MOST_WAITING} of your large requests are waiting already", DELAY)
        turn.users += 1
        turn.large += not light
        try:
            async with turn.light if light else turn.lock:
                self.require(analyst)  # those before may have used it up
                if light:
                    return await self._work(call), call.seconds
                try:
                    result = await self._threads.run(call.in_slices, self._others)
                except Exception:
                    await self._rest(call)
                    raise
                await self._rest(call)
                return result, call.seconds
        finally:
            turn.users -= 1
            turn.large -= not light
            if not turn.users:
                self._turns.pop(analyst, None)

    async def _rest(self, call: _Measured) -> None:
        if self._others():
            await asyncio.sleep(REST * call.unrested)

    async def read(self, analyst: str, body: bytes, asks: bool) -> Any:
        """The JSON of a large body, in its analyst's turn; refused where it asks and has too many parts."""
        result, _ = await self.run(analyst, False, self._read, body, asks)
        return result

    def _read(self, body: bytes, asks: bool) -> Any:
        plain = strict_loads(body)
        if asks and isinstance(plain, dict):
            many = plain.get("questions")
            self.parts(many if isinstance(many, list) else [plain.get("question")])
        return plain

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.close()


@cache
def _slow_kinds() -> frozenset[str]:
    """The kinds of question whose checking takes long, however short they are."""
    return frozenset(name for name, kind in Question.kinds().items() if kind.slow_estimate)


def _too_much(words: str, wait: float) -> Problem:
    return Problem("rate-limited", f"{words}; ask again later", headers=retry_after(wait), delay=DELAY)


class _Measured:
    """A call whose thread's processor time is charged to an analyst when it ends, however it ends."""

    def __init__(self, free: FreeWork, analyst: str, call: Callable[[], Any]) -> None:
        self._free, self._analyst, self._call = free, analyst, call
        self.seconds = self.unrested = 0.0

    def __call__(self) -> Any:
        begun = time.thread_time()
        try:
            return self._call()
        finally:
            self.seconds = time.thread_time() - begun
            self._free.charge(self._analyst, self.seconds)

    def in_slices(self, others: Callable[[], bool]) -> Any:
        """Call it, and rest at checkpoints while others are served."""
        last = time.thread_time()

        def rest() -> None:
            nonlocal last
            used = time.thread_time() - last
            if used >= SLICE:
                if others():
                    time.sleep(REST * used)
                last = time.thread_time()

        try:
            with at_checkpoints(rest):
                return self()
        finally:
            self.unrested = time.thread_time() - last
