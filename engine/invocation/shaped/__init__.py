"""Answers whose shape does more than select: groups, ORDER BY, LIMIT and OFFSET, at one position and instant.

Reading order: `shaped_query` (what queries with shapes have in common), `row_windows` (the tuples that row windows
show), `windowed_rows` (the hits that they leave), `left_rows`, `left_joined_rows` (LEFT JOIN), `sorting` (ORDER
BY), `ordered_invocation` (rows in an order of their own, or the first of them), `grouping` (rows to groups),
`group_changes` (the rows that touch groups since an earlier position), `grouped_invocation` (groups, page by page),
`content` (equal answers have equal states).
"""
