"""How the time of a sample grows with rows, questions and columns: `python -m benchmarks.bench_growth` draws it.

Processor seconds of this process and its threads, the least of a few rounds that are taken in turn.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from html import escape
from math import log10
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import polars as pl

from benchmarks.bench_engines import questions, rows_of
from benchmarks.timing import Row, in_turn
from holdfast.data import table
from holdfast.data.statistics import FixedSum
from holdfast.data.tables import Engine

ENGINES: tuple[Engine, ...] = ("polars", "duckdb")
TIMES = (1, 2, 4, 8, 16)
FEWEST_ROWS, FEWEST_QUESTIONS, FEWEST_COLUMNS = 125_000, 64, 256
ASKED, ASKED_ROWS, COLUMNS_ROWS = 32, 200_000, 2_000
FACTOR = 1.5
"""How far beyond a straight line the last point may lie."""
PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "growth.svg"

Run = Callable[[], object]


class Series(NamedTuple):
    """Processor seconds of one kind of work at each size."""

    what: str
    sizes: list[int]
    seconds: list[float]

    @property
    def growth(self) -> float:
        """How many times longer the largest takes than the smallest."""
        return self.seconds[-1] / self.seconds[0]


def rows() -> list[Row]:
    most = FACTOR * TIMES[-1]
    return [
        Row(
            f"{one.what}: {one.sizes[-1]:,} {over}",
            one.seconds[-1],
            f"{one.sizes[0]:,}",
            one.seconds[0],
            f"at most {most:g} times as long for {TIMES[-1]} times as many",
            one.growth <= most,
            f"{one.growth:.1f} times",
        )
        for over, found in measured().items()
        for one in found
    ]


def measured() -> dict[str, list[Series]]:
    """Every series, by what grows."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"HOLDFAST_CACHE": ""}):
        place = Path(folder)
        return {"rows": _rows(place), "questions": _questions(place), "columns": _columns(place)}


def _rows(folder: Path) -> list[Series]:
    frame, asked = rows_of(FEWEST_ROWS * TIMES[-1]), questions(ASKED)
    sizes = [FEWEST_ROWS * times for times in TIMES]
    paths = [folder / f"{size}.parquet" for size in sizes]
    for size, path in zip(sizes, paths, strict=True):
        frame.head(size).write_parquet(path)
    found = []
    for engine in ENGINES:
        samples = [table(path, engine=engine) for path in paths]
        works: list[Run] = [lambda sample=sample: sample.measure(asked) for sample in samples]  # type: ignore[misc]
        found.append(Series(f"{ASKED} questions, {engine}", sizes, in_turn(*works, rounds=2)))
    works = [lambda path=path: table(path).fingerprint() for path in paths]  # type: ignore[misc]
    return [*found, Series("fingerprint", sizes, in_turn(*works, rounds=2))]


def _questions(folder: Path) -> list[Series]:
    path, sizes, found = folder / "questions.parquet", [FEWEST_QUESTIONS * times for times in TIMES], []
    rows_of(ASKED_ROWS).write_parquet(path)
    for engine in ENGINES:
        with table(path, engine=engine) as sample:
            works: list[Run] = [lambda n=size, sample=sample: sample.measure(questions(n)) for size in sizes]  # type: ignore[misc]
            found.append(Series(f"{ASKED_ROWS:,} rows, {engine}", sizes, in_turn(*works, rounds=2)))
    return found


def _columns(folder: Path) -> list[Series]:
    random, sizes, found = np.random.default_rng(5), [FEWEST_COLUMNS * times for times in TIMES], []
    frame = pl.DataFrame({f"c{at}": random.random(COLUMNS_ROWS) for at in range(sizes[-1])})
    for size in sizes:
        frame.select(frame.columns[:size]).write_parquet(folder / f"wide-{size}.parquet")

    def opened_and_asked(size: int, engine: Engine) -> None:
        with table(folder / f"wide-{size}.parquet", engine=engine) as sample:
            sample.measure([FixedSum(f"c{at}") for at in range(size)])

    for engine in ENGINES:
        works: list[Run] = [lambda size=size, engine=engine: opened_and_asked(size, engine) for size in sizes]  # type: ignore[misc]
        found.append(Series(f"opened and asked about, {engine}", sizes, in_turn(*works, rounds=2)))
    return found


