"""Every engine reads the same rows and kinds from a file, or every engine refuses it in the same words."""

from __future__ import annotations

import io
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.data import csv_files, table
from holdfast.data.engines import polars_sample
from holdfast.data.statistics import Count, FixedSum
from holdfast.errors import HoldfastError, InvalidParameter, SampleUnavailable

ENGINES: tuple[Any, ...] = ("polars", "duckdb")


COMPARED = {
    "integer": "> 1",
    "number": "> 1",
    "boolean": "= true",
    "text": "= ''",
    "date": "> date '2020-12-31'",
    "timestamp": "> timestamp '2020-12-31 12:00:00'",
    "timestamptz": "> timestamptz '2020-12-31 12:00:00Z'",
}


def read(path: Path, schema: Any = None) -> tuple[Any, ...]:
    """What a file is for every engine: schema, rows and statistics, or the refusal."""
    found = []
    for engine in ENGINES:
        try:
            with table(path, engine=engine, schema=schema) as sample:
                asked = [Count(f'"{column.name}" is null') for column in sample.schema]
                asked += [Count(f'"{column.name}" {COMPARED[column.kind]}') for column in sample.schema]
                found.append((sample.schema, sample.n, sample.fingerprint(), tuple(map(tuple, sample.measure(asked)))))
        except HoldfastError as error:
            found.append((type(error), str(error), error.__context__ is None or error.__suppress_context__))
    assert len(set(found)) == 1, found
    return found[0]


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def same(folder: Path, content: str | bytes, columns: dict[str, Any], schema: Any = None) -> None:
    """Read by every engine as these columns."""
    kind, n, fingerprint, _ = read(written(folder, content), schema)
    held = table(columns, schema=kind)
    assert (kind, n, fingerprint) == (held.schema, held.n, held.fingerprint())


def refused(folder: Path, content: str | bytes, said: str, schema: Any = None) -> None:
    kind, words, hidden = read(written(folder, content), schema)
    assert issubclass(kind, HoldfastError)
    assert said in words
    assert "rows.csv" in words
    assert "secret" not in words
    assert hidden


def test_lines_with_a_number_sign_are_rows(tmp_path: Path) -> None:
    same(tmp_path, "s,x\n#a,1\n# b,2\n", {"s": ["#a", "# b"], "x": [1, 2]})
    refused(tmp_path, "s,x\n# secret\na,1\n", "line 2: there is 1 cell, and the header has 2 names")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_refused(tmp_path: Path, end: str) -> None:
    for lines in (["s,x", "", "a,1"], ["s,x", "a,1", "", "b,2"], ["s,x", "a,1", ""], ["s", "a", "", "b"], ["", "s"]):
        line = lines.index("") + 1
        refused(tmp_path, end.join([*lines, ""]), f"line {line}: is blank; leave blank lines out")
    same(tmp_path, end.join(["s,x", "a,1"]), {"s": ["a"], "x": [1]})  # the last line need not end
    same(tmp_path, f'x,s{end}1,"a\n\nb"{end}', {"x": [1], "s": ["a\n\nb"]})


def test_short_and_long_rows_are_refused(tmp_path: Path) -> None:
    for schema in (None, {"x": "integer"}):
        refused(tmp_path, "x,y\n1,2\n3\n", "line 3: there is 1 cell, and the header has 2 names", schema)
        refused(tmp_path, "x,y\n1,2\n3,4,5\n", "line 3: there are 3 cells, and the header has 2 names", schema)
        refused(tmp_path, 'x,y\n1,"2\n\n3"\n3,4,5\n', "line 5: there are 3 cells", schema)
    refused(tmp_path, "x,y\n" + "1,2\n" * 700_000 + "3\n", "line 700002: there is 1 cell")


def test_titles_above_the_header_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, "People of Bern\nx,y\n1,2\n", "line 2: there are 2 cells, and the header has 1 name")
    refused(tmp_path, "People,,\nx,y,z\n1,2,3\n", "column 2 has none")


