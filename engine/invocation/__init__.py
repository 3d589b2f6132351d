"""How an invocation is answered: the window over the results, tuples out. Nothing here joins or writes.

Reading order:
    position: what is asked and answered, at which position and instant, and where a client stands.
    one_stream: one query over one stream, counted or a page of its rows.
    several_streams: one query over several.
    composite_hits: the composite tuples of one clause out of its group's pages.
    answering: what both kinds have in common, the select list first.
    changes: what has changed since an earlier position, for both kinds.
    distinct, row_digest: DISTINCT, and what its rows are known by.
    shaped: groups, rows in an order of their own, and the first of either.
    cache: what a process keeps between invocations.
"""
