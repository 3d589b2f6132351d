"""Conformance kit: worlds written down as files, and a runner that plays them against any psoup service.

Nothing here imports psoup, and nothing beside Python's standard library.

Reading order: `client` (what a client has to do), `model` (what a service has to answer), `recording` and
`generate` (worlds, drawn and written down), `service` (HTTP), `comparing`, `playing`, `by_the_clock` and `run`
(worlds against a service).
"""