def test_numbers_are_written_in_one_way(tmp_path: Path) -> None:
    same(tmp_path, "x,y\n-1,1.5\n007,-2e3\n", {"x": [-1, 7], "y": [1.5, -2000.0]})
    same(tmp_path, "x,y\n1,.5\n,5.\n", {"x": [1, None], "y": [0.5, 5.0]})
    same(tmp_path, "x,y\n+1,nan\n2,-Inf\n", {"x": [1.0, 2.0], "y": [float("nan"), float("-inf")]})
    for cell in ("1_000", "1 000", " 1", "1 ", "0x1F", "1e", "--1", "1.2.3", "1,5".replace(",", ";"), "nan(1)", "١"):
        same(tmp_path, f"x,k\n{cell},1\n2,1\n", {"x": [cell, "2"], "k": [1, 1]})
        for kind, meant in (("integer", "a whole number"), ("number", "a number")):
            refused(tmp_path, f"x,k\n2,1\n{cell},1\n", f"line 3: column 'x' must hold {meant}", {"x": kind})
    refused(tmp_path, "x\n2\n1.0\n", "line 3: column 'x' must hold a whole number", {"x": "integer"})
    refused(tmp_path, 'x,k\n2,1\n"",1\n', "line 3: column 'x' must hold a number", {"x": "number"})


def test_a_declared_integer_column_with_a_fraction_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, "x\n1\n2.5\n2.4\n", "line 3: column 'x' must hold a whole number of 64 bits", {"x": "integer"})
    same(tmp_path, "x\n1\n2.5\n2.4\n", {"x": [1.0, 2.5, 2.4]})


def test_whole_numbers_that_64_bits_do_not_hold_keep_their_digits(tmp_path: Path) -> None:
    same(tmp_path, f"x\n{2**63 - 1}\n{-(2**63)}\n", {"x": [2**63 - 1, -(2**63)]})
    same(tmp_path, f"x\n1\n{2**63}\n", {"x": ["1", str(2**63)]})
    same(tmp_path, f"x\n{2**63}\n1.5\n", {"x": [float(2**63), 1.5]})
    refused(tmp_path, f"x\n1\n{2**63}\n", "line 3: column 'x' must hold a whole number of 64 bits", {"x": "integer"})


def test_true_and_false_are_words(tmp_path: Path) -> None:
    same(tmp_path, "b\ntrue\nFalse\nTRUE\n", {"b": [True, False, True]})
    for cell in ("T", "1", "yes", "tRUE", "t", " true"):
        refused(tmp_path, f"b\ntrue\n{cell}\n", "line 3: column 'b' must hold true or false", {"b": "boolean"})
        same(tmp_path, f"b\ntrue\n{cell}\n", {"b": ["true", cell]})
    same(tmp_path, "b\n1\n0\n", {"b": [1, 0]})
    same(tmp_path, "b\nT\nF\n", {"b": ["T", "F"]})


def test_nothing_is_missing_and_quoted_nothing_is_text(tmp_path: Path) -> None:
    same(tmp_path, 's,x\n,1\n"",\nNA,2\n', {"s": [None, "", "NA"], "x": [1, None, 2]})
    same(tmp_path, "s,x\n,1\n,2\n", {"s": [None, None], "x": [1, 2]})
    same(tmp_path, "s,x\n,1\n,2\n", {"s": pl.Series([None, None], dtype=pl.Float64), "x": [1, 2]},
         {"s": "number", "x": "integer"})  # fmt: skip
    same(tmp_path, 'x,s\n"1","a"\n"2","b"\n', {"x": [1, 2], "s": ["a", "b"]})


def test_a_column_without_missing_values_is_that_for_everyone(tmp_path: Path) -> None:
    path = written(tmp_path, 's,x\n"",1\na,\n')
    assert [column.nullable for column in read(path)[0]] == [False, True]
    assert read(path, {"s": "text not null"})[1] == 2
    kind, words, _ = read(path, {"x": "integer not null"})
    assert (kind, "schema must not declare 'x' to be `not null`" in words) == (InvalidParameter, True)


