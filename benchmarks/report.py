"""One report of one run: what was measured against which peer, on which machine, with which versions, when."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.table import Table

from benchmarks.timing import Row

PEERS = ("numpy", "scipy", "opendp", "dp-accounting", "online-fdr", "polars", "scikit-learn", "fastapi", "duckdb")
HEADINGS = ("what", "ours (s)", "peer", "peer (s)", "peer / ours", "claim", "holds")


@dataclass(frozen=True)
class Report:
    """The rows of each module, and what they were measured on."""

    modules: Mapping[str, list[Row]]
    when: str
    machine: str
    versions: Mapping[str, str]

    @classmethod
    def of(cls, modules: Mapping[str, list[Row]]) -> Report:
        """A report of this moment on this machine."""
        versions = {"Python": platform.python_version()} | {name: _version(name) for name in ("holdfast", *PEERS)}
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, {_processor()}"
        return cls(modules, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), machine, versions)

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for rows in self.modules.values() for row in rows]

    @property
    def subtitle(self) -> str:
        """When, where and with what, in one line."""
        return f"{self.when}; {self.machine}; " + ", ".join(f"{name} {found}" for name, found in self.versions.items())

    def table(self) -> Table:
        """For a terminal."""
        table = Table(caption=self.subtitle)
        for heading in HEADINGS:
            table.add_column(heading)
        for row in self.rows:
            table.add_row(*_cells(row))
        return table

    def markdown(self) -> str:
        """For a page: one table a module."""
        lines = ["# Benchmarks", "", self.subtitle, ""]
        for module, rows in self.modules.items():
            lines += [f"## {module}", "", _line(HEADINGS), _line(["---"] * len(HEADINGS))]
            lines += [_line(_cells(row)) for row in rows] + [""]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        rows = {module: [vars(row) | {"ratio": row.ratio} for row in found] for module, found in self.modules.items()}
        return {"when": self.when, "machine": self.machine, "versions": dict(self.versions), "modules": rows}


def _cells(row: Row) -> tuple[str, ...]:
    numbers = f"{row.ours_seconds:.3g}", f"{row.peer_seconds:.3g}", f"{row.ratio:.3g}"
    name = f"{row.name}: {row.detail}" if row.detail else row.name
    return name, numbers[0], row.peer, numbers[1], numbers[2], row.claim, "yes" if row.ok else "NO"


def _line(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _processor() -> str:
    """The processor's name where the system tells it."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
