"""From the text of a query to its syntax tree, or to a refusal that names line and column.

Reading order:
    parser: the whole statement.
    scanner, stray_characters: characters to tokens, and characters that no text may hold.
    reader: the steps that every rule of the grammar takes. durations: what INTERVAL holds.
    parameter_values: the literals that parameters stand for.
    expression_grammar, call_grammar, aggregate_grammar: what stands in SELECT and WHERE; functions, CASE and CAST, and
        aggregates in it. source_grammar, row_window_grammar: FROM.
    counts, shape_grammar: GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET. window_grammar: BEGIN-END.
    syntax: the tree they build, each node with its span of the text. syntax_parts: what lies below a node.
    refusal: from a span to line, column, excerpt and caret.
"""
