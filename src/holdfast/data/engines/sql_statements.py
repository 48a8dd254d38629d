"""Passes over rows as SQL statements, from the one Ibis definition of the language.

Ibis only writes the statement. Each engine runs it with its own driver, so that transactions, time limits and errors
are ours to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from secrets import token_hex
from typing import Any

from holdfast.data.engines.sql_columns import OWN_WORDS, RawType, handed, handed_in_ibis, ibis_type
from holdfast.data.expressions import Expression, ibis_columns
from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import digest_of
from holdfast.data.sample import Sums
from holdfast.data.schema import Column, Schema
from holdfast.data.statistics.request import Pass, Plan
from holdfast.errors import SampleUnavailable

_HANDED, _SOURCE = "holdfast_handed", "holdfast_source"
"""What statements call the rows as they are handed over, and as they are held where Ibis hands them over."""
_SEEN = f"holdfast_seen_{token_hex(8)}"
"""And as questions see them; no text in a question can be this."""
_FENCED = ("postgres",)
"""Dialects that would work out anew what questions see of a column wherever it is mentioned. They do not where a
function stands next to it that may change from row to row; `clock_timestamp` is one that parallel workers may call."""
_EXACT_AS_DOUBLE = 2**22
"""Up to this many rows doubles add whole numbers up to 2**30 exactly, and faster: such sums stay below 2**53."""
_FLOORS_DOUBLES = ("duckdb", "postgres")
"""Dialects whose `floor` of a double is a double, and whose sums of doubles are doubles."""
_COUNTS_CASES = ("duckdb",)
"""Dialects that take three times as long for `count(*) filter (where ...)` as for `count(case when ... then 1 end)`."""
_HELD: Mapping[RawType, str] = {
    "int64": "int64",
    "float32": "float32",
    "float64": "float64",
    "decimal": "decimal(38, 9)",
    "boolean": "boolean",
    "string": "string",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp('UTC')",
}


@dataclass(frozen=True)
class Statements:
    """Writes passes over one table as SQL.

    Parameters
    ----------
    dialect : str
        As Ibis calls it.
    schema : Schema
        The declared columns.
    types : mapping
        What the table holds in each of them.
    name : str
        What the table is called, quoted as the engine wants it.
    sets : bool
        Whether the engine knows grouping sets: one reading of the rows for all groupings.
    others : frozenset of str
        Forms of the language that are compiled the other way there is; see `ibis_columns.compile`.
    digest : callable, optional
        What turns a value into a whole number below 2**30 in size, another one where the value is another; see `Watch`.
    n : int, optional
        How many rows there are, where it is known: few enough are added up as doubles.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> schema = Schema({"b": "boolean"})
    >>> statements = Statements("postgres", schema, {"b": "boolean"}, "people")
    >>> statements.of([Pass(None, (Count("b").plan(schema),))])
    'with holdfast_handed as (select "b" from people) SELECT COUNT(*) FILTER(WHERE "t0"."b") AS "a0", ...'
    """

    dialect: str
    schema: Schema
    types: Mapping[str, RawType]
    name: str
    sets: bool = True
    others: frozenset[str] = frozenset()
    digest: Callable[[Any], Any] | None = None
    n: int | None = None

    def rows(self, columns: Iterable[str]) -> str:
        """Return a statement that hands some columns over."""
        if self.dialect in OWN_WORDS:
            listed = ", ".join(handed(self.dialect, self.schema[name], self.types[name]) for name in columns)
            return f"select {listed} from {self.name}"
        import ibis

        columns = list(columns)
        held = ibis.table({name: _HELD[self.types[name]] for name in columns}, name=_SOURCE)
        given = {name: handed_in_ibis(held[name], self.schema[name], self.types[name]) for name in columns}
        return f"with {_SOURCE} as (select * from {self.name}) {self._sql(held.select(**given))}"

    def rows_with_digests(self, columns: Sequence[str], *digested: Sequence[Column]) -> str:
        """A statement that hands some columns over, with a digest of each row in each of some lists of columns.

        So that the rows that are read and the digest are of one moment, whatever a view shows in the next one.
        """
        names = {*columns, *(column.name for each in digested for column in each)}
        used = Schema([column for column in self.schema if column.name in names])
        raw = self._raw(used.columns)
        seen = ibis_columns.seen(raw, used, self.others)
        hashed = {f"h{at}": self._hashed(seen, each) for at, each in enumerate(digested)}
        written = self._sql(raw.select(**{name: raw[name] for name in columns}, **hashed))
        return f"with {_HANDED} as ({self.rows(used.names)}) {written}"

    def columns(self, some: Bundle) -> tuple[Column, ...]:
        """Return the columns that a statement for some passes reads."""
        names = {name for one in some for name in one.columns}
        return tuple(column for column in self.schema if column.name in names) or self.schema.columns[:1]

    def values(self, expressions: Sequence[Expression], keyed: Column) -> str:
        """A statement that gives a key and the values of some expressions in each row: for rows that are no secret."""
        names = {keyed.name, *(name for each in expressions for name in each.columns)}
        columns = [column for column in self.schema if column.name in names]
        rows = self._read(columns)
        compiled = {f"v{at}": ibis_columns.compile(each, rows, self.others) for at, each in enumerate(expressions)}
        return self._written(rows.select(rows[keyed.name], **compiled), columns)

    def of(self, some: Bundle, *digested: Sequence[Column]) -> str:
        """One statement for some passes, with digests of rows in these columns. Its rows are read by `gather`."""
        columns = max((self.columns(some), *digested), key=len)
        rows = self._read(columns)
        hashed = {f"h{at}": self._hashed(rows, each) for at, each in enumerate(digested)}
        if len(some) == 1 and some[0].cell is None:
            totals = {f"a{at}": self._total(plan, rows) for at, plan in enumerate(some[0].plans)}
            digests = {name: value.sum() for name, value in hashed.items()}
            return self._written(rows.aggregate(**totals, **digests, rows=rows.count()), columns)
        cells = {f"c{at}": self._cell(one, rows) for at, one in enumerate(some)}
        added = {f"a{at}": self._added(plan, rows) for at, plan in enumerate(_plans(some))}
        inner = self._written(rows.select(**cells, **added, **hashed), columns)
        # Ibis cannot write grouping sets, which is one reading of the rows for all groupings.
        listed = ", ".join([*cells, *(f"sum({name})" for name in (*added, *hashed)), "count(*)"])
        groups = "grouping sets (" + ", ".join(f"({name})" for name in cells) + ")" if len(cells) > 1 else "c0"
        return f"select {listed} from ({inner}) grouped group by {groups}"

    def _read(self, columns: Sequence[Column]) -> Any:
        import ibis

        seen = self._seen(columns)
        return ibis.table(seen.schema(), name=_SEEN) if self.dialect in _FENCED else seen

    def _seen(self, columns: Sequence[Column]) -> Any:
        return ibis_columns.read(self._raw(columns), Schema(columns), self.others)

    def _raw(self, columns: Sequence[Column]) -> Any:
        import ibis

        return ibis.table({c.name: ibis_type(c, self.types[c.name]) for c in columns}, name=_HANDED)

    def _written(self, query: Any, columns: Sequence[Column]) -> str:
        written = self._sql(query)
        if self.dialect in _FENCED:
            seen = f"select *, clock_timestamp() from ({self._sql(self._seen(columns))}) holdfast_seen"
            written = written.replace(f'"{_SEEN}"', f"({seen})")
        return f"with {_HANDED} as ({self.rows(column.name for column in columns)}) {written}"

    def _sql(self, query: Any) -> str:
        import ibis

        getattr(ibis, self.dialect)  # registers the options that its compiler looks up
        return str(ibis.to_sql(query, dialect=self.dialect, pretty=False))

    def digests(self, columns: Sequence[Column]) -> str:
        """A statement that gives the digest of rows in these columns, and how many rows there are."""
        rows = self._read(columns)
        return self._written(rows.aggregate(h0=self._hashed(rows, columns).sum(), rows=rows.count()), columns)

    def _hashed(self, rows: Any, columns: Sequence[Column]) -> Any:
        """What a row says in some columns, as one whole number below 2**30 in size."""
        assert self.digest is not None
        # Sums of 2**13 products below 2**46 fit into 64 bits. They are added in pairs: a long chain is a deep one.
        parts = [self.digest(rows[column.name]) * _weight(column) for column in columns]
        while len(parts) > 1:
            pairs = [one + other for one, other in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(pairs) * 2 :]
        return self.digest(parts[0])

    def _cell(self, one: Pass, rows: Any) -> Any:
        assert one.cell is not None
        return ibis_columns.compile(one.cell, rows, self.others).cast("int64")

    def _total(self, plan: Plan, rows: Any) -> Any:
        import ibis

        where = None if plan.counted is None else ibis_columns.compile(plan.counted, rows, self.others)
        if plan.added is not None:
            return self._amount(plan.added, rows).sum(where=where)
        if where is not None and self.dialect in _COUNTS_CASES:
            return ibis.cases((where, ibis.literal(1)), else_=ibis.null("int8")).count()
        return rows.count(where=where)

    def _amount(self, added: Expression, rows: Any) -> Any:
        """What a row adds, in the type that is added up exactly in the least time."""
        as_double = self.dialect in _FLOORS_DOUBLES and self.n is not None and self.n <= _EXACT_AS_DOUBLE
        floored = ibis_columns.floored(added, rows, self.others)
        if floored is None:
            amount = ibis_columns.compile(added, rows, self.others)
            return amount if as_double else amount.cast("int64")
        return ibis_columns.floor_double(floored) if as_double else floored.floor().cast("int64")

    def _added(self, plan: Plan, rows: Any) -> Any:
        """What a row adds, 0 where it does not count."""
        import ibis

        one, none = ibis.literal(1, type="int64"), ibis.literal(0, type="int64")
        amount = one if plan.added is None else self._amount(plan.added, rows)
        if plan.counted is None:
            return amount
        return ibis.cases((ibis_columns.compile(plan.counted, rows, self.others), amount), else_=none)


Bundle = Sequence[Pass]
"""Passes that one statement does: one without cells, or some with cells."""


def bundles(work: Sequence[Pass], at_once: int, sets: bool = True, groupings: int | None = None) -> Iterator[Bundle]:
    """Passes with cells together, up to `at_once` plans in all; each other pass alone, and each without `sets`.

    `groupings` is how many of them a statement may have at most, where there is a limit.
    """
    bundle: list[Pass] = []
    for one in work:
        if one.cell is None or not sets:
            yield [one]
            continue
        if bundle and (sum(len(each.plans) for each in [*bundle, one]) > at_once or len(bundle) == groupings):
            yield bundle
            bundle = []
        bundle.append(one)
    if bundle:
        yield bundle


def gather(sums: Sums, some: Bundle, found: Iterable[Sequence[Any]], n: int) -> list[int]:
    """Put the rows that a statement gave into the sums of its plans; refuse where they are not of `n` rows.

    Returned are the digests that it gave, which must be the same for all groupings.
    """
    counts = [0] * len(some)
    digested: list[list[int]] = [[] for _ in some]
    offsets = [0, *accumulate(len(one.plans) for one in some)]
    for plan in _plans(some):
        sums[plan] = [0] * plan.cells
    alone = some[0].cell is None
    for row in found:
        places, totals = ((0,), row) if alone else (row[: len(some)], row[len(some) :])
        # A row is of the one grouping whose cell is not NULL: cells never are.
        at = next(which for which, place in enumerate(places) if place is not None)
        counts[at] += int(totals[-1])
        digests = [int(total or 0) for total in totals[offsets[-1] : -1]]
        digested[at] = [one + other for one, other in zip_longest(digested[at], digests, fillvalue=0)]
        for plan, total in zip(some[at].plans, totals[offsets[at] : offsets[at + 1]], strict=True):
            sums[plan][int(places[at])] = int(total or 0)
    if any(count != n for count in counts) or any(these != digested[0] for these in digested):
        raise SampleUnavailable(CHANGED)
    return digested[0]


class Watch:
    """Finds changed rows where nothing but their values tells.

    When a sample is opened, a digest of its whole rows is taken. Every statement then adds up a digest of the columns
    that it reads, as they stand together in each row: so values that were exchanged between rows are found too. The
    first statement that reads some columns adds up that of whole rows as well, which vouches for what is remembered of
    these columns.

    Parameters
    ----------
    statements : Statements
        With a `digest`; without one nothing is watched.
    n : int
        The number of rows.
    """

    def __init__(self, statements: Statements, n: int) -> None:
        self._statements, self._n = statements, n
        self._seen: dict[tuple[Column, ...], int] = {}

    def begin(self, run: Callable[[str], Iterable[Sequence[Any]]]) -> None:
        """Take the digest of whole rows; `run` runs a statement."""
        if self._statements.digest is not None:
            self._seen = {self._statements.schema.columns: self._whole(run)}

    def rows(self, columns: Sequence[str]) -> tuple[str, int]:
        """A statement that hands some columns over, and how many digests follow them in each row."""
        if not self._seen:
            return self._statements.rows(columns), 0
        digested = self._digested(columns)
        return self._statements.rows_with_digests(columns, *digested), len(digested)

    def check_rows(self, columns: Sequence[str], n: int, digests: Sequence[int]) -> None:
        """Refuse rows that such a statement gave, by how many they were and what their digests add up to."""
        if n != self._n:
            raise SampleUnavailable(CHANGED)
        if self._seen:
            self._vouch(self._digested(columns)[0], digests)

    def check(self, run: Callable[[str], Iterable[Sequence[Any]]]) -> None:
        """Refuse to go on where rows are not those that were there at the beginning."""
        if self._seen and self._whole(run) != self._seen[self._statements.schema.columns]:
            raise SampleUnavailable(CHANGED)

    def statement(self, some: Bundle) -> str:
        """A statement for some passes."""
        if not self._seen:
            return self._statements.of(some)
        return self._statements.of(some, *self._digested(column.name for column in self._statements.columns(some)))

    def gather(self, sums: Sums, some: Bundle, found: Iterable[Sequence[Any]]) -> None:
        """Put what it gave into the sums of its plans."""
        digests = gather(sums, some, found, self._n)
        if self._seen:
            self._vouch(self._statements.columns(some), digests)

    def _digested(self, names: Iterable[str]) -> tuple[tuple[Column, ...], ...]:
        """The columns of which a statement that reads some adds up digests: these, and at first all."""
        wanted = set(names)
        columns = tuple(column for column in self._statements.schema if column.name in wanted)
        return (columns,) if columns in self._seen else (columns, self._statements.schema.columns)

    def _vouch(self, columns: tuple[Column, ...], digests: Sequence[int]) -> None:
        """Compare digests of rows in some columns; at first those of whole rows vouch for what is remembered."""
        digest, *whole = digests
        if whole == [self._seen[self._statements.schema.columns]]:
            self._seen.setdefault(columns, digest)
        if self._seen.get(columns) != digest:
            raise SampleUnavailable(CHANGED)

    def _whole(self, run: Callable[[str], Iterable[Sequence[Any]]]) -> int:
        ((digest, counted),) = run(self._statements.digests(self._statements.schema.columns))
        if int(counted) != self._n:
            raise SampleUnavailable(CHANGED)
        return int(digest or 0)


def by_hash(value: Any) -> Any:
    """A value as a whole number below 2**30 in size, by the hash function that Ibis knows of an engine."""
    import ibis

    if value.type().is_boolean():  # PostgreSQL casts none to 64 bits
        value = ibis.cases((value, ibis.literal("t")), (~value, ibis.literal("f")))
    return ibis.coalesce(value.hash() % (1 << 30), ibis.literal(7, type="int64"))


def _weight(column: Column) -> int:
    """An odd number below 2**16 that goes with a column."""
    return int(digest_of(column.name)[:4], 16) | 1


def _plans(some: Bundle) -> list[Plan]:
    return [plan for one in some for plan in one.plans]
