"""All standing query clauses in the form in which tuples meet them: the Query SteM.

Reading order:
    query_stem: all clauses; build, probe, evict.
    stream_clauses: those of one stream, by slot.
    grouped_filter: their factors over single attributes, indexed together.
    table, pivot_table: clauses as arrays; clauses by the one value that each compares an attribute with.
    table_probe, locator: a chunk meets the tables; where the bounds of clauses lie in its order.
    image: the clauses of one stream as a value, for another process.
    join_groups, join_group: clauses over several streams; those with one FROM list and the same join factors.
"""
