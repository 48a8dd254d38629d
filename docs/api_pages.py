"""Writes the API reference: a page a package, a section a public name, from the docstrings.

Public is what a package lists in `__all__`. `tests/test_public_surface.py` holds every name to a docstring with an
example that runs, and to a place on its page.
"""

import importlib
import inspect
import sys
import types
from pathlib import Path

from generated import replace
from sphinx.pycode import ModuleAnalyzer

LONGEST_VALUE = 100
ABOUT = """\
Every public name, with an example that runs in the tests. After `import holdfast as hf` all of it is there under its
name, as `hf.bounds.interval`; the server and the integrations need packages of their own and are imported by name."""

PACKAGES = {
    "holdfast": "the door",
    "holdfast.holdout": "holdouts that may be asked again, and plans",
    "holdfast.holdout.metrics": "what a holdout can be asked about a model",
    "holdfast.inference": "answers, intervals and p-values after looking",
    "holdfast.inference.online": "tests that arrive one by one",
    "holdfast.inference.private_tests": "private tests",
    "holdfast.inference.private_tests.binomial_power": "rows and power of private tests of a proportion",
    "holdfast.inference.private_tests.t_test": "private t-tests",
    "holdfast.inference.private_tests.local": "tests without a trusted party",
    "holdfast.correlated": "rows that depend on each other",
    "holdfast.correlated.series_model": "dependence along a series, declared",
    "holdfast.coherence": "the audit and the epsilon planner",
    "holdfast.coherence.curators": "what a release does to the rows",
    "holdfast.coherence.learners": "who reads a release",
    "holdfast.coherence.significance": "whether a group depends on who was released",
    "holdfast.coherence.verdict": "what an audit ends with",
    "holdfast.coherence.planner": "the epsilon that a tolerance allows",
    "holdfast.coherence.released": "what costs already spent promise to groups",
    "holdfast.coherence.report": "an audit as a page, as JSON and as tables",
    "holdfast.guard": "the gateway to a data set: policy, filter and ledger in one",
    "holdfast.guard.leaderboard": "who is where on a board, as far as the intervals tell",
    "holdfast.guard.coherence": "what the answers of a guard promise to groups",
    "holdfast.guard.ledger": "what a guard writes down, and whether it is genuine",
    "holdfast.guard.ledger.export": "ledgers as JSON and CSV",
    "holdfast.guard.ledger.events": "costs as events of dp_accounting",
    "holdfast.server": "guards over HTTP",
    "holdfast.client": "a guard on a server",
    "holdfast.data": "samples",
    "holdfast.data.expressions": "what may be asked about a row",
    "holdfast.data.statistics": "what may be asked of a sample",
    "holdfast.mechanisms": "one question, one noisy answer, one cost",
    "holdfast.mechanisms.local": "one person, one randomised answer",
    "holdfast.accounting": "costs, filters and odometers",
    "holdfast.noise": "exact samplers",
    "holdfast.bounds": "the catalogue of theorems",
    "holdfast.bounds.interval": "half-widths for means chosen adaptively",
    "holdfast.bounds.one_question": "intervals for one fixed question",
    "holdfast.bounds.holdout": "what holdouts promise",
    "holdfast.bounds.correlated": "what dependence costs",
    "holdfast.bounds.coherence": "what coherence costs",
    "holdfast.errors": "what is raised on purpose",
    "holdfast.integrations.sklearn": "scikit-learn",
    "holdfast.integrations.optuna": "Optuna",
    "holdfast.integrations.reported_scores": "scores of evaluation harnesses behind a guard",
    "holdfast.integrations.inspect_ai": "Inspect",
    "holdfast.integrations.lm_eval": "lm-evaluation-harness",
    "holdfast.integrations.mlflow": "MLflow",
    "holdfast.integrations.contest_platforms": "Codabench and EvalAI",
}