def test_dates_are_text_for_everyone(tmp_path: Path) -> None:
    same(
        tmp_path,
        "d,t\n2020-01-01,12:30:00\n2021-01-01,\n",
        {"d": ["2020-01-01", "2021-01-01"], "t": ["12:30:00", None]},
    )


@pytest.mark.parametrize("line", ['a"b,1', '"a"b,1', 'a,"1', '"a" ,1', ' "a",1', 'a""b,1', '"a\n,1', '"""a,1'])
def test_stray_quotation_marks_are_refused(tmp_path: Path, line: str) -> None:
    kind, words, _ = read(written(tmp_path, f"s,x\nb,2\n{line}\n"))
    assert kind is SampleUnavailable
    assert "quotation mark" in words
    same(tmp_path, 's,x\n"a""b",1\n"""",2\n"a,\r\nb",3\n', {"s": ['a"b', '"', "a,\r\nb"], "x": [1, 2, 3]})


def test_a_quotation_mark_is_seen_wherever_a_block_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are looked at one after the other: the answer is that of the whole."""
    contents = {
        b'a,b\n"x""",\n,"\n\n"\n': None,
        b'a,b\r\n"x" ,1\r\n': 7,
        b"a,b\r\n1,2\r\n\r\n": 10,
        b"a,b\n1,2\r3,4": 8,
    }
    for content, at in contents.items():
        for size in range(1, len(content) + 1):
            monkeypatch.setattr(csv_files, "BLOCK", size)
            if at is None:
                csv_files._check_form("rows.csv", io.BytesIO(content))
            else:
                with pytest.raises(SampleUnavailable, match=r"line [23]"):
                    csv_files._check_form("rows.csv", io.BytesIO(content))


def test_names_are_there_once(tmp_path: Path) -> None:
    refused(tmp_path, "a,a\n1,2\n", "upper and lower case count as equal")
    refused(tmp_path, "a,A\n1,2\n", "columns 1 and 2 have the same", {"a": "integer"})
    refused(tmp_path, ",a\n1,2\n", "must have a name for every column, and column 1 has none")
    refused(tmp_path, "a,b,\n1,2,\n", "column 3 has none", {"a": "integer"})
    refused(tmp_path, "", "must have a header")


def test_files_are_in_utf_8(tmp_path: Path) -> None:
    same(tmp_path, "s,é\nZürich,1\n", {"s": ["Zürich"], "é": [1]})
    same(tmp_path, b"\xef\xbb\xbf" + "s,x\nü,1\n".encode(), {"s": ["ü"], "x": [1]})
    same(tmp_path, b'\xef\xbb\xbf"s",x\na,1\n', {"s": ["a"], "x": [1]})
    refused(tmp_path, "s,x\na,1\nü,2\n".encode("latin-1"), "line 3: is not UTF-8")
    refused(tmp_path, "s,x\na,1\nü,2\n".encode("latin-1"), "line 3: is not UTF-8", {"x": "integer"})
    refused(tmp_path, "s,x\na,1\nü".encode()[:-1], "line 3: is not UTF-8")
    refused(tmp_path, "s,x\na,1\n".encode("utf-16-le"), "line 1: has the character 0")
    refused(tmp_path, b"s,x\ra,1\r", "line 1: has a carriage return without a line feed")


def test_a_row_has_a_longest_length(tmp_path: Path) -> None:
    same(tmp_path, f"s,x\n{'a' * 2_000_000},1\n", {"s": ["a" * 2_000_000], "x": [1]})
    refused(tmp_path, f"s,x\n{'a' * (2 * csv_files.BLOCK + 10)},1\n", "a row may have 4194304 bytes at most")


def test_streamed_rows_are_those_that_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "x,s\n" + "".join(f"{i / 7},n{i % 11}\n" for i in range(2_000)))
    asked = [FixedSum("x", 0, 300), Count("s = 'n3'")]
    with table(path) as held:
        monkeypatch.setattr(polars_sample, "HELD", 0)
        monkeypatch.setattr(csv_files, "BLOCK", 1_000)
        for engine in ENGINES:
            with table(path, engine=engine) as streamed:
                assert (streamed.schema, streamed.n, streamed.fingerprint()) == (held.schema, 2_000, held.fingerprint())
                assert streamed.measure(asked) == held.measure(asked)


