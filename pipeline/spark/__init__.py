"""psoup and Apache Spark: the data source `psoup`, the session that it runs in, and jobs.

The only package that imports pyspark.
"""
