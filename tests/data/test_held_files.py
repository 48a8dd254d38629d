"""Small CSV files are parsed once; whether they are makes no difference to any answer, nor to a file that changes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pytest

import holdfast as hf
from holdfast.data.engines import polars_sample
from holdfast.data.statistics import Count, FixedSum
from holdfast.errors import SampleUnavailable

ASKED = [
    Count("age < 40"),
    Count("city = 'Bern' or age is null"),
    FixedSum("income", 0.0, 9.0, 1.0),
    FixedSum("case when city = 'Chur' then income else age end", 0.0, 90.0, 0.0),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Some rows, with empty cells."""
    random = Random(5)
    lines = ["age,income,city"]
    for _ in range(500):
        age = random.choice(["", str(random.randint(18, 90))])
        lines.append(f"{age},{random.random() * 10:.3f},{random.choice(['Bern', 'Chur', ''])}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_held_and_streamed_rows_answer_alike(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hf.data.table(file) as held:
        found = held.measure(ASKED)
        with monkeypatch.context() as patch:
            patch.setattr(polars_sample, "HELD", 0)
            with hf.data.table(file) as streamed:
                assert streamed.measure(ASKED) == found
                assert streamed.fingerprint() == held.fingerprint()
        monkeypatch.setattr(polars_sample, "SMALL", 0)
        with hf.data.table(file) as large:
            assert large.measure(ASKED) == found


def test_rows_that_are_held_are_gone_when_their_file_changes(file: Path) -> None:
    with hf.data.table(file) as held:
        held.measure(ASKED)
        file.write_text(file.read_text() + "50,1.0,Bern\n")
        with pytest.raises(SampleUnavailable):
            held.measure(ASKED)


def test_only_small_csv_files_are_held_and_of_them_what_is_declared(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.read_csv(file)
    frame.write_parquet(file.with_suffix(".parquet"))

    def how(source: object) -> str:
        with hf.data.table(source) as sample:
            assert isinstance(sample, polars_sample.PolarsSample)
            return "batches" if sample._frame is None else sample._how

    assert how(file) == how(frame) == "in-memory"
    assert how(file.with_suffix(".parquet")) == "streaming"
    with hf.data.table(file, schema={"age": "number"}) as some:
        assert isinstance(some, polars_sample.PolarsSample)
        assert some._frame is not None
        assert some._frame.collect_schema().names() == ["age"]
        with hf.data.table(frame) as whole:
            assert some.measure(ASKED[:1]) == whole.measure(ASKED[:1])
    monkeypatch.setattr(polars_sample, "SMALL", frame.height)
    assert how(file) == "in-memory"
    monkeypatch.setattr(polars_sample, "SMALL", frame.height - 1)
    assert how(file) == how(frame) == "streaming"
    monkeypatch.setattr(polars_sample, "SMALL", frame.height)
    monkeypatch.setattr(polars_sample, "HELD", file.stat().st_size)
    assert how(file) == "in-memory"
    monkeypatch.setattr(polars_sample, "HELD", file.stat().st_size - 1)
    assert how(file) == "batches"
    assert how(frame) == "in-memory"
