"""Where Spark looks for the data source `psoup` by itself: a top-level module named `pyspark_...`."""

from psoup.pipeline.spark.source import DefaultSource

__all__ = ["DefaultSource"]
