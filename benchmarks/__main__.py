"""`make bench`: run every benchmark module and make one report; exit 1 if a claim failed or a ratio regressed.

A module `benchmarks/bench_*.py` has one function `rows() -> list[Row]`.

    python -m benchmarks [MODULE ...] [--json] [--check] [--record]

`--check` also compares with the ratios in `recorded.json`; `--record` runs each module three times and records the
medians. The report is written to `build/benchmarks.md` and `.json`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path

from rich.console import Console

import benchmarks
from benchmarks import regression
from benchmarks.report import Report
from benchmarks.timing import Row

FLAGS = ("--json", "--check", "--record")
RECORDED_RUNS = 3
BUILD = Path("build")


def measure(module: str) -> list[Row]:
    """Run one module."""
    print(f"running {module} ...", file=sys.stderr)
    found: list[Row] = importlib.import_module(f"benchmarks.bench_{module}").rows()
    return found


def main(arguments: list[str]) -> int:
    wanted = [word for word in arguments if not word.startswith("-")]
    every = [m.name.removeprefix("bench_") for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[:6] == "bench_"]
    unknown = [word for word in wanted if word not in every] + [
        word for word in arguments if word.startswith("-") and word not in FLAGS
    ]
    if unknown:
        print(f"benchmarks: {', '.join(unknown)} is none of: {', '.join([*every, *FLAGS])}", file=sys.stderr)
        return 2
    names = [name for name in every if not wanted or name in wanted]
    modules = {name: measure(name) for name in names}
    report = Report.of(modules)
    _write(report)
    if "--json" in arguments:
        print(json.dumps(report.to_dict(), indent=2))
    else:
        Console(width=150).print(report.table())
    if "--record" in arguments:
        again = {name: [measure(name) for _ in range(RECORDED_RUNS - 1)] for name in names}
        regression.write({name: [modules[name], *again[name]] for name in names})
    found = _regressions(modules) if "--check" in arguments else []
    for one in found:
        print(f"REGRESSION {one}", file=sys.stderr)
    return 0 if not found and all(row.ok for row in report.rows) else 1


def _regressions(modules: dict[str, list[Row]]) -> list[regression.Regression]:
    recorded = regression.read()
    return [
        one
        for name, rows in modules.items()
        for one in regression.regressions(name, rows, recorded.get(name, {}), measure)
    ]


def _write(report: Report) -> None:
    BUILD.mkdir(exist_ok=True)
    (BUILD / "benchmarks.md").write_text(report.markdown())
    (BUILD / "benchmarks.json").write_text(json.dumps(report.to_dict(), indent=2))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
