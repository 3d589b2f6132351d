"""A job on a cluster, as a process of its own: numbers into a stream and back, some tasks twice.

    python -m tests.spark.cluster_job MASTER URL STREAM ROWS PARTS [CHECKPOINT]

Writes 0 to ROWS - 1 in so many parts, at once or, with a checkpoint, as a streaming query; then `read COUNT SUM` of
what the stream answers through the connector. Slow tasks are started a second time, beside the first.
"""

import sys
from typing import TYPE_CHECKING

from pyspark.sql import functions

from psoup.pipeline.spark.session import close_session, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",  # of the tasks have to be done before one is slow
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
}


def main(*arguments: str) -> None:
    """Write, read, and say what was read."""
    master, url, stream, rows, parts, *checkpoint = arguments
    spark = open_session("cluster job", master=master, settings=SETTINGS)
    options = {"url": url, "stream": stream, "createStream": "true"}
    if checkpoint:
        write_stream(spark, int(rows), int(parts), checkpoint[0], options)
    else:
        frame = spark.range(0, int(rows), 1, int(parts))
        frame.write.format("psoup").mode("append").options(**options).save()
    read = spark.read.format("psoup").option("url", url)
    answer = read.option("sql", f"SELECT id FROM {stream}").load()
    (found,) = answer.agg(functions.count("id"), functions.sum("id")).collect()
    close_session(spark)
    sys.stdout.write(f"read {found[0]} {found[1]}\n")


def write_stream(
    spark: "SparkSession", rows: int, parts: int, checkpoint: str, options: dict[str, str]
) -> None:
    """Write two micro-batches of half the rows each."""
    files = f"{checkpoint}-files"
    for half in range(2):
        numbers = spark.range(half * rows // 2, (half + 1) * rows // 2, 1, 1)
        numbers.write.mode("append").parquet(files)
    read = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1).parquet(files)
    written = read.repartition(parts).writeStream.format("psoup").options(**options)
    written = written.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    written.start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
