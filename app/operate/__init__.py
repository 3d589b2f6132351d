"""What operators and their tools see of a process: its beginning and end, its log, its meters.

Reading order: `lifecycle` (how a process begins and ends, and its exit code), `interrupts` (signals as
interrupts), `child_python` (Python started anew), `log_lines` (structlog), `start_sentences` (a start on a
terminal), `meters` (what Prometheus scrapes), `probes` (answers of `/healthz`, `/readyz` and `/metrics`),
`engine_endpoint` (an engine that has no API).
"""
