"""The third oracle: queries of psoup translated by `pipeline/spark/sql/standing_query.py`, answered by Spark SQL.

A statement of Spark costs tens of milliseconds, however small its tables: the tuples of all programs stand in one
table, and many queries are asked by one statement.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ColumnType, StreamSchema
from psoup.pipeline.spark.sql.sources import ARRIVAL, ID
from psoup.pipeline.spark.sql.standing_query import SparkQuery, agreeing, spark_query
from psoup.pipeline.spark.sql.terms import TYPE_NAMES, name_sql
from tests.reference import Answer, AnswerRow
from tests.reference_streams import ReferenceTuple

if TYPE_CHECKING:
    from pyspark.sql import Row as SparkRow, SparkSession

TABLE = "tuples"
PROGRAM, STREAM = "program", "stream"
QUERIES_PER_STATEMENT = 60
"""More make Spark's optimizer slower than linear, fewer leave a job's own cost to each."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query at one NOW over the streams of one program, and what psoup answered.

    Attributes:
        ulps: by how many DOUBLEs a value of Spark's may lie beside psoup's.
    """

    program: int
    sql: str
    now_us: int
    answered: tuple[AnswerRow, ...]
    ulps: int = 0

    def is_answered_by(self, rows: Sequence[AnswerRow]) -> bool:
        """Return whether rows are those that psoup answered."""
        return len(self.answered) == len(rows) and all(
            ours[:2] == theirs[:2] and self._are_near(ours[2], theirs[2])
            for ours, theirs in zip(self.answered, rows, strict=True)
        )

    def _are_near(self, ours: Sequence[Value | None], theirs: Sequence[Value | None]) -> bool:
        return len(ours) == len(theirs) and all(map(self._is_near, ours, theirs))

    def _is_near(self, ours: Value | None, theirs: Value | None) -> bool:
        if self.ulps and isinstance(ours, float) and isinstance(theirs, float):
            return abs(ours - theirs) <= self.ulps * math.ulp(max(abs(ours), abs(theirs)))
        return ours == theirs


@dataclass(slots=True)
class Compared:
    """How much was compared."""

    programs: int = 0
    queries: int = 0
    rows: int = 0
    found: int = 0
    """Queries that found something."""

    def __add__(self, other: "Compared") -> "Compared":
        return Compared(
            self.programs + other.programs,
            self.queries + other.queries,
            self.rows + other.rows,
            self.found + other.found,
        )


@dataclass(slots=True)
class SparkOracle:
    """Programs and questions to Spark about them; answered and compared all at once."""

    session: "SparkSession"
    programs: list[Mapping[str, StreamSchema]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    _cells: list[dict[str, object]] = field(default_factory=list)
    _kinds: dict[str, ColumnType] = field(default_factory=dict)

    def add_program(self, streams: Sequence[tuple[StreamSchema, Sequence[ReferenceTuple]]]) -> int:
        """Take a program's streams and the tuples that retention has kept of each; return its number."""
        number = len(self.programs)
        self.programs.append({schema.name: schema for schema, _ in streams})
        for schema, kept in streams:
            self._kinds |= {_column(schema, one.name): one.type for one in schema.columns}
            for one in kept:
                cells: dict[str, object] = {PROGRAM: number, STREAM: schema.name}
                cells |= {ID: one.tuple_id, ARRIVAL: one.time_us}
                cells |= {_column(schema, name): value for name, value in one.values.items()}
                self._cells.append(cells)
        return number

    def ask(self, program: int, sql: str, answer: Answer, *, ulps: int = 0) -> None:
        """Note a query of a program and what psoup answered, at the answer's NOW."""
        if answer.now_us is not None:
            self.questions.append(Question(program, sql, answer.now_us, answer.rows, ulps))

    def compare(self, *, compiled: bool = False, in_buckets: bool = False) -> Compared:
        """Assert that Spark answers every question as psoup did: ids, times of leaving, values, types, order.

        With `in_buckets` only those are asked that are told otherwise then: joins by a band of time.

        Spark computes what stands in memory while it plans, one row after the other; with `compiled` it has to
        compile the same and run it.
        """
        own = agreeing(self.session)
        if compiled:
            rule = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
            own.conf.set("spark.sql.optimizer.excludedRules", rule)
        own.createDataFrame(self._table()).createOrReplaceTempView(TABLE)
        compared = Compared(programs=len(self.programs))
        asked = self.questions
        if in_buckets:
            asked = [
                one
                for one in asked
                if self._translated(one) != self._translated(one, in_buckets=True)
            ]
        for start in range(0, len(asked), QUERIES_PER_STATEMENT):
            part = asked[start : start + QUERIES_PER_STATEMENT]
            translated = [self._translated(question, in_buckets=in_buckets) for question in part]
            found = answers(own, translated)
            for question, query, rows in zip(part, translated, found, strict=True):
                assert question.is_answered_by(rows), self._described(question, query)
                compared.queries += 1
                compared.rows += len(rows)
                compared.found += bool(rows)
        return compared

    def _translated(self, question: Question, *, in_buckets: bool = False) -> SparkQuery:
        schemas = self.programs[question.program]
        tables = {
            name: f"(SELECT {_listed(schema)} FROM {TABLE}"
            f" WHERE {PROGRAM} = {question.program} AND {STREAM} = '{name}')"
            for name, schema in schemas.items()
        }
        now_us = question.now_us
        return spark_query(
            question.sql,
            list(schemas.values()),
            now_us=now_us,
            tables=tables,
            in_buckets=in_buckets,
        )

    def _table(self) -> pa.Table:
        fields = {PROGRAM: pa.int64(), STREAM: pa.string(), ID: pa.int64(), ARRIVAL: pa.int64()}
        instants = {ARRIVAL}
        for name, kind in self._kinds.items():
            stamped = kind is ColumnType.TIMESTAMP
            fields[name] = pa.int64() if stamped else ARROW[kind]
            instants |= {name} if stamped else set()
        table = pa.Table.from_pylist(self._cells, pa.schema(fields))
        for number, name in enumerate(table.column_names):
            if name in instants:
                column = table.column(name).cast(ARROW[ColumnType.TIMESTAMP])
                table = table.set_column(number, name, column)
        return table

    def _described(self, question: Question, query: SparkQuery) -> str:
        schemas = self.programs[question.program]
        tuples = [cells for cells in self._cells if cells[PROGRAM] == question.program]
        return f"{question.sql}\nat {question.now_us} over {schemas}\nof {tuples}\nis {query.rows}"


