"""Threads: as many as are allowed, whoever hangs up."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress

from holdfast.core.checkpoint import checkpoint
from holdfast.server.http import Problem
from holdfast.server.scheduling import Threads


def test_a_call_that_nobody_waits_for_keeps_its_place() -> None:
    """Somebody who asks slow questions and gives up after each has as many of them at work as are allowed."""
    threads, ended = Threads(2, "test"), threading.Event()
    lock, running, most = threading.Lock(), 0, 0

    def slow() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        ended.wait(20)
        with lock:
            running -= 1

    async def impatient() -> None:
        first = [asyncio.create_task(threads.run(slow)) for _ in range(2)]
        async with asyncio.timeout(20):
            while running < 2:
                await asyncio.sleep(0.001)
        for one in first:
            one.cancel()
        for _ in range(10):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.02):
                    await threads.run(slow)
        assert running == 2
        ended.set()
        assert await threads.run(lambda: 7) == 7, "and there is room again when they have ended"

    asyncio.run(impatient())
    threads.close()
    assert most == 2


def test_a_call_that_nobody_waits_for_ends_at_its_next_checkpoint() -> None:
    threads, begun, ended = Threads(1, "test"), threading.Event(), threading.Event()

    def long() -> None:
        try:
            for _ in range(10_000):
                begun.set()
                checkpoint()
                time.sleep(0.002)
        finally:
            ended.set()

    async def work() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await threads.run(long)
        assert ended.wait(10), "it would have gone on for 20 seconds"
        begun.clear()
        ended.clear()
        last = asyncio.create_task(threads.run(long))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        threads.close()
        assert ended.wait(10), "so does what is under way when the server stops"
        with suppress(Problem):
            await last

    asyncio.run(work())
    checkpoint()  # and those who come after it are not stopped


def test_a_call_that_has_not_begun_is_not_made() -> None:
    threads, go, made = Threads(1, "test"), threading.Event(), []

    async def work() -> None:
        first = asyncio.create_task(threads.run(go.wait, 20))
        await asyncio.sleep(0.05)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await threads.run(made.append, "given up")
        go.set()
        assert await first
        await threads.run(made.append, "waited for")

    asyncio.run(work())
    threads.close()
    assert made == ["waited for"]
