"""Streams, columns, batches, lineage: what flows.

Reading order:
    schema: what a stream is declared to be. time_unit: units of time that a sender may count in.
    batch: columns of values, and a batch made of them. value_type: dataclasses that nobody changes.
    joined_columns: columns put together into one.
    arrow, ipc, batch_reader, batch_writer: a batch as the log keeps it, and back.
    json_text, json_arrays, instants: JSON text to columns, columns to JSON text, counts to instants.
    few_rows: a few rows of JSON text to what the log keeps of them.
    chunk, lineage, block: 4,096 rows, which clauses they can still satisfy, and both together.
    digest: a sum of rows that tells a producer's repeated batch from another one.
"""
