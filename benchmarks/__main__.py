"""`make bench`: run every benchmark module, print one table, exit 1 if a claim failed.

A module `benchmarks/bench_*.py` has one function `rows() -> list[Row]`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import platform
import sys
from importlib.metadata import version

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.timing import Row


def main(arguments: list[str]) -> int:
    wanted = [a for a in arguments if not a.startswith("-")]
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")]
    names = [n for n in names if not wanted or n.removeprefix("bench_") in wanted]
    if not names:
        print(f"benchmarks: no module called {', '.join(wanted)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in names:
        print(f"running {name} ...", file=sys.stderr)
        rows += importlib.import_module(f"benchmarks.{name}").rows()
    if "--json" in arguments:
        print(json.dumps([vars(r) | {"ratio": r.ratio} for r in rows], indent=2))
    else:
        _show(rows)
    return 0 if all(r.ok for r in rows) else 1


def _show(rows: list[Row]) -> None:
    versions = ", ".join(f"{p} {version(p)}" for p in ("holdfast", "numpy", "scipy", "opendp"))
    table = Table(title=f"Python {platform.python_version()}, {platform.machine()}, {versions}")
    for heading in ("what", "ours (s)", "peer", "peer (s)", "peer / ours", "claim", "holds"):
        table.add_column(heading)
    for r in rows:
        cells = (f"{r.ours_seconds:.3g}", r.peer, f"{r.peer_seconds:.3g}", f"{r.ratio:.3g}", r.claim)
        table.add_row(r.name, *cells, "yes" if r.ok else "NO")
    Console(width=150).print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
