"""What a query is once it is bound, and the rooms that lead from its text to that.

Reading order:
    clause, window: the standing query clause, and the window that is applied at invocation.
    hops: the instants that NOW is rounded down to, where a window says EVERY.
    shape: what is done with the rows that satisfy a clause: select list, groups, order, limit.
    row_window, left_join: what is done with them before that, beside the other tuples that the windows show.
    factor: the conjuncts of WHERE, in the forms that SteMs take.
    reading: what answering takes from a clause: its columns, the plan of its join.
    join_graph, join_shape: which sources the factors connect, and how clauses share a join.
    parameters: what a registration gives for the names in its text.
    canonical: one text for one bound query. dialect, time_literals: reserved words, instants and durations as text.
    text: from characters to syntax. bind: from syntax to clause and window. values: expressions, sets of values.
    functions: the scalar functions that expressions call, in one table. other_functions: those of other dialects.
"""
