"""Answers that reach past memory, computed by Spark from an archive and what the service's log still has.

Read it in this order:

- `question`: what is asked, and which tuples it can concern;
- `archive_note`, `archive`: what an archive is of, and its rows;
- `live_batches`, `outage`: batches that the log still has, and a service that does not answer;
- `tuples`: the tuples of one stream up to a position;
- `computation`: from the record to the rows sent;
- `parts`: rows in order, cut into parts and sent;
- `claim`: the history that this process computes.
"""
