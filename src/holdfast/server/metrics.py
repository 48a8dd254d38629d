"""Counts for Prometheus, in its text form. No name of a person, guard or column is in them."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from typing import Any

from holdfast.server.settings import Settings

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_HELP = {
    "holdfast_requests_total": ("counter", "Requests, by method, route and status."),
    "holdfast_problems_total": ("counter", "Requests that were refused, by code."),
    "holdfast_answers_total": ("counter", "Answers released, by kind of question; repeated ones cost nothing."),
    "holdfast_request_seconds": ("histogram", "Time from the first byte of a request to the end of its answer."),
    "holdfast_requests_inside": ("gauge", "Requests under way."),
    "holdfast_start_time_seconds": ("gauge", "When the worker started."),
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """The counts of one worker."""

    def __init__(self, settings: Settings) -> None:
        self._mutex = threading.Lock()
        self._counts: dict[tuple[str, Labels], float] = {}
        self._times: dict[Labels, list[float]] = {}
        self.inside = 0
        self._started = time.time()

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count."""
        key = name, tuple(sorted(labels.items()))
        with self._mutex:
            self._counts[key] = self._counts.get(key, 0) + amount

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request and its time."""
        self.add("holdfast_requests_total", method=method, route=route, status=str(status))
        with self._mutex:
            row = self._times.setdefault((("route", route),), [0.0] * (len(BUCKETS) + 2))
            row[bisect_left(BUCKETS, seconds)] += 1
            row[-1] += seconds

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        with self._mutex:
            return {"counts": dict(self._counts), "times": {k: list(v) for k, v in self._times.items()}}

    def text(self) -> str:
        """The exposition.

        Examples
        --------
        >>> metrics = Metrics(Settings())
        >>> metrics.add("holdfast_problems_total", code="forbidden")
        >>> [line for line in metrics.text().splitlines() if "forbidden" in line]
        ['holdfast_problems_total{code="forbidden"} 1']
        """
        held = self.snapshot()
        lines: dict[str, list[str]] = {name: [] for name in _HELP}
        for (name, labels), value in sorted(held["counts"].items()):
            lines[name].append(f"{name}{_labels(labels)} {value:g}")
        for labels, row in sorted(held["times"].items()):
            total = 0.0
            name = "holdfast_request_seconds"
            for bound, count in zip((*(f"{b:g}" for b in BUCKETS), "+Inf"), row, strict=False):
                total += count
                lines[name].append(f"{name}_bucket{_labels((*labels, ('le', bound)))} {total:g}")
            lines[name].append(f"{name}_sum{_labels(labels)} {row[-1]:.6f}")
            lines[name].append(f"{name}_count{_labels(labels)} {total:g}")
        lines["holdfast_requests_inside"].append(f"holdfast_requests_inside {self.inside}")
        lines["holdfast_start_time_seconds"].append(f"holdfast_start_time_seconds {self._started:.3f}")
        text: list[str] = []
        for name, (kind, words) in _HELP.items():
            if lines[name]:
                text += [f"# HELP {name} {words}", f"# TYPE {name} {kind}", *lines[name]]
        return "\n".join(text) + "\n"

    def close(self) -> None:
        """Nothing to let go of yet."""


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = ((name, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for name, value in labels)
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"


__all__ = ["BUCKETS", "MEDIA_TYPE", "Metrics"]
