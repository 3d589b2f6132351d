"""Jobs: read, transform, write. Each is a command of `psoup pipeline` and can be given to spark-submit.

Read it in this order:

- `target`: the stream that a job is about;
- `ingest`: a streaming source into a stream;
- `backfill`, with `files`: files into a stream, in order of their tuples' times;
- `archive`, with `archive_notes`: a stream into Parquet, and what its archive is of;
- `history`: answers that reach past memory.

spark-submit puts this folder on the import path: no module here may be named as a package that a job imports.
"""
