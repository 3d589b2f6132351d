"""psoup and Apache Spark: the data source `psoup`, the session that it runs in, and jobs.

Read it in this order:

- `java`, `session`, `quiet_session`: a Java, a session with the settings needed, and one that says nothing;
- `options`, `schema`, `packing`: what the source may be told, types both ways, rows into parts;
- `staging`, `writing`: rows staged by tasks and committed once, and what Spark calls for it;
- `foreach`: the same for Spark 3.5;
- `read`: answers, and the batches of a stream;
- `source`: the data source `psoup`, which leads to both;
- `sql`: a standing query as Spark SQL;
- `transforms`: DataFrame to DataFrame;
- `launch`, `archive_answers`, `jobs`: how jobs run, answers that reach past memory, and the jobs;
- `executors`: executors that compute hits for an engine;
- `round_trip`: files into a stream and out again, compared with Spark SQL.

The only package that imports pyspark.
"""
