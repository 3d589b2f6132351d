"""What `/metrics` shows: each meter is defined once, with its name, its help text, its kind and how it is read.

Reading order: `meter` (one definition, and how definitions become metric families), `engine` (the engine's meters,
whichever process shows them, and those of `psoup engine --port`), `service` (those of `psoup serve` and of API
workers), `registry` (Prometheus: meters of one process, or of all workers of a port).
"""