# --- Picture ----------------------------------------------------------------------------------------------------------

_SIDE, _GAP, _TOP = 190, 76, 44
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1c2733}.small{font-size:10px;fill:#46566a}"
    ".axis{stroke:#b8c4ce;stroke-width:1;fill:none}.straight{stroke:#b8c4ce;stroke-width:1.4;stroke-dasharray:5 4}"
    ".line{fill:none;stroke-width:2}"
)
_COLOURS = ("#1f5a7a", "#b3541e", "#5b7a1f")


def picture(found: dict[str, list[Series]]) -> str:
    """One panel for each thing that grows, both axes in powers of ten; the broken line grows as the sizes do."""
    parts = []
    for place, (over, lines) in enumerate(found.items()):
        left = 40 + place * (_SIDE + _GAP)
        low = min(min(line.seconds) for line in lines)
        first, tall = lines[0].sizes[0], log10(max(max(line.seconds) for line in lines) / low)
        wide = log10(lines[0].sizes[-1] / first)
        tall = max(tall, wide)

        def at(
            size: float,
            seconds: float,
            left: float = left,
            low: float = low,
            first: int = first,
            w: float = wide,
            t: float = tall,
        ) -> str:
            return f"{left + log10(size / first) / w * _SIDE:.1f} {_TOP + _SIDE - log10(seconds / low) / t * _SIDE:.1f}"

        parts.append(f'<text x="{left}" y="{_TOP - 24}">{over}</text>')
        parts.append(f'<path class="axis" d="M {left} {_TOP} v {_SIDE} h {_SIDE}"/>')
        parts.append(f'<path class="straight" d="M {at(first, low)} L {at(lines[0].sizes[-1], low * TIMES[-1])}"/>')
        for size in lines[0].sizes:
            across = at(size, low).split()[0]
            parts.append(
                f'<text class="small" x="{across}" y="{_TOP + _SIDE + 16}" text-anchor="middle">{_short(size)}</text>'
            )
        for seconds in (low, low * 10**tall):
            down = float(at(first, seconds).split()[1]) + 4
            parts.append(f'<text class="small" x="{left - 6}" y="{down:.1f}" text-anchor="end">{seconds:.2g} s</text>')
        for line, colour in zip(lines, _COLOURS, strict=False):
            points = " L ".join(at(size, seconds) for size, seconds in zip(line.sizes, line.seconds, strict=True))
            parts.append(f'<path class="line" stroke="{colour}" d="M {points}"/>')
        for below, (line, colour) in enumerate(zip(lines, _COLOURS, strict=False)):
            down = _TOP + _SIDE + 36 + below * 16
            parts.append(f'<path class="line" stroke="{colour}" d="M {left} {down - 4} h 18"/>')
            parts.append(f'<text class="small" x="{left + 24}" y="{down}">{escape(line.what)}</text>')
    width, height = 40 + len(found) * (_SIDE + _GAP), _TOP + _SIDE + 80
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -2 {width + 8} {height}" role="img">'
        f"<title>Processor seconds by rows, questions and columns</title><style>{_STYLE}</style>"
        f'<rect x="-8" y="-2" width="{width + 8}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _short(size: int) -> str:
    return f"{size / 1e6:g} M" if size >= 1_000_000 else f"{size:,}"


def main() -> None:
    """Print every series and draw the picture of docs/scale.md."""
    found = measured()
    for over, lines in found.items():
        for line in lines:
            print(f"{over}, {line.what}: {line.growth:.1f} times as long for {TIMES[-1]} times as many")
            print(
                ", ".join(f"{size:,} {seconds:.3f} s" for size, seconds in zip(line.sizes, line.seconds, strict=True))
            )
    PICTURE.write_text(picture(found))


if __name__ == "__main__":
    main()
