"""One module for each noun of the HTTP contract: parse, call one verb, return bytes.

Reading order: `endpoint` (an endpoint as a declaration), `endpoints` (all of them), `table` (which one a request is
for), `streams` (declare, list, drop), `rows` (rows in, parts and commits, which queries a row hits), `queries`
(register, list, change, remove), `results` (invoking), `explanations` (why a row is answered), `preconditions`
(If-Match), `list_pages` (pages of lists), `batches` (the log for an archive), `archive_answers` (for the job that
computes them), `health` (readiness, figures, limits), `top` (the queries that cost most), `llms` (the contract in a
page for language models), `pages` (how pages and their files are answered).
"""
