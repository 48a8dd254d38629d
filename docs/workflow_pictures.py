"""Draws one run before and after its end, and the final of a run with and without a reserve, from the library itself.

The run is the one that explore-then-finish.md plays, with the same numbers. The truth is known, because the rows are
simulated.
"""

from html import escape
from pathlib import Path

import numpy as np

import holdfast as hf
from holdfast.holdout.planning.workflows import workflow

WIDTH, LEFT, RIGHT, LINE = 720, 84, 16, 26
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c2733}.small{font-size:11px;fill:#46566a}"
    ".shown{fill:#c9dbe6}.exact{fill:#1f5a7a}.failed{fill:#e8b48f}.guess{stroke:#46566a;stroke-width:1.6}"
    ".truth{stroke:#b3541e;stroke-width:1.8;fill:none}.axis{stroke:#b8c4ce;stroke-width:1}"
    ".line{stroke:#1f5a7a;stroke-width:2;fill:none}.other{stroke:#b3541e;stroke-width:2;fill:none;"
    "stroke-dasharray:6 4}.dot{fill:#fff}"
)
FINALISTS = ("model 8", "model 9", "model 10")


def play() -> tuple[dict[str, float], dict[str, float], list, object]:
    """The run of the page: truths, guesses, what was shown, and the final."""
    rng = np.random.default_rng(19)
    truth = {f"model {k}": accuracy for k, accuracy in enumerate(np.linspace(0.805, 0.85, 10), 1)}
    right = {name: rng.random(3000) < accuracy for name, accuracy in truth.items()}
    guesses = {name: rng.binomial(1000, accuracy) / 1000 for name, accuracy in truth.items()}
    guesses["model 4"] = 0.95
    holdout = hf.ReusableHoldout(n=3000, questions=100)
    shown = [holdout.check(right[name], guesses[name], guess_rows=1000) for name in right]
    return truth, guesses, shown, holdout.final({name: right[name] for name in FINALISTS})


def run_svg() -> str:
    """What was shown while exploring (wide, pale) and what the end shows of the same questions (narrow, dark)."""
    truth, guesses, shown, result = play()
    low, high = 0.65, 1.0

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    lines = len(truth) + 1 + len(FINALISTS)
    bottom = 30 + lines * LINE
    parts = []
    for tick in (0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0):
        parts.append(f'<path class="axis" d="M {x(tick):.1f} 24 V {bottom}"/>')
        parts.append(f'<text class="small" x="{x(tick):.1f}" y="16" text-anchor="middle">{tick:g}</text>')

    def bar(y: float, ends: tuple[float, float], kind: str, height: float) -> str:
        start, end = x(ends[0]), x(ends[1])
        top = y - height / 2
        return (
            f'<rect class="{kind}" x="{start:.1f}" y="{top:.1f}" width="{end - start:.1f}" height="{height}" rx="3"/>'
        )

    def mark(y: float, value: float, real: float) -> list[str]:
        diamond = f"M {x(real):.1f} {y - 6:.1f} l 5 6 l -5 6 l -5 -6 z"
        return [
            f'<circle class="dot" cx="{x(value):.1f}" cy="{y:.1f}" r="2.4"/>',
            f'<path class="truth" d="{diamond}"/>',
        ]

    for place, (name, answer, exact) in enumerate(zip(truth, shown, result.revealed, strict=True)):
        y = 42 + place * LINE
        parts.append(f'<text x="0" y="{y + 4}">{escape(name)}</text>')
        parts.append(bar(y, answer.interval, "shown" if answer.passed else "failed", 18))
        parts.append(bar(y, exact.interval, "exact", 8))
        parts.append(f'<path class="guess" d="M {x(guesses[name]):.1f} {y - 9} v 18"/>')
        parts += mark(y, exact.value, truth[name])
    y = 42 + len(truth) * LINE
    parts.append(f'<text class="small" x="0" y="{y + 4}">the final</text>')
    for place, name in enumerate(FINALISTS, 1):
        parts.append(f'<text x="0" y="{y + place * LINE + 4}">{escape(name)}</text>')
        parts.append(bar(y + place * LINE, result.interval[name], "exact", 8))
        parts += mark(y + place * LINE, result.values[name], truth[name])
    legend = (
        ('<rect class="shown" x="0" y="-9" width="22" height="14" rx="3"/>', "shown: passed", 0),
        ('<rect class="failed" x="0" y="-9" width="22" height="14" rx="3"/>', "shown: failed", 140),
        ('<rect class="exact" x="0" y="-6" width="22" height="8" rx="3"/>', "after the end", 276),
        ('<path class="guess" d="M 11 -11 v 18"/>', "guess", 410),
        ('<path class="truth" d="M 11 -8 l 5 6 l -5 6 l -5 -6 z"/>', "truth", 490),
    )
    for drawing, words, start in legend:
        parts.append(
            f'<g transform="translate({LEFT + start} {bottom + 24})">{drawing}<text x="30" y="3">{words}</text></g>'
        )
    return _svg("One run while it explored, and after its end", bottom + 40, parts)


def reserve_svg() -> str:
    """Half-width of a final after 1,000 checks on 10,000 rows, by the number of failed checks."""
    counts = range(6)
    plans = [workflow("checks", n=10_000, questions=1000, failures=failures).more for failures in counts]
    top, bottom, most = 24, 240, 0.04

    def at(failures: float, width: float) -> str:
        across = LEFT + failures / 5 * (WIDTH - LEFT - 150)
        return f"{across:.1f} {bottom - width / most * (bottom - top):.1f}"

    parts = []
    for tick in (0.0, 0.01, 0.02, 0.03, 0.04):
        place = at(0, tick)
        parts.append(f'<path class="axis" d="M {place} H {WIDTH - 150}"/>')
        height = float(place.split()[1]) + 4
        parts.append(f'<text class="small" x="{LEFT - 8}" y="{height:.1f}" text-anchor="end">{tick:g}</text>')
    for failures in counts:
        across = at(failures, 0).split()[0]
        parts.append(f'<text class="small" x="{across}" y="{bottom + 18}" text-anchor="middle">{failures}</text>')
    parts.append(f'<text class="small" x="{LEFT}" y="{bottom + 38}">failed checks before the final</text>')
    parts.append(f'<text class="small" x="{LEFT}" y="{top - 10}">half-width of the final</text>')
    for name, kind, words in (
        ("final_on_all_rows", "line", "all rows"),
        ("final_on_a_reserve", "other", "half reserved"),
    ):
        points = [at(failures, plan[name]) for failures, plan in zip(counts, plans, strict=True)]
        parts.append(f'<path class="{kind}" d="M {" L ".join(points)}"/>')
        across, height = points[-1].split()
        parts.append(f'<text x="{float(across) + 10:.1f}" y="{float(height) + 4:.1f}">{words}</text>')
    return _svg("The final after failed checks, with and without a reserve", bottom + 48, parts)


def write_workflow_pictures(folder: Path) -> None:
    """Both pictures, next to the page that shows them."""
    for name, text in (("workflow-run.svg", run_svg()), ("workflow-reserve.svg", reserve_svg())):
        path = folder / name
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def _svg(title: str, height: float, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -2 {WIDTH + 8} {height + 4}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f'<rect x="-4" y="-2" width="{WIDTH + 8}" height="{height + 4}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
