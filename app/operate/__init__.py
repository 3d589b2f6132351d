"""A process as its operators see it: its start and end, its log, its meters.

Reading order: `lifecycle` (start, end and exit code of a process), `interrupts` (signals as interrupts),
`child_python` (child processes that run Python), `log_lines` (structlog), `start_sentences` (a start on a terminal),
`meters` (what Prometheus scrapes), `probes` (answers of `/healthz`, `/readyz` and `/metrics`), `engine_endpoint` (the
HTTP endpoint of an engine without an API).
"""
