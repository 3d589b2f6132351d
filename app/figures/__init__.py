"""Figures that an engine and a service measure of themselves, as plain values.

Reading order: `engine` (an engine's counters, and how they travel to workers), `footprint` (bytes in memory),
`join_tally` (cost and results of joins), `throughput` (rates of the last 10 and 60 seconds).
"""
