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
    partials: the states of some rows, merged, finished, and kept between invocations.
"""
