"""Finished experiments, kept: an outcome is used again while code, settings and data are the same.

Below the folder of the results, `.kept/NAME-quick-1-0123456789abcdef/` holds the files of one run. The name ends with a
fingerprint of all that the outcome depends on. A run appears there whole or not at all, so that whoever is killed and
starts again loses what was under way and nothing else. Deleting the folder forgets everything.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from holdfast import __version__
from holdfast.cli.output import can_plot
from holdfast.core.strict_json import to_canonical_json, to_json
from holdfast_papers.output import write
from holdfast_papers.real_data import folder as data_folder
from holdfast_papers.registry import Experiment, Outcome, Settings
from holdfast_papers.sources import sources

FOLDER = ".kept"
_RUN = "run.json"


@dataclass(frozen=True)
class Entry:
    """The files of a finished run, how long it took, and what was left out of it."""

    folder: Path
    files: tuple[str, ...]
    seconds: float
    note: str

    @property
    def result(self) -> dict[str, Any]:
        """What `result.json` holds."""
        plain: dict[str, Any] = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        return plain

    @property
    def outcome(self) -> Outcome:
        """The outcome, less its chart, which is a file by now."""
        return Outcome.from_dict(self.result)

    def copy_to(self, folder: Path) -> tuple[Path, ...]:
        """Put the files where people look for them, each in one step."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.files:
            fresh = folder / f".{os.getpid()}.{name}"
            shutil.copyfile(self.folder / name, fresh)
            fresh.replace(folder / name)
        return tuple(folder / name for name in self.files)


def key(experiment: Experiment, settings: Settings) -> str:
    """A fingerprint of what an outcome depends on: sources, versions, settings, data, and whether plots are drawn."""
    parts = {
        "code": sources(experiment.home or experiment.run.__module__).fingerprint,
        "data": {name: _data_fingerprint(name) for name in experiment.data},
        "name": experiment.name,
        "plots": can_plot(),
        "quick": settings.quick,
        "seed": settings.seed,
        "version": __version__,
    }
    return hashlib.sha256(to_canonical_json(parts).encode()).hexdigest()[:16]


def find(experiment: Experiment, settings: Settings, out: Path) -> Entry | None:
    """The run that is kept, or None."""
    return _read(_place(experiment, settings, out))


def run(experiment: Experiment, settings: Settings, out: Path) -> Entry:
    """Run an experiment and keep what it found; earlier versions of the same run are let go.

    What an experiment raises passes through, and then nothing is kept.
    """
    place = _place(experiment, settings, out)
    began = monotonic()
    outcome = experiment.run(settings)
    fresh = out / FOLDER / f".{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        written = write(experiment, outcome, settings, fresh)
        folder = fresh / experiment.name
        names = [path.name for path in written.files]
        about = {"files": names, "seconds": round(monotonic() - began, 2), "note": written.note}
        (folder / _RUN).write_text(to_json(about) + "\n", encoding="utf-8")
        for old in place.parent.glob(place.name.rpartition("-")[0] + "-*"):
            shutil.rmtree(old, ignore_errors=True)
        folder.replace(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    entry = _read(place)
    assert entry is not None
    return entry


def _place(experiment: Experiment, settings: Settings, out: Path) -> Path:
    kind = "quick" if settings.quick else "full"
    return out / FOLDER / f"{experiment.name}-{kind}-{settings.seed}-{key(experiment, settings)}"


def _read(place: Path) -> Entry | None:
    try:
        about = json.loads((place / _RUN).read_text(encoding="utf-8"))
        entry = Entry(place, tuple(about["files"]), float(about["seconds"]), str(about["note"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return entry if all((place / name).is_file() for name in entry.files) else None


def _data_fingerprint(name: str) -> str:
    """A hash of every file of a data set; "absent" where there is none."""
    files = sorted(path for path in (data_folder() / name).rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"\n{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest() if files else "absent"


__all__ = ["FOLDER", "Entry", "find", "key", "run"]
