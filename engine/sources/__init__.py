"""Whoever holds tuples: the `TupleSource` of the process that folds, and that of an API worker.

Reading order:
    stored_tuples: all Data SteMs together, in the process that folds.
    cached_tuples: segments read from the log when somebody asks for them, in a worker.
    cached_stem: those of one stream.
    batch_index: where the batches of a stream lie, and how they are dated.
    logged_batch: one batch, read from the log and compared with its record.
"""
