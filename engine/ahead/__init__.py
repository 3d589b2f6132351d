"""Hits computed ahead of their operation: what to compute elsewhere, and how tasks and hits travel.

Read it in this order:

- `planning`: which chunks coming operations will make whole, and of which bodies;
- `scans`: old tuples for new queries, several in one job;
- `exchange`: tasks and hits as Arrow tables.
"""
