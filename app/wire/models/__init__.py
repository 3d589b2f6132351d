"""Bodies of the control plane and of answers as pydantic models, a module for each noun.

Reading order: `streams` (declarations), `queries` (registrations and descriptions), `batch_queries`
(registrations as NDJSON), `ingest` (the answer to a batch), `staging` (parts and commits), `invocations` (the
envelope of an answer), `invoke_many` (many answers), `archive_answers` (jobs and who waits for them), `batches`
(the log's batches and their hold), `join_figures` (in `/v1/status`), `warnings` (accepted, and worth knowing),
`problem` (members of every failure).
"""
