"""Draws the pictures of the page "The idea in pictures" and of the README, from real runs of the library.

    python docs/idea_pictures.py     # draws docs/_static/leaderboard.svg anew; needs the public data (HOLDFAST_DATA)

The other pictures need no data and are drawn whenever the site is built.
"""

import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import numpy as np

import holdfast as hf
from holdfast.bounds import one_question

HERE = Path(__file__).parent
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c2733}.small{font-size:11px;fill:#46566a}.title{font-weight:600}"
    ".paper{fill:#ffffff}.axis{stroke:#b8c4ce;stroke-width:1;fill:none}"
    ".board{stroke:#b3541e;stroke-width:2;fill:none}.truth{stroke:#1f5a7a;stroke-width:2;fill:none}"
    ".band{fill:#e8b48f;opacity:.45}.good{stroke:#1f5a7a;stroke-width:3}.bad{stroke:#b3541e;stroke-width:3}"
    ".dash{stroke:#46566a;stroke-width:1.2;stroke-dasharray:4 3;fill:none}.fill{fill:#1f5a7a}.wrong{fill:#b3541e}"
)


def _svg(width: int, height: int, parts: Sequence[str], label: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    paper = f'<rect class="paper" width="{width}" height="{height}" rx="6"/>'
    return f"{head}<title>{escape(label)}</title><style>{STYLE}</style>{paper}{''.join(parts)}</svg>\n"


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<path class="{kind}" d="M {" L ".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


class Panel:
    """A frame with axes: data coordinates on the left, places in the picture on the right."""

    def __init__(self, left: float, width: float, xs: tuple[float, float], ys: tuple[float, float]) -> None:
        self.left, self.width, self.xs, self.ys = left, width, xs, ys
        self.top, self.height = 46.0, 190.0

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.xs[0]) / (self.xs[1] - self.xs[0])
        up = (y - self.ys[0]) / (self.ys[1] - self.ys[0])
        return self.left + across * self.width, self.top + (1 - up) * self.height

    def frame(self, title: str, ticks: Sequence[float], show: Callable[[float], str], below: str) -> list[str]:
        parts = [_text(self.left, 26, title, "title")]
        for tick in ticks:
            _, y = self.at(self.xs[0], tick)
            parts.append(f'<path class="axis" d="M {self.left:.1f} {y:.1f} h {self.width:.1f}"/>')
            parts.append(_text(self.left - 6, y + 4, show(tick), "small", "end"))
        middle = self.left + self.width / 2
        return [*parts, _text(middle, self.top + self.height + 20, below, "small", "middle")]


# --- The leaderboard --------------------------------------------------------------------------------------------------


def climbs() -> dict[str, np.ndarray]:
    """The climb of the notebook `your-leaderboard-is-lying`, on a plain and on a guarded board, from its own code."""
    source = (HERE / "notebooks" / "your-leaderboard-is-lying.py").read_text().partition("# Believed and true")[0]
    names: dict = {}
    exec(compile(source.rpartition("# %% [markdown]")[0], "your-leaderboard-is-lying", "exec"), names)
    value, low, high = np.array(names["told"]).T
    return {
        "believed": np.array(names["believed"]),
        "true": np.array(names["true"]),
        "guarded": value,
        "low": low,
        "high": high,
        "guarded true": np.array(names["guarded_true"]),
    }


def leaderboard_svg(paths: dict[str, np.ndarray]) -> str:
    steps = len(paths["believed"])
    left, right = (Panel(place, 290, (0, steps), (0.88, 1.0)) for place in (56, 412))

    def percent(value: float) -> str:
        return f"{100 * value:.0f}%"

    ticks = (0.88, 0.92, 0.96, 1.0)
    below = f"{steps} submissions that know nothing but their scores"
    parts = left.frame("A plain leaderboard", ticks, percent, below) + right.frame(
        "The same climb, guarded", ticks, percent, below
    )

    def points(panel: Panel, name: str) -> list[tuple[float, float]]:
        return [panel.at(i, y) for i, y in enumerate(paths[name]) if np.isfinite(y)]

    upper, lower = points(right, "high"), points(right, "low")
    band = [*upper, *reversed(lower)]
    top = right.top  # the interval may end above the highest line of the picture
    clipped = " L ".join(f"{x:.1f} {min(max(y, top), top + right.height):.1f}" for x, y in band)
    parts.append(f'<path class="band" d="M {clipped} Z"/>')
    parts += [_line(points(left, "believed"), "board"), _line(points(left, "true"), "truth")]
    parts += [_line(points(right, "guarded"), "board"), _line(points(right, "guarded true"), "truth")]
    x, y = left.at(steps, paths["believed"][-1])
    parts.append(_text(x - 6, y - 8, f"the leaderboard shows {100 * paths['believed'][-1]:.1f}%", "", "end"))
    x, y = left.at(steps, paths["true"][-1])
    parts.append(_text(x - 6, y + 20, f"true: {100 * paths['true'][-1]:.1f}%", "", "end"))
    x, y = right.at(steps, paths["guarded true"][-1])
    parts.append(_text(x - 6, y + 20, "true, inside the shown interval", "", "end"))
    return _svg(
        720, 272, parts, "A plain leaderboard climbs away from the truth, a guarded one keeps it in its interval"
    )


