"""Bodies of the control plane and of answers as pydantic models, a module for each noun.

Models that one route alone uses stand beside it. Reading order: `streams` (declarations), `queries` (registrations
and descriptions), `batch_queries` (registrations as NDJSON), `invocations` (the envelope of an answer), `invoke_many`
(many answers), `series` (one query at many instants), `archive_answers` (jobs and who waits for them), `join_figures`
(in `/v1/status`), `warnings` (accepted, and worth knowing), `problem` (members of every failure).
"""
