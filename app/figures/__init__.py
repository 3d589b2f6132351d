"""Figures that an engine and a service measure of themselves, as plain values.

Reading order: `engine` (an engine's counters, and how they travel to workers), `footprint` (bytes in memory),
`join_tally` (cost and results of joins), `clause_tally` (which clauses match most), `invocation_counts` (how often each
query was invoked), `throughput` (rates of the last 10 and 60 seconds).
"""
