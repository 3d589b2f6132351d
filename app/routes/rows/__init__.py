"""Rows of a stream on their way in, rows that are asked about and not stored, and the latest ones.

Reading order: `received_rows` (a body of rows, checked), `tuples` (rows in), `staging` (parts and commits),
`asked_rows` (rows that are not stored), `matches` (which queries a row hits), `samples` (the latest rows).
"""
