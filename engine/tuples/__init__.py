"""Streams, columns, batches, lineage: what flows."""
