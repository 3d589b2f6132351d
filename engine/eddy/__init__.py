"""The eddy: routes fresh data and fresh queries through the SteMs.

Reading order:
    eddy: one join for fresh data and for fresh queries.
    settling: every clause of a stream against one chunk, here or in another process.
    match_threads: the chunks of one batch, settled on several threads.
    operators, policy: a residual factor that narrows blocks; which operator comes next.
    join_entrants: whole chunks and fresh clauses enter the groups of join clauses.
    join_routing: the order in which an entrant visits the other sources.
"""
