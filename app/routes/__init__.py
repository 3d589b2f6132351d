"""One module for each noun of the HTTP contract: parse, call one verb, return bytes.

Reading order: `endpoint` (an endpoint as a declaration), `endpoints` (all of them), `table` (which one a request is
for), `streams` (declare, list, drop), `stream_changes` (declared otherwise), `stream_names` (what was meant by a name
that is not declared), `received_rows` (a body of rows, checked), `tuples` (rows in), `staging` (parts and commits),
`registration` (bind, submit, describe), `queries` (register, list, remove), `selected_queries` (which of them are
meant), `query_changes` (by name, by label), `batch_queries` (many at once), `validation` (looked at, and not
registered), `results` (invoking), `explanations` (why a row is answered), `matches` (which queries a row hits),
`asked_rows` (rows that are not stored), `samples` (the latest rows), `list_pages` (pages of lists), `batches` (the log
for an archive), `archive_answers` (for the job that computes them), `health` (readiness, figures, limits), `top` (the
queries that cost most), `llms` (the contract in a page for language models), `pages` (how pages and their files are
answered).
"""
