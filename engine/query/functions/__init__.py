"""The scalar functions of SQL: their names, the types that they take and give, and how they are computed.

Reading order:
    function: what a function is, as the table holds it.
    table: all functions by name, and the other names that they have.
    valid: where columns are NULL. distinct: values that occur, each once; texts of several columns as numbers.
    numbers, texts, times, choices, casts: kernels by kind: columns in, a column out.

A kernel never raises and never gives an infinity: what has no result is NULL. One of texts computes each combination
of arguments that occurs once, however many rows have it.
"""