_ODD = ["", "1", "-2", "2.5", "1_000", " 3", "true", "False", "T", "nan", "inf", "1e400", "0x1F", "NA", "2020-01-01"]
_ODDER = ["#", "# a", "9223372036854775808", '""', '"a,b"', '"a\nb"', '"a""b"', 'a"b', '"a"b', "é", "\x00"]
_CELL = st.sampled_from(_ODD) | st.sampled_from(_ODDER) | st.text(st.sampled_from('a1,"\n\r#; é.-e'), max_size=4)
_LINES = st.lists(st.lists(_CELL, min_size=1, max_size=3).map(",".join), min_size=1, max_size=5)
_KINDS = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["integer", "number", "boolean", "text"]), min_size=1),
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["a,b", "a", "a,b,c", "a,a", "a,", "title", '"a",b', "a;b"]),
    _LINES,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\n", "\r\n"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    _KINDS,
)
@example("a,b", ["1,2", "3"], "\n", "\n", b"", None)
def test_any_file_means_one_thing(
    tmp_path_factory: pytest.TempPathFactory, header: str, lines: list[str], end: str, last: str, bom: bytes, kinds: Any
) -> None:
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    path.write_bytes(bom + (end.join([header, *lines]) + last).encode())
    read(path, kinds)


def parts(folder: Path, *held: Any) -> Path:
    made = folder / "parts"
    made.mkdir(exist_ok=True)
    for at, one in enumerate(held):
        pq.write_table(one, made / f"{at}.parquet")
    return made


@pytest.mark.parametrize(
    ("first", "second", "column"),
    [
        (pa.table({"x": [1, 2]}), pa.table({"x": [2.5, 3.5]}), "x"),
        (pa.table({"x": [1.5]}), pa.table({"x": ["2.5"]}), "x"),
        (pa.table({"b": [True]}), pa.table({"b": [5]}), "b"),
        (pa.table({"x": pa.array([1], pa.int32())}), pa.table({"x": pa.array([1], pa.int64())}), "x"),
        (pa.table({"x": [1], "y": [2]}), pa.table({"x": [1]}), "y"),
        (pa.table({"x": [1]}), pa.table({"x": [1], "y": [2]}), "y"),
    ],
)
def test_parquet_files_of_different_forms_are_refused(tmp_path: Path, first: Any, second: Any, column: str) -> None:
    folder = parts(tmp_path, first, second)
    for schema in (None, {first.column_names[0]: "number"}):
        kind, words, _ = read(folder, schema)
        assert kind is InvalidParameter
        assert f"in parts must have the same columns of the same types, and column '{column}' is" in words


