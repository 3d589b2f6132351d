"""A query over one stream: its hits, the rows that its window shows, and the aggregates of them.

Reading order:
    stream_invocation: the query, counted or a page of its rows.
    stream_finding: its rows, and those that differ from an earlier position.
    finding, matching: its hits by spans of rows; read where they are kept, evaluated where they are not.
    dated_hits: its hits by the times of their tuples.
    stream_aggregates: the aggregates of its rows, from partials of whole chunks.
"""
