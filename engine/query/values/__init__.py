"""Bound expressions: what they are, what they come to for each row, and for which values they are true.

Reading order:
    expression: trees of typed nodes over the columns of FROM.
    evaluate, arithmetic: expressions computed column by column; what has no finite result is NULL.
    like, like_search: LIKE of a column; LIKE of one text by its own search.
    value_set: sets of values of one attribute, as disjoint intervals.
    truth_set, call_truth: from a predicate over one attribute, or a function of it, to the values that satisfy it.
    derived: functions of one text column as attributes, which clauses are found by.
    factor_table: the value sets of many clauses, as arrays.
"""