# --- The price of guesses ---------------------------------------------------------------------------------------------


def prices(counts: Sequence[int] = (0, 10, 50, 100)) -> dict[str, list[float]]:
    """The half-width of the next interval after so many right, or wrong, guesses: 10,000 rows, 1,000 questions."""
    rng = np.random.default_rng(3)
    found: dict[str, list[float]] = {"right": [], "wrong": []}
    for name, guess in (("right", 0.8), ("wrong", 0.5)):
        holdout = hf.ReusableHoldout(n=10_000, questions=1_000)
        for asked in range(max(counts) + 1):
            values = rng.permutation(np.arange(10_000) < 8_000)
            answer = holdout.check(values, guess)
            if asked in counts:
                found[name].append(float(answer.half_width))
    return found


def prices_svg() -> str:
    counts = tuple(range(0, 101, 10))
    found = prices(counts)
    panel = Panel(60, 520, (0, 100), (0.0, 0.25))
    parts = panel.frame(
        "Half-width of the next interval: 10,000 rows, 1,000 questions",
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25),
        lambda value: f"{value:.2f}",
        "checks made so far",
    )
    for name, kind, words in (("right", "truth", "every guess right"), ("wrong", "board", "every guess wrong")):
        parts.append(_line([panel.at(x, y) for x, y in zip(counts, found[name], strict=True)], kind))
        x, y = panel.at(100, found[name][-1])
        parts.append(_text(x + 6, y + 4, words, "small"))
    return _svg(720, 272, parts, "Right guesses keep intervals narrow; every wrong one widens all later ones")


# --- One check --------------------------------------------------------------------------------------------------------


def check_svg() -> str:
    """One check that passes and one that fails, from real answers; the parts appear one after the other."""
    parts = []
    values = np.arange(10_000) < 8_040
    holdout = hf.ReusableHoldout(n=10_000, questions=1_000)
    for row, guess in enumerate((0.81, 0.95)):
        before = holdout.least_tolerance(guess)
        answer = holdout.check(values, guess)
        top = 30 + 120 * row

        def x(value: float) -> float:
            return 40 + (value - 0.7) / 0.3 * 640

        parts.append(_text(40, top, f"Your estimate is {guess}, from other rows", "title"))
        parts.append(f'<path class="axis" d="M 40 {top + 40} H 680"/>')
        for tick in (0.7, 0.8, 0.9, 1.0):
            parts.append(_text(x(tick), top + 58, f"{tick:.1f}", "small", "middle"))
        low, high = answer.interval
        ends = (low, high) if answer.passed else (guess - 2.5 * before, guess + 2.5 * before)
        edges = [min(max(x(end), 40), 680) for end in ends]
        band = f'<rect class="band" x="{edges[0]:.1f}" y="{top + 30}" width="{edges[1] - edges[0]:.1f}" height="20"/>'
        parts.append(band)
        parts.append(f'<path class="dash" d="M {x(guess):.1f} {top + 22} v 34"/>')
        kind = "good" if answer.passed else "bad"
        said = (
            f"passed: the population value is within [{low:.3f}, {high:.3f}]; later intervals stay as they were"
            if answer.passed
            else f"failed: corrected to {answer.value:.3f} in [{low:.3f}, {high:.3f}]; {answer.price}"
        )
        line = f'<path class="{kind}" d="M {x(low):.1f} {top + 40} H {x(high):.1f}"/>'
        words = _text(40, top + 82, said)
        fade = f'<animate attributeName="opacity" values="0;0;1;1" keyTimes="0;{0.2 + 0.3 * row};{0.3 + 0.3 * row};1"'
        parts.append(f'<g>{line}{words}{fade} dur="6s" repeatCount="indefinite"/></g>')
    return _svg(720, 262, parts, "One check passes and confirms the estimate; another fails and is corrected")


