"""From the syntax of a query and the declared streams to a clause, a window and warnings.

Reading order:
    binder: the whole query.
    scope: the names that FROM brings.
    expression_binder, coercion: names and types of expressions; constants take the type of what they stand beside.
    comparison_binder, arithmetic_binder, call_binder: comparisons, sums and calls of sides that are bound.
    in_binder: lists and rows behind IN.
    normal_form, size: expressions that mean the same become the same value; the largest that is accepted.
    factoring, band: WHERE to boolean factors; bounds on a difference between two sources.
    select_list, shape_binder, shape_names: SELECT; with GROUP BY, HAVING, ORDER BY and LIMIT to a shape; their names.
    aggregate_binder, grouping: calls of aggregates; expressions over rows that are ones over groups.
    window_binder, row_window_binder: BEGIN-END and the windows of single sources. left_join_binder: LEFT JOIN.
    query_warnings, author_warnings: what the author should know; the same with the names and places of the text.
    rows_alone: refuses what does more with rows than SELECT and DISTINCT do.
    bound_queries: queries kept as long as they are asked for. skeletons, template: texts that differ in numbers alone,
        bound by filling in.
"""
