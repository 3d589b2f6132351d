"""Groups, order, DISTINCT, OFFSET and LIMIT of an answer: Spark finds and sorts rows, psoup computes in its tasks.

What an expression, an aggregate or an order is stays the engine's (`psoup.engine.shaping`), so the answer is bit for
bit that of a service that has forgotten nothing. Tasks make partials of the groups of their rows; partials travel by
buckets of group keys, and are merged. Rows are sorted by bytes that the engine makes of their places.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from typing_extensions import override

from psoup.engine.limits import TIMESTAMP_US_MAX
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.shape import Shape
from psoup.engine.shaping.group_pieces import BUCKET, PARTIALS, GroupPieces
from psoup.engine.shaping.placed_rows import (
    FIRST,
    ID,
    LEAVES,
    PLACE,
    SAME,
    output_name,
    placed_schema,
)
from psoup.engine.shaping.single_rows import placed_rows
from psoup.pipeline.spark.archive_answers.parts import AnswerRows

TOP_ROWS_MAX: Final = 100_000
"""Rows up to the end of LIMIT that each task keeps by itself: more are found by sorting all."""

_SHOWN_ID: Final = f"{ID} AS id"
_SHOWN_LEAVES: Final = (
    f"CASE WHEN {LEAVES} <= {TIMESTAMP_US_MAX}L THEN timestamp_micros({LEAVES}) END AS leaves"
)
_SPARK: Final[Mapping[pa.DataType, DataType]] = {
    pa.binary(): BinaryType(),
    pa.bool_(): BooleanType(),
    pa.float64(): DoubleType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.string(): StringType(),
    pa.timestamp("us", tz="UTC"): TimestampType(),
}


class ShapedAnswer:
    """The rows of an answer with a shape, and which aggregates were found to overflow while they were computed."""

    def __init__(
        self, spark: SparkSession, hits: DataFrame, shape: Shape, *, sources: int, now_us: int
    ) -> None:
        """Plan the computation; nothing runs yet.

        Args:
            spark: a session that is `agreeing`.
            hits: those of `hits_sql`, ahead of NOW as well where the shape has groups.
            shape: of the query.
            sources: how many FROM has.
            now_us: the instant to answer for, rounded to the last hop.
        """
        self._spark = spark
        self._shape = shape
        self._overflowed = spark.sparkContext.accumulator(frozenset[int](), _Union())
        if shape.keys is None:
            frame = self._single(hits, sources)
        else:
            frame = self._groups(hits, GroupPieces(shape, sources, now_us))
        if shape.distinct:
            frame = self._distinct(frame)
        if shape.limit is not None and shape.offset + shape.limit <= TOP_ROWS_MAX:
            frame = frame.orderBy(PLACE).limit(shape.offset + shape.limit)
        listed = [output_name(place) for place in range(len(shape.outputs))]
        self.rows = AnswerRows(
            frame=frame,
            order=(PLACE,),
            shown=(_SHOWN_ID, _SHOWN_LEAVES, *listed),
            outputs=[(output.name, output.type) for output in shape.outputs],
            has_places=True,
            offset=shape.offset,
            limit=shape.limit,
        )

    @property
    def overflowed(self) -> list[str]:
        """Return the aggregates that are NULL somewhere because they overflow, once the rows have been computed."""
        calls = self._shape.aggregates
        return [sql_expression(calls[place]) for place in sorted(self._overflowed.value)]

    def _single(self, hits: DataFrame, sources: int) -> DataFrame:
        shape = self._shape

        def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return placed_rows(shape, sources, batches)

        return hits.mapInArrow(place, _spark_schema(placed_schema(shape)))

    def _groups(self, hits: DataFrame, pieces: GroupPieces) -> DataFrame:
        partials = hits.mapInArrow(pieces.partials, _spark_schema(PARTIALS))
        nothing = pa.Table.from_batches([pieces.of_nothing()])
        partials = partials.union(self._spark.createDataFrame(nothing))
        schema = _spark_schema(placed_schema(self._shape))
        return partials.repartition(BUCKET).mapInArrow(
            _placing(pieces, self._overflowed.add), schema
        )

    def _distinct(self, frame: DataFrame) -> DataFrame:
        """Return the first of equal rows; rows without groups leave when the last of them does."""
        others = [name for name in frame.columns if name not in (SAME, FIRST)]
        firsts = functions.min(functions.struct(FIRST, *others)).alias("earliest")
        last = functions.max(LEAVES).alias("last")
        shown = [f"earliest.{name} AS {name}" for name in others]
        if self._shape.keys is None:
            shown = [
                f"last AS {LEAVES}" if name == LEAVES else one
                for name, one in zip(others, shown, strict=True)
            ]
        return frame.groupBy(SAME).agg(firsts, last).selectExpr(*shown)


def _placing(
    pieces: GroupPieces, add: Callable[[frozenset[int]], None]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task that merges partials; `add` is told which aggregates overflow."""

    def told(places: Sequence[int]) -> None:
        add(frozenset(places))

    return lambda batches: pieces.placed(batches, told)


class _Union(AccumulatorParam[frozenset[int]]):
    """Adds sets: a task that runs twice adds nothing new."""

    @override
    def zero(self, value: frozenset[int]) -> frozenset[int]:
        return frozenset()

    @override
    def addInPlace(self, value1: frozenset[int], value2: frozenset[int]) -> frozenset[int]:
        return value1 | value2


def _spark_schema(schema: pa.Schema) -> StructType:
    return StructType([StructField(field.name, _SPARK[field.type]) for field in schema])
