"""The join itself: rows of one source, their partners in the others, composite tuples.

Reading order:
    join: the passes over the sources, along a route.
    side: which rows of a source may be taken, and which clauses they can still satisfy.
    slices: spans in pieces of bounded size.
    link: from the rows of one source to their partners in the next.
    clause_join: one clause over rows that are there, when it is invoked.
    pair_count: how many pairs two sources have, without making them.
    counts: what joins have done, in numbers.
"""
