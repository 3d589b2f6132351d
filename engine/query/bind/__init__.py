"""From the syntax of a query and the declared streams to a clause, a window and warnings.

Reading order:
    binder: the whole query.
    scope: the names that FROM brings.
    expressions: names and types of expressions; constants take the type of what they stand beside.
    conditions: expressions that mean the same become the same value; WHERE to boolean factors.
    shapes: SELECT; with GROUP BY, HAVING, ORDER BY and LIMIT to a shape.
    window_binder, row_window_binder: BEGIN-END and the windows of single sources. left_join_binder: LEFT JOIN.
    query_warnings, author_warnings: what the author should know; the same with the names and places of the text.
    predicates: the predicates of a condition as the text has them.
    rows_alone: refuses what does more with rows than SELECT and DISTINCT do.
    bound_queries: queries kept as long as they are asked for. skeletons, template: texts that differ in numbers alone,
        bound by filling in.
"""
