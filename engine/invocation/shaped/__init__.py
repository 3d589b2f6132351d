"""Answers whose shape does more than select: groups, ORDER BY, LIMIT and OFFSET, at one position and instant.

Reading order: `shaped_query` (what queries with shapes have in common), `visible_rows` (the rows that row windows and
LEFT JOIN leave), `sorting` (ORDER BY), `extent` (which rows there are), `ordered_invocation` (rows in an order of their
own, or the first of them), `grouping` (what is computed of groups), `visible_groups` (those of the visible rows, from
partials), `partnered_groups`, `partnered_rows` (those of a join whose composites are not made), `groups_beside` (those
of other rows), `group_changes` (the rows that touch groups since an earlier position), `grouped_invocation` (groups,
page by page), `series_groups` (groups at many instants), `partials_ahead` (partials made before anybody asks),
`content` (equal answers have equal states).
"""
