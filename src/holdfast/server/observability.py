"""Structured logs, one JSON object per line, and counts for Prometheus. Neither holds a token, a row or a name."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import traceback
from bisect import bisect_left
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from holdfast.server.settings import Settings

# --- Logs -------------------------------------------------------------------------------------------------------------
# Structured logs: one JSON object per line. No token, body, query, row or message of an unforeseen error is written.

LOGGER = logging.getLogger("holdfast.server")
_HIDDEN = "hf_***"
_TOKEN = re.compile(r"hf_[0-9a-f]{8,}_?[0-9A-Za-z]*")
"""A token, or what is left of one."""
_SIGNED = re.compile(r"eyJ[0-9A-Za-z_-]{8,}(?:\.[0-9A-Za-z_-]*)*")
"""A token of an identity provider, or what is left of one: its header begins with `{"` in base64."""


def hide(text: str) -> str:
    """Return a text without the tokens in it.

    Examples
    --------
    >>> hide("got hf_" + "0" * 16 + "_" + "a" * 64 + " there")
    'got hf_*** there'
    """
    return _SIGNED.sub("eyJ***", _TOKEN.sub(_HIDDEN, text))


class JSONLines(logging.Formatter):
    """One object per line; what is not plain text, such as a name with a line break, is escaped by JSON itself."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        plain: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        plain |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[1] is not None:
            plain |= where(record.exc_info[1])
        return hide(json.dumps(plain, default=str))


def where(error: BaseException) -> dict[str, Any]:
    """Return what kind of error came from where: its words may hold rows and are left out."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "where": [f"{frame.filename.rsplit('site-packages/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames][
            -12:
        ],
    }


def set_up(level: str = "info") -> None:
    """Send the server's and uvicorn's lines to standard error, as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name in ("holdfast.server", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True


def say(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Write one line."""
    if LOGGER.isEnabledFor(level):  # without a search for who called, which `log` makes for every line
        line = {"facts": {k: v for k, v in facts.items() if v is not None}}
        LOGGER.handle(LOGGER.makeRecord(LOGGER.name, level, "", 0, event, (), None, extra=line))


# --- Metrics ----------------------------------------------------------------------------------------------------------
# Counts for Prometheus, in its text form. No name of a person, guard or column is in them.
#
# Where several workers share a port, a scrape meets any one of them. So each writes its counts to a file in one folder
# every second, and whichever is asked adds up what the others wrote.

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_REQUESTS, _PROBLEMS, _ANSWERS = "holdfast_requests_total", "holdfast_problems_total", "holdfast_answers_total"
_SECONDS, _INSIDE = "holdfast_request_seconds", "holdfast_requests_inside"
_HELP = {
    _REQUESTS: ("counter", "Requests, by method, route and status."),
    _PROBLEMS: ("counter", "Requests that were refused, by code."),
    _ANSWERS: ("counter", "Answers released, by kind of question; repeated ones cost nothing."),
    _SECONDS: ("histogram", "Time from the start of a request to the end of its answer."),
    _INSIDE: ("gauge", "Requests under way."),
}
Counts = dict[str, dict[str, list[float]]]
"""For each name, for each set of labels as JSON: a count, or a histogram's buckets and its sum."""


class Metrics:
    """The counts of one worker, and the sum over all."""

    def __init__(self, settings: Settings) -> None:
        self._mutex = threading.Lock()
        self._held: Counts = {}
        self._folder = settings.folder / "metrics" if settings.workers > 1 else None
        self.inside = 0

    def add(self, name: str, **labels: str) -> None:
        """Count one."""
        text = _text(tuple(labels.items()))
        with self._mutex:
            self._held.setdefault(name, {}).setdefault(text, [0.0])[0] += 1

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request and its time."""
        self.add(_REQUESTS, method=method, route=route, status=str(status))
        with self._mutex:
            row = self._held.setdefault(_SECONDS, {}).setdefault(_text((("route", route),)), [0.0] * (len(BUCKETS) + 2))
            row[bisect_left(BUCKETS, seconds)] += 1
            row[-1] += seconds

    def answer(self, kind: str, repeated: bool) -> None:
        """Count an answer."""
        self.add(_ANSWERS, kind=kind, repeated="yes" if repeated else "no")

    def problem(self, code: str) -> None:
        """Count a refusal."""
        self.add(_PROBLEMS, code=code)

    def plain(self) -> Counts:
        """Return the counts of this worker."""
        with self._mutex:
            held = {name: {labels: list(row) for labels, row in rows.items()} for name, rows in self._held.items()}
        return held | {_INSIDE: {"{}": [float(self.inside)]}}

    def text(self) -> str:
        """Return what Prometheus reads, all workers together.

        Examples
        --------
        >>> metrics = Metrics(Settings())
        >>> metrics.problem("forbidden")
        >>> [line for line in metrics.text().splitlines() if "forbidden" in line]
        ['holdfast_problems_total{code="forbidden"} 1']
        """
        total = self.plain()
        for other in self._others():
            _add(total, other)
        lines: list[str] = []
        for name, (kind, words) in _HELP.items():
            rows = total.get(name, {})
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"] if rows else []
            for labels, row in sorted(rows.items()):
                lines += (
                    _histogram(name, json.loads(labels), row)
                    if kind == "histogram"
                    else [f"{name}{_labels(json.loads(labels))} {row[0]:.15g}"]
                )
        return "\n".join(lines) + "\n"

    def write(self) -> None:
        """Leave this worker's counts where the others find them."""
        if self._folder is None:
            return
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{os.getpid()}.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(self.plain()))
        fresh.replace(path)

    def _others(self) -> list[Counts]:
        if self._folder is None or not self._folder.is_dir():
            return []
        others = []
        for path in self._folder.glob("*.json"):
            if path.stem != str(os.getpid()):
                with suppress(OSError, ValueError):  # it ends, or is written, at this moment
                    others.append(json.loads(path.read_text()))
        return others

    def close(self) -> None:
        """Leave the last counts, so that totals do not fall when a worker is replaced."""
        self.inside = 0
        self.write()


@lru_cache(maxsize=4096)
def _text(labels: tuple[tuple[str, str], ...]) -> str:
    """Labels as JSON; kept, because the same few are counted with every request."""
    return json.dumps(dict(labels), sort_keys=True)


def forget(folder: Path) -> None:
    """Remove what an earlier run left; for the parent, before workers start."""
    for path in (folder / "metrics").glob("*.json"):
        with suppress(OSError):
            path.unlink()


def _add(total: Counts, other: dict[str, Any]) -> None:
    for name, rows in other.items():
        mine = total.setdefault(name, {})
        for labels, row in rows.items():
            held = mine.get(labels, [0.0] * len(row))
            mine[labels] = [a + b for a, b in zip(held, row, strict=True)]


def _histogram(name: str, labels: dict[str, str], row: list[float]) -> list[str]:
    lines, total = [], 0.0
    for bound, count in zip((*(f"{b:g}" for b in BUCKETS), "+Inf"), row[:-1], strict=True):
        total += count
        lines.append(f"{name}_bucket{_labels(labels | {'le': bound})} {total:.15g}")
    return [*lines, f"{name}_sum{_labels(labels)} {row[-1]:.6f}", f"{name}_count{_labels(labels)} {total:.15g}"]


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    escaped = ((n, v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for n, v in labels.items())
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
