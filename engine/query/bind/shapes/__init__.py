"""Shapes: what SELECT, GROUP BY, HAVING, ORDER BY and LIMIT make of the rows of a condition.

Reading order:
    shape_binder: GROUP BY, HAVING, ORDER BY and LIMIT to a shape.
    shape_names: what their names mean, columns of FROM or outputs.
    select_list: SELECT to named outputs.
    aggregate_binder: calls of aggregates.
    grouping: expressions over rows that are ones over groups.
"""
