"""Answers whose shape does more than select: groups, ORDER BY, LIMIT and OFFSET, at one position and instant.

Reading order: `shaped_query` (the rows that shapes are applied to), `sorting` (ORDER BY), `ordered_invocation` (rows in
an order of their own, or the first of them), `grouping` (rows to groups), `group_changes` (the rows that touch groups
since an earlier position), `grouped_invocation` (groups, page by page), `series_groups` (groups at many instants),
`content` (equal answers have equal states).
"""
