"""Questions about queries and rows, from which nothing follows: nothing is written, logged or kept.

Reading order:
    plan: how tuples meet a query.
    forecast: what a query would answer.
    explain: why it answers a row or does not. explanation: of one row, its predicates and its window.
    standing_queries: which queries a row hits.
    row_place: where the tuple of an id lies.
"""
