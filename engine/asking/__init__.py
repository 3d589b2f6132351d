"""Questions about queries and rows, from which nothing follows: nothing is written, logged or kept.

Reading order:
    plan: how tuples meet a query.
    forecast: what a query would answer.
"""
