"""Hits computed ahead of their operation, by executors: processes elsewhere that run the engine's own kernels.

Read it in this order:

- `errors`: the failure of executors;
- `planning`: which chunks the next operations will make whole, and of which batches;
- `scans`: stored tuples for new queries, several queries in one job;
- `exchange`: tasks and hits as Arrow tables;
- `broadcasts`: the clauses of a stream, sent to executors once;
- `executor`: the work of one executor;
- `executor_hits`: which operations are worth a job, and the hits that are ready.
"""