# --- Trees ------------------------------------------------------------------------------------------------------------


def trees_svg() -> str:
    """What an analyst may do after answers: a branch for each value that can be returned, or a pass and a failure."""

    def tree(left: float, branches: Callable[[int], int], depth: int, kind: str, title: str, words: str) -> list[str]:
        parts = [_text(left, 26, title, "title"), _text(left, 252, words, "small")]
        level = [(left + 140.0, 46.0, 280.0)]
        for _ in range(depth):
            following = []
            for x, y, room in level:
                count = branches(len(following))
                for place in range(count):
                    child = x + room * ((place + 0.5) / count - 0.5), y + 180 / depth, room / count
                    parts.append(_line([(x, y), child[:2]], kind))
                    following.append(child)
            level = following
        return parts

    thick = tree(30, lambda _: 6, 3, "board", "Numbers are returned", "6 values, 3 questions: 216 possible runs")
    # All checks pass on the left; each failure goes to the right, and here at most one of them fails.
    thin = [_text(400, 26, "Pass or fail is returned", "title")]
    thin.append(_text(400, 252, "3 checks, at most one of them fails: 4 possible runs", "small"))
    thin.append(_line([(440, 46), (440, 226)], "truth"))
    for step in range(3):
        thin.append(_line([(440, 46 + 60 * step), (500 + 50 * (2 - step), 106 + 60 * step)], "board"))
        thin.append(_line([(500 + 50 * (2 - step), 106 + 60 * step), (500 + 50 * (2 - step), 226)], "truth"))
    return _svg(720, 272, [*thick, *thin], "A thick tree of returned numbers, and a thin one of passes and failures")


# --- Marginal and simultaneous ----------------------------------------------------------------------------------------


def coverage() -> dict[str, list[tuple[float, float, bool]]]:
    """Twenty means of 1,000 coins each: intervals at 95% for each one, and at 95% for all together."""
    rng = np.random.default_rng(1)
    counts = rng.binomial(1000, 0.5, size=20)
    found: dict[str, list[tuple[float, float, bool]]] = {}
    for name, beta in (("each", 0.05), ("all", 0.05 / 20)):
        rows = []
        for count in counts:
            low, high = one_question.clopper_pearson(int(count), 1000, math.log(beta))
            rows.append((low, high, low <= 0.5 <= high))
        found[name] = rows
    return found


def coverage_svg() -> str:
    parts = []
    found = coverage()
    for left, name, title in ((40, "each", "95% for each interval"), (400, "all", "95% for all of them together")):

        def x(value: float, left: float = left) -> float:
            return left + (value - 0.42) / 0.16 * 280

        missed = sum(not holds for *_, holds in found[name])
        parts.append(_text(left, 26, title, "title"))
        parts.append(f'<path class="dash" d="M {x(0.5):.1f} 38 V 238"/>')
        for row, (low, high, holds) in enumerate(found[name]):
            kind = "good" if holds else "bad"
            parts.append(f'<path class="{kind}" d="M {x(low):.1f} {44 + 10 * row} H {x(high):.1f}"/>')
        parts.append(_text(left, 258, f"{missed} of 20 miss the true value, 0.5", "small"))
    return _svg(720, 272, parts, "Twenty intervals that hold one by one, and twenty that hold all together")


PICTURES = {"prices": prices_svg, "check": check_svg, "trees": trees_svg, "coverage": coverage_svg}


def write_idea_pictures(folder: Path) -> None:
    for name, draw in PICTURES.items():
        (folder / f"idea-{name}.svg").write_text(draw())


if __name__ == "__main__":
    paths = climbs()
    (HERE / "_static" / "leaderboard.svg").write_text(leaderboard_svg(paths))
    print(f"the leaderboard shows {100 * paths['believed'][-1]:.1f}%, true {100 * paths['true'][-1]:.1f}%")
