"""`spark.read` and `spark.readStream`: the answer of a query, and the batches of a stream.

Read it in this order:

- `options`: the options of a read;
- `queries`: the standing query to read, or a SQL text that is registered for the read;
- `reader`: an answer, page by page;
- `pushdown`: Spark's filters as part of the query's text;
- `arrivals`: a stream's batches past a position, and the hold that keeps them in the log;
- `stream_reader`: these batches in order, each once;
- `shaping`: rows with exactly the declared columns.
"""
