"""Hits computed by executors ahead of their operations: what waits for its place in `engine/ahead`.

Read it in this order:

- `ahead`: which operations are worth a job, and what is ready of them;
- `shipping`: the clauses of a stream, sent to executors;
- `executor`: what an executor does.
"""
