"""How an invocation is answered: the window over the results, tuples out. Nothing here joins or writes.

Reading order:
    answer: what is asked, and what is answered.
    pinning: the position and the instant that all pages of an answer belong to.
    as_of: what was known at an earlier position.
    continuing: where a client stands, and whether an answer can go on from there.
    changes: what has changed since, for both kinds of queries.
    spans: the rows and times that are visible, to come, new, or dropped.
    arrivals: what arrivals and the clock can still change.
    stream_invocation: one query over one stream, counted or a page of its rows.
    stream_finding: its rows, and those that differ from an earlier position.
    stream_aggregates: the aggregates of its rows, from partials of whole chunks.
    dated_hits: its hits by the times of their tuples.
    finding, matching: its hits by spans of rows; read where they are kept, evaluated where they are not.
    join_invocation: one query over several streams.
    join_finding, composite_dates, composite_hits: its composite tuples; those of one clause out of its group's pages.
    join_changes: those that differ from an earlier position.
    answering: what both kinds have in common, the select list first.
    distinct, row_digest: DISTINCT, and what its rows are known by.
    shaped: groups, rows in an order of their own, and the first of either.
    series_points: the points of a series of instants.
    cache: what a process keeps between invocations.
"""
