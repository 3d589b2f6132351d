"""Output for people on a terminal.

Reading order: `output` (problems, tables, lists), `load` (columns, progress, summary of a load), `pipeline`
(micro-batches and jobs), `answer_screen` (an answer that somebody watches).
"""
