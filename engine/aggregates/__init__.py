"""Aggregates of rows in groups. Bit for bit the same whatever the order of the rows, and however they are cut.

Reading order:
    ordinals: values of any type as whole numbers in the same order.
    groups: rows in groups of equal keys.
    state: what an aggregate keeps of a group's rows, and its results.
    exact_sums, moments: COUNT, SUM, AVG and variances, of exact sums.
    extremes, picks: MIN and MAX; FIRST, LAST, ARG_MIN and ARG_MAX.
    quantiles: MEDIAN and QUANTILE_CONT, which need all values at once.
    occurrences: the states of these, and of aggregates of DISTINCT values.
    aggregated: one aggregate of rows in groups.
    spanned: one aggregate of rows of which each group has spans.
    tallies: counts, sums and extremes of all aggregates together, as they are kept and merged.
    grouping: the keys and aggregates of a query, over rows.
    partial: the states of some rows, and how they are merged and finished.
    group_table: the groups of a stream's partials, known by numbers.
    chunk_rows: which rows the partials of chunks are made of.
    made_units: partials that were just made of rows.
    stream_partials: partials of the segments of a stream, of larger units, and of chunks where windows cut.
    partial_cache: these, kept between invocations.
"""
