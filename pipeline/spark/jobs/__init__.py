"""Jobs: read, transform, write. Each is a command of `psoup pipeline` and can be given to spark-submit.

Read it in this order:

- `target`: the stream that a job reads or writes;
- `ingest`: a streaming source into a stream;
- `backfill`, with `files`: files into a stream, in time order;
- `archive`, with `archive_notes`: a stream into Parquet, and the note of its archive;
- `history`: archive answers, which reach past memory.

spark-submit puts this folder first on the import path, so no module here may have the name of a package that a job
imports.
"""
