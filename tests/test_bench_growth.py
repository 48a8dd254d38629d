"""The benchmark of growth: it finds what does not grow in a line, and draws what it measured."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from benchmarks import bench_growth
from benchmarks.bench_growth import Series, picture

from holdfast.data import table


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"FEWEST_ROWS": 20, "FEWEST_QUESTIONS": 2, "FEWEST_COLUMNS": 3, "ASKED": 2, "ASKED_ROWS": 30}
    for name, size in sizes.items():
        monkeypatch.setattr(bench_growth, name, size)
    monkeypatch.setattr(bench_growth, "TIMES", (1, 2))


@pytest.mark.usefixtures("small")
def test_every_series_is_measured_at_its_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[int]()

    def counted(*arguments: object, **named: object) -> object:
        sample = table(*arguments, **named)  # type: ignore[arg-type]
        opened.append(sample.n)
        return sample

    monkeypatch.setattr(bench_growth, "table", counted)
    found = bench_growth.measured()
    assert {over: [one.sizes for one in lines] for over, lines in found.items()} == {
        "rows": [[20, 40]] * 3,
        "questions": [[2, 4]] * 2,
        "columns": [[3, 6]] * 2,
    }
    assert all(seconds > 0 for lines in found.values() for one in lines for seconds in one.seconds)
    assert set(opened) == {20, 40, 30, bench_growth.COLUMNS_ROWS}
    drawn = ET.fromstring(picture(found))
    assert len([path for path in drawn.iter() if path.get("stroke")]) == 2 * sum(map(len, found.values()))


@pytest.mark.parametrize(("last", "ok"), [(1.6, True), (2.4, True), (2.6, False), (25.6, False)])
def test_what_grows_faster_than_a_line_fails(monkeypatch: pytest.MonkeyPatch, last: float, ok: bool) -> None:
    monkeypatch.setattr(bench_growth, "TIMES", (1, 16))
    found = {"rows": [Series("a scan", [10, 160], [0.1, last])]}
    monkeypatch.setattr(bench_growth, "measured", lambda: found)
    assert [row.ok for row in bench_growth.rows()] == [ok]
