"""The two implementations of `TupleSource`: that of the process that folds, and that of an API worker.

Reading order:
    stored_tuples: all Data SteMs together, in the process that folds.
    cached_tuples: segments that a worker reads from the log when an answer needs them.
    cached_stem: those of one stream.
    batch_index: where the batches of a stream lie, and how they are dated.
    logged_batch: one batch, read from the log and compared with its record.
"""
