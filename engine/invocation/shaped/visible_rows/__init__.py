"""The rows that row windows and LEFT JOIN leave of the hits of a query, before groups, an order or a limit.

Reading order: `row_windows` (the tuples that row windows show), `windowed_rows` (the hits that they leave), `left_rows`
(what stands left of a LEFT JOIN), `left_joined_rows` (its pairs, and the rows left over).
"""
