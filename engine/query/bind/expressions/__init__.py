"""Expressions: from syntax, with the names of FROM, to bound expressions in normal form.

Reading order:
    expression_binder: names and types; hands each kind of expression to one of the modules below.
    coercion: constants take the type of what they stand beside.
    comparison_binder, arithmetic_binder, call_binder: comparisons, sums and calls of sides that are bound.
    in_binder: lists and rows behind IN.
"""
