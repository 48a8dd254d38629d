"""Work spread over processes that end with the one that started them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, connection, get_context, parent_process
from typing import Any


def cores() -> int:
    """Processors that this process may use.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pool(workers: int, prepare: Callable[..., None] | None = None, *given: Any) -> Iterator[ProcessPoolExecutor]:
    """Fresh interpreters to hand work to; `prepare(*given)` runs first in each.

    Whatever was not begun when the block is left is dropped; when it is left by an error or an interruption, what was
    begun is ended too. A worker whose parent is gone, killed for instance, ends instead of waiting for work forever.
    """
    others = set(active_children())
    # Fresh interpreters: a fork would copy locks that other threads hold.
    executor = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(prepare, given)
    )
    try:
        yield executor
    except BaseException:
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _begin(prepare: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the parent's to understand; it ends its workers
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent.sentinel,), daemon=True).start()
    if prepare is not None:
        prepare(*given)


def _leave_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