def test_parquet_files_of_one_form_are_read_alike(tmp_path: Path) -> None:
    folder = parts(
        tmp_path,
        pa.table({"x": [1], "s": ["a"]}),
        pa.table({"s": pa.array(["b"], pa.large_string()), "x": [2]}),
        pa.table({"x": [None], "s": pa.array([None, "c"], pa.string()).dictionary_encode().slice(0, 1)}).cast(
            pa.schema([("x", pa.int64()), ("s", pa.dictionary(pa.int32(), pa.string()))])
        ),
    )
    schema, n, fingerprint, counts = read(folder)
    held = table({"x": [1, 2, None], "s": ["a", "b", None]})
    assert (schema, n, fingerprint) == (held.schema, 3, held.fingerprint())
    assert counts[:2] == ((1,), (1,))
    listed = pl.DataFrame({"x": [1, 2], "s": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"]))})
    listed.write_parquet(tmp_path / "rows.parquet")
    assert read(tmp_path / "rows.parquet")[2] == table({"x": [1, 2], "s": ["a", "b"]}).fingerprint()


def test_kinds_of_parquet_columns(tmp_path: Path) -> None:
    """Types that only some engines take for numbers are numbers for none."""
    held: dict[str, Any] = {
        "i": pa.array([1], pa.int8()),
        "u": pa.array([1], pa.uint32()),
        "f": pa.array([1.5], pa.float32()),
        "big": pa.array([1], pa.uint64()),
        "half": pa.array([1.5], pa.float32()).cast(pa.float16()),
        "span": pa.array([1], pa.duration("us")),
        "day": pa.array([1], pa.date32()),
        "price": pa.array([Decimal("1.10")], pa.decimal128(38, 2)),
        "when": pa.array([1], pa.timestamp("ms")),
        "moment": pa.array([1], pa.timestamp("us", "Asia/Kathmandu")),
        "nano": pa.array([1], pa.timestamp("ns")),
        "clock": pa.array([1], pa.time64("us")),
        "bytes": pa.array([b"a"]),
        "list": pa.array([[1]]),
        "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        "null": pa.nulls(1),
        "view": pa.array(["a"], pa.string_view()),
    }
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(held), path)
    kinds = {column.name: column.kind for column in read(path)[0]}
    times = {"day": "date", "when": "timestamp", "moment": "timestamptz"}
    assert kinds == {"i": "integer", "u": "integer", "f": "number", "price": "number", "view": "text"} | times
    for name in ("big", "half", "span", "nano", "clock", "bytes", "list", "map", "null"):
        kind, words, _ = read(path, {name: "number"})
        assert (kind, f"schema must not have column {name!r}" in words) == (InvalidParameter, True)


def test_parquet_names_are_there_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    for names in (["a", "a"], ["a", "A"]):
        pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=names), path)
        kind, words, _ = read(path)
        assert (kind, "columns 1 and 2 have the same" in words) == (InvalidParameter, True)


def test_bytes_that_are_no_text_in_parquet(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff\xfe"], pa.binary()).buffers())
    pq.write_table(pa.table({"x": [1, 2], "s": broken}), tmp_path / "rows.parquet")
    kind, words, _ = read(tmp_path / "rows.parquet")
    assert (kind, words) == (
        SampleUnavailable,
        "rows.parquet: column 's' must have texts in UTF-8, and some are not",
    )
    assert read(tmp_path / "rows.parquet", {"x": "integer"})[1] == 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("held", [0, 1 << 20])
def test_a_file_that_is_rewritten_in_place_is_seen(
    tmp_path: Path, engine: Any, suffix: str, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of modification is set back and the size is the same: the inode's own time cannot be set."""
    monkeypatch.setattr(polars_sample, "HELD", held)
    path = tmp_path / f"rows{suffix}"
    frame = pl.DataFrame({"x": [1, 2, 3]})
    for write in (frame.write_csv if suffix == ".csv" else frame.write_parquet,):
        write(path)
    with table(path, engine=engine) as sample:
        sample.measure([Count("x > 1")])
        before, content = path.stat(), path.read_bytes()
        with path.open("r+b") as file:
            file.write(content.replace(b"3", b"4") if suffix == ".csv" else content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)
        for work in (lambda: sample.measure([Count("x > 1")]), sample.fingerprint):
            with pytest.raises(SampleUnavailable, match="open it again"):
                work()


@pytest.mark.parametrize("engine", ["polars", "numpy"])
def test_lists_of_numbers_with_none_among_them(engine: Any) -> None:
    kinds = {"x": [1, 2.5, None], "i": [1, None, 2], "b": [True, None, False], "s": ["a", None, ""], "n": [None] * 3}
    with table(kinds, engine=engine) as sample:
        wanted = {"x": "number", "i": "integer", "b": "boolean", "s": "text", "n": "text"}
        assert {column.name: column.kind for column in sample.schema} == wanted
        assert [tuple(one) for one in sample.measure([FixedSum("x", 0, 4, 0.0), Count("i > 1")])] == [
            (2**30 * 7 // 8,),
            (1,),
        ]
        assert sample.fingerprint() == table(kinds, engine="numpy").fingerprint()


def test_spark_is_not_asked_to_read_csv(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="engine must be polars or duckdb for this source, got 'spark'"):
        table(written(tmp_path, "x\n1\n"), engine="spark")
