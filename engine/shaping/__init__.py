"""Shapes of rows that are found elsewhere, as Spark finds them in an archive: groups, order and select list.

Rows come in pieces, to any number of processes. What is made of them is merged, and is bit for bit what an invocation
makes of the same rows: expressions, aggregates and order are the engine's own. Rows travel as Arrow.

Reading order:
    byte_order: values as bytes that sort as ORDER BY does.
    found_rows: the rows of a query, with the columns that its shape reads.
    placed_rows: rows of the answer, each with its place in it as bytes.
    single_rows: rows without groups.
    group_pieces: groups, made of pieces of their rows.
"""
