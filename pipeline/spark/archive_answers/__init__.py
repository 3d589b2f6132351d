"""Archive answers: answers that reach past memory, computed by Spark from an archive and the service's log.

Read it in this order:

- `archive_query`: a query, the position and instant to answer it for, and the tuple times that it can show;
- `archive_note`, `archive`: an archive's note about itself, and its rows;
- `live_batches`, `outage`: batches that the log still has, and tasks whose service is away;
- `tuples`: the tuples of one stream up to a position;
- `computation`: from the record of an archive answer to its rows;
- `shaped_rows`: groups, order, DISTINCT, OFFSET and LIMIT;
- `parts`: rows in order, cut into parts and sent;
- `claim`: the archive answer that this process computes.
"""
