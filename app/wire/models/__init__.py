"""Bodies of the control plane and of answers as pydantic models, a module for each noun.

Models that one route alone uses stand beside it. Reading order: `streams` (declarations), `stream_changes` (declared
otherwise), `queries` (registrations and descriptions), `durations` (members of both), `batch_queries` (registrations as
NDJSON), `validation` (looked at, and not registered), `plans` (how rows meet a query), `results` (answers), `samples`
(the latest rows), `matches` (which queries rows hit), `explanations` (why a row is answered), `join_figures` (in
`/v1/status`), `warnings` (accepted, and worth knowing), `problem` (members of every failure).
"""
