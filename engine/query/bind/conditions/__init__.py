"""Conditions in normal form: what means the same in an obvious way is one value, and WHERE falls into factors.

Reading order:
    normal_form: expressions that mean the same become the same value.
    size: how large an expression in normal form is, and the largest that is accepted.
    band: bounds on the difference between values of two sources.
    factoring: WHERE to boolean factors.
"""
