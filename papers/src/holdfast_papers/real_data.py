"""Real predictions and correctness matrices: where they lie, and what they hold.

They are not part of the package. The folder is `HOLDFAST_DATA`, or `../shared/data` next to the working directory.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import GuaranteeUnavailable

Right = NDArray[np.bool_]
CIFAR = "cifar10-model-predictions"
MMLU = "mmlu-pro-correctness"


class DataAbsent(GuaranteeUnavailable):
    """The data files of an experiment are not there, so it shows nothing."""


@dataclass(frozen=True)
class Cifar:
    """Which model is right on which image: one row a model, one column an image."""

    models: tuple[str, ...]
    old: Right
    fresh: Right


@dataclass(frozen=True)
class Mmlu:
    """Which model is right on which question: one row a model; `category` and `question` of each column."""

    models: tuple[str, ...]
    right: Right
    category: NDArray[np.intp]
    categories: tuple[str, ...]
    question: NDArray[np.intp]
    left_out: int


def folder() -> Path:
    """Where the data sets lie."""
    return Path(os.environ.get("HOLDFAST_DATA", "../shared/data"))


def data_file(name: str, file: str) -> Path:
    """Where a file of the data set `name` lies. Raises `DataAbsent` where it is not there."""
    path = folder() / name / file
    if not path.is_file():
        raise DataAbsent(
            f"this experiment needs the data set {name}, and {path} is not there; HOLDFAST_DATA names the folder, "
            "and docs/install.md says where the data are published"
        )
    return path


def load_cifar() -> Cifar:
    """Predicted classes of 30 published models on the CIFAR-10 test set and on the 2,000 images of CIFAR-10.1 v6."""
    models, old = _predictions("cifar10_test.csv")
    others, fresh = _predictions("cifar10.1_v6.csv")
    if models != others:
        raise DataAbsent(f"the two files of {CIFAR} must have the same models in the same order")
    return Cifar(models, old, fresh)


def load_mmlu() -> Mmlu:
    """The 29 models of the MMLU-Pro matrix on the questions that every model was given.

    1 is right; 0 is wrong; -1, no answer could be extracted, counts as wrong. A question that is empty for some model,
    because it is missing in its file, is left out for all, so that every router answers every question.
    """
    with _open(MMLU, "mmlu_pro_correctness.csv") as file:
        header, *lines = csv.reader(file)
    complete = [line for line in lines if all(line[3:])]
    categories = tuple(sorted({line[1] for line in complete}))
    return Mmlu(
        tuple(header[3:]),
        np.array([[cell == "1" for cell in line[3:]] for line in complete]).T.copy(),
        np.array([categories.index(line[1]) for line in complete]),
        categories,
        np.array([int(line[0]) for line in complete]),
        len(lines) - len(complete),
    )


def _predictions(name: str) -> tuple[tuple[str, ...], Right]:
    with _open(CIFAR, name) as file:
        models = tuple(file.readline().strip().split(",")[1:])
        table = np.loadtxt(file, delimiter=",", dtype=np.int8, ndmin=2)
    return models, (table[:, 1:] == table[:, :1]).T.copy()


def _open(name: str, file: str) -> TextIO:
    return data_file(name, file).open(newline="", encoding="utf-8")


__all__ = ["CIFAR", "MMLU", "Cifar", "DataAbsent", "Mmlu", "Right", "data_file", "folder", "load_cifar", "load_mmlu"]
