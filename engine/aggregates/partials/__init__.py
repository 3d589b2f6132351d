"""Partials: the states of the groups of some rows, kept, and merged with those of other rows.

Reading order:
    partial: the states of some rows, and how they are merged and finished.
    group_table: the groups of a stream's partials, known by numbers.
    chunk_rows: which rows the partials of chunks are made of.
    made_units: partials that were just made of rows.
    stream_partials: partials of the segments of a stream, of larger units, and of chunks where windows cut.
    partial_cache: these, kept between invocations.
"""
