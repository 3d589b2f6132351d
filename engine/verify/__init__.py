"""Kept results compared with results computed again from the tuples: `psoup fsck`.

Reading order:
    verification: the Results Structure against the tuples it was made of.
    records: records against the log, the batches and the texts.
    difference: what a comparison finds, and what it needs of a store.
"""
