"""Columns of an answer to bytes, a column at a time: no Python object for a value.

Reading order: `negotiation` (which format), `encoding` (columns to JSON, NDJSON, CSV, Arrow), `changes` (operations
in formats without an envelope), `cells` (columns to texts), `instants` (times to texts), `json_columns` (columns to
rows of JSON), `fit` (a page cut until it fits), `event_stream` (server-sent events).
"""
