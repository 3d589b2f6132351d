"""`psoup demo` and `psoup pipeline demo`: a service, made-up sensors, and standing queries over them.

Reading order: `run` (the demo from start to end), `readings` (the sensors), `queries` (one query for each kind
of window), `screen` (what is drawn), `service` (a `psoup serve` as a child), `spark` (the same data through
Spark and back).
"""