ARROW = {
    ColumnType.INT64: pa.int64(),
    ColumnType.FLOAT64: pa.float64(),
    ColumnType.BOOL: pa.bool_(),
    ColumnType.STRING: pa.string(),
    ColumnType.TIMESTAMP: pa.timestamp("us", "UTC"),
}


def dated(schema: StreamSchema, table: pa.Table, *, first_id: int) -> pa.Table:
    """Return tuples in the stream's types, numbered from an id on, as a table of their own holds them."""
    ids = pa.array(range(first_id, first_id + table.num_rows), pa.int64())
    return table.cast(arrow_schema(schema)).append_column(ID, ids)


def answers(session: "SparkSession", queries: Sequence[SparkQuery]) -> list[list[AnswerRow]]:
    """Return what Spark answers to each query, asked by one statement; assert the types of all outputs."""
    parts = [_packed(number, query) for number, query in enumerate(queries)]
    found: list[list[SparkRow]] = [[] for _ in queries]
    for row in session.sql(" UNION ALL ".join(parts)).collect():
        found[row["query"]].append(row)
    return [_unpacked(query, rows) for query, rows in zip(queries, found, strict=True)]


def _packed(number: int, query: SparkQuery) -> str:
    """Return a SELECT of rows of any columns: values and types as texts, times in microseconds."""
    cells, types = [], []
    for place, (_, kind) in enumerate(query.outputs):
        one = f"c{place}"
        value = f"unix_micros({one})" if kind is ColumnType.TIMESTAMP else one
        cells.append(f"CAST({value} AS STRING)")
        types.append(f"typeof({one})")
    return (
        f"SELECT {number} AS query, unix_micros(time) AS time, ids, unix_micros(leaves) AS leaves,"
        f" array({', '.join(cells)}) AS cells, concat_ws(' ', {', '.join(types)}) AS types"
        f" FROM ({query.rows})"
    )


def _unpacked(query: SparkQuery, rows: "list[SparkRow]") -> list[AnswerRow]:
    kinds = [kind for _, kind in query.outputs]
    types = " ".join(TYPE_NAMES[kind].lower() for kind in kinds)
    answer: list[AnswerRow] = []
    for row in sorted(rows, key=lambda row: (row["time"], row["ids"])):
        assert types == row["types"], query.rows
        values = tuple(map(_value, row["cells"], kinds))
        answer.append(("-".join(map(str, row["ids"])), row["leaves"], values))
    return answer


def _value(text: str | None, kind: ColumnType) -> Value | None:
    if text is None:
        return None
    match kind:
        case ColumnType.INT64 | ColumnType.TIMESTAMP:
            return int(text)
        case ColumnType.FLOAT64:
            return float(text)
        case ColumnType.BOOL:
            return text == "true"
        case ColumnType.STRING:
            return text


def _column(schema: StreamSchema, name: str) -> str:
    """Return what the one table calls a stream's column: columns of one name may differ in type."""
    kind = next(one.type for one in schema.columns if one.name == name)
    return f"{name}:{kind}"


def _listed(schema: StreamSchema) -> str:
    own = [
        f"{name_sql(_column(schema, one.name))} AS {name_sql(one.name)}" for one in schema.columns
    ]
    return ", ".join([ID, ARRIVAL, *own])
