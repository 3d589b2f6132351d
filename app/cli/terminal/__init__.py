"""Output for people on a terminal.

Reading order: `output` (tables, lists), `problems` and `phrases` (refusals in the words of the command line),
`load` (columns, progress, summary of a load), `pipeline` (micro-batches and jobs), `answer_parts` (columns and
caption of an answer), `answer_screen` (an answer that somebody watches), `row_changes` (which of its rows have just
entered or left).
"""
