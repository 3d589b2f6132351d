"""From the text of a query to its syntax tree, or to a refusal that names line and column.

Reading order:
    parser: the whole statement.
    scanner, stray_characters: characters to tokens, and characters that no text may hold.
    reader: the steps that every rule of the grammar takes. durations: what INTERVAL holds.
    parameter_values: the literals that parameters stand for.
    expression_grammar, call_grammar: WHERE and SELECT; functions, CASE and CAST in them.
    source_grammar, window_grammar: FROM, BEGIN-END.
    syntax: the tree they build, each node with its span of the text.
    refusal: from a span to line, column, excerpt and caret.
"""
