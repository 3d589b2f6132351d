"""A streaming job as a process of its own, to be killed: files of CSV into a stream.

    python -m tests.spark.file_job URL STREAM FILES CHECKPOINT SCHEMA [TIME]

Writes `jvm PID` once Spark runs, and `done` at the end.
"""

import sys

from psoup.pipeline.spark.session import close_session, open_session


def main(*arguments: str) -> None:
    """Write all files that are there, one a micro-batch."""
    url, stream, files, checkpoint, schema, *time = arguments
    spark = open_session("file job", master="local[2]", settings={"spark.driver.memory": "1g"})
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    sys.stdout.write(f"jvm {jvm}\n")
    sys.stdout.flush()
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).option("header", "true")
    written = read.csv(files).writeStream.format("psoup").option("url", url)
    written = written.options(stream=stream, createStream="true", time="".join(time))
    query = written.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    close_session(spark)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