def names(package: str) -> list[str]:
    """The public names of a package, those that are packages with a page of their own left out."""
    module = importlib.import_module(package)
    listed = [name for name in module.__all__ if not name.startswith("__")]
    return [name for name in listed if not isinstance(getattr(module, name), types.ModuleType)]


def directive(package: str, name: str) -> str:
    """The autodoc directive of a name."""
    found = getattr(importlib.import_module(package), name)
    if inspect.isclass(found) and issubclass(found, BaseException):
        kind, options = "autoexception", ["show-inheritance"]
    elif hasattr(found, "model_fields"):
        # For members autodoc writes into the annotations of pydantic's own classes, and breaks them.
        kind, options = "autoclass", []
    elif inspect.isclass(found):
        kind, options = "autoclass", ["members"]
    elif inspect.isfunction(found):
        kind, options = "autofunction", []
    else:
        return _value(package, name, found)
    return "\n".join([f".. {kind}:: {package}.{name}", *(f"   :{option}:" for option in options), ""])


def text_of(package: str, name: str) -> list[str]:
    """The text of a value: in the code below it, or behind `#:` above it, wherever below the package it is defined."""
    found = getattr(importlib.import_module(package), name)
    near = package.rpartition(".")[0] + "."
    for home in [package, *(other for other in sorted(sys.modules) if other.startswith(near))]:
        if getattr(sys.modules[home], name, None) is found:
            docs = ModuleAnalyzer.for_module(home).find_attr_docs()
            if ("", name) in docs:
                return list(docs["", name])
    return []


def _value(package: str, name: str, found: object) -> str:
    """A value, shown where it is short, and its text; autodoc would describe its type and lose the text."""
    shown = [f"   :value: {found!r}"] if len(repr(found)) <= LONGEST_VALUE else []
    return "\n".join(
        [f".. py:data:: {package}.{name}", *shown, "", *(f"   {line}".rstrip() for line in text_of(package, name))]
    )


def write_api_pages(folder: Path) -> None:
    for package, about in PACKAGES.items():
        replace(folder / f"{package}.md", _page(package, about))
    replace(folder / "index.md", _index())
    for stale in set(folder.glob("*.md")) - {folder / f"{name}.md" for name in (*PACKAGES, "index")}:
        stale.unlink(missing_ok=True)


def _page(package: str, about: str) -> str:
    module = importlib.import_module(package)
    lines = [f"# `{package}`", "", f"{about[0].upper()}{about[1:]}. Made from the code by `make docs`.", ""]
    lines += ["```{eval-rst}", f".. automodule:: {package}", "   :no-members:", "   :no-index:", "```", ""]
    doors = {name: _home(package, name) for name in names(package)}
    for name, home in doors.items():
        if home != package:
            lines += [f"## {name}", "", f"[`{home}.{name}`](#{home}.{name})", ""]
            continue
        lines += [f"## {name}", "", "```{eval-rst}", directive(package, name), "```", ""]
    below = [name for name in getattr(module, "__all__", ()) if f"{package}.{name}" in PACKAGES]
    if below:
        lines += ["## Packages", "", *(f"- [`{package}.{name}`]({package}.{name}.md)" for name in below), ""]
    return "\n".join(lines)


def _home(package: str, name: str) -> str:
    """Where a name is described: once, in the first package that lists it; the door only links."""
    found = getattr(importlib.import_module(package), name)
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        return package
    order = [other for other in PACKAGES if other != "holdfast"]
    earlier = order if package == "holdfast" else order[: order.index(package)]
    for other in earlier:
        if name in importlib.import_module(other).__all__ and getattr(importlib.import_module(other), name) is found:
            return other
    return package


def _index() -> str:
    lines = ["# API reference", "", ABOUT, ""]
    lines += ["| package | what it is |", "|---|---|"]
    lines += [f"| [`{package}`]({package}.md) | {about} |" for package, about in PACKAGES.items()]
    lines += ["", "```{toctree}", ":hidden:", "", *PACKAGES, "```", ""]
    return "\n".join(lines)
