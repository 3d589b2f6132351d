"""`spark.read` and `spark.readStream`: the answer of a query, or the batches of a stream.

Read it in this order:

- `options`: what a read may be told;
- `queries`: the standing query, or the text registered for as long as it is read;
- `reader`: an answer, page by page;
- `pushdown`: Spark's filters as part of the query's text;
- `arrivals`: a stream's batches past a position, and the hold that keeps them;
- `stream_reader`: those batches in order, each once;
- `shaping`: rows in exactly the columns declared.
"""
