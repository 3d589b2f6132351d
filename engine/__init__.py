"""The query-data join: a deterministic fold over the log. It knows no web, no store, no clock and no chance.

Reading order:
    errors, limits, clock: what may go wrong, how much there may be, what time is.
    limits_of_queries, limits_of_cores, limits_of_waiting: parts of `limits`.
    tuples, query, aggregates, log, results: the nouns, in rooms of their own.
    engine: the fold, and `apply`, the one way from an operation to the next.
    ingest, register, invoke, expire: the four verbs. `release`: what two of them share.
    lifetime: queries that expire where nobody uses them.
    series: the verb invoke at many instants. asking: questions about queries and rows, from which nothing follows.
    eddy, clauses, joins, data, sources, state: how tuples and queries meet.
    invocation: how an answer is read. `store`: what a process needs of a store.
    checkpoint, recent: where long work may end early; a cache by last use.
    kernels: the loops over arrays. `verify`: everything computed again, and compared.
    shaping: shapes of rows that are found elsewhere, computed in pieces.
    ahead: hits that executors compute before their operation is applied.
"""
